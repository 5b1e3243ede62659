"""When a task is done, and when it is not yet."""

import pytest

from console.environments.alfworld.briefs import CLEAN, COOL, HEAT, LOOK, PLACE, TWO, Brief
from console.environments.alfworld.goals import reached
from console.environments.alfworld.household import Household, HouseholdObject, Receptacle
from console.environments.alfworld.rules import perform
from console.environments.alfworld.state import fresh

KINDS = ("countertop", "diningtable", "fridge", "microwave", "sinkbasin")
PARTS = [Receptacle(kind, 1, place, False) for place, kind in enumerate(KINDS, 1)]
PARTS += [Receptacle("shelf", 1, 6, False), Receptacle("shelf", 2, 7, False)]
THINGS = {
    HouseholdObject("mug", 1): "countertop 1",
    HouseholdObject("mug", 2): "countertop 1",
    HouseholdObject("desklamp", 1): "diningtable 1",
}
HOUSEHOLD = Household(
    {part.name: part for part in PARTS},
    {thing.name: thing for thing in THINGS},
    {thing.name: source for thing, source in THINGS.items()},
)
TAKE = ["go to countertop 1", "take mug 1 from countertop 1"]
PUT = ["go to shelf 1", "move mug 1 to shelf 1"]
SECOND = ["go to countertop 1", "take mug 2 from countertop 1"]


def done(task_type, *commands, receptacle="shelf"):
    """Whether the task is done after the commands."""
    state = fresh(HOUSEHOLD)
    for command in commands:
        assert perform(state, command) != "Nothing happens.", command
    return reached(Brief(task_type, "kitchen", "mug", receptacle, 0, ""), state)


def test_placing_is_done_when_one_lies_there():
    assert not done(PLACE, *TAKE, "go to shelf 1")
    assert done(PLACE, *TAKE, *PUT)
    assert not done(PLACE, *TAKE, "go to diningtable 1", "move mug 1 to diningtable 1")


@pytest.mark.parametrize(
    ("task_type", "place", "verb"),
    [(CLEAN, "sinkbasin 1", "clean"), (HEAT, "microwave 1", "heat"), (COOL, "fridge 1", "cool")],
)
def test_a_treated_one_must_lie_there(task_type, place, verb):
    treat = [f"go to {place}", f"{verb} mug 1 with {place}"]
    assert done(task_type, *TAKE, *treat, *PUT)
    assert not done(task_type, *TAKE, *treat)
    assert not done(task_type, *TAKE, *PUT)
    aside = ["go to diningtable 1", "move mug 1 to diningtable 1"]
    assert not done(task_type, *TAKE, *treat, *aside, *SECOND, "go to shelf 1", "move mug 2 to shelf 1")


def test_a_hot_thing_that_is_cooled_again_is_not_hot():
    way = ["go to microwave 1", "heat mug 1 with microwave 1", "go to fridge 1", "cool mug 1 with fridge 1"]
    assert not done(HEAT, *TAKE, *way, *PUT)
    assert done(COOL, *TAKE, *way, *PUT)


def test_two_must_lie_in_the_same_place():
    assert not done(TWO, *TAKE, *PUT)
    assert not done(TWO, *TAKE, *PUT, *SECOND, "go to shelf 2", "move mug 2 to shelf 2")
    assert done(TWO, *TAKE, *PUT, *SECOND, "go to shelf 1", "move mug 2 to shelf 1")


def test_looking_needs_the_thing_in_the_hand_at_a_lamp_that_is_on():
    lamp = ["go to diningtable 1", "use desklamp 1"]
    assert done(LOOK, *TAKE, *lamp, receptacle="desklamp")
    assert done(LOOK, *lamp, *TAKE, "go to diningtable 1", receptacle="desklamp")
    assert not done(LOOK, *TAKE, "go to diningtable 1", receptacle="desklamp")
    assert not done(LOOK, *lamp, *TAKE, receptacle="desklamp")
    assert not done(LOOK, *lamp, receptacle="desklamp")
