"""Error feedback of a household: off unless asked for, and then one true reason after the usual words."""

import re
from dataclasses import replace

import pytest

from console.environments.alfworld import ALFWORLD
from console.environments.alfworld.tasks import tasks
from console.errors import BadInput
from tests.oracles import tidying

COOL = next(task for task in tasks(0, 30) if task.options["type"].startswith("pick_cool"))


def world(task=COOL, **options):
    made = ALFWORLD.start(replace(task, options={**task.options, **options}))
    opening = made.reset()[0]
    return made, opening


def fine(*actions):
    """The last observation of those actions, reasons on."""
    made, _ = world(errors="fine")
    return [made.step(action)[0] for action in actions][-1]


def walk(verb):
    """The oracle's actions up to the first one of that verb."""
    actions = tidying(COOL)
    return actions[: next(at for at, action in enumerate(actions) if action.startswith(verb)) + 1]


TAKE = walk("take")
THING, SOURCE = TAKE[-1].removeprefix("take ").split(" from ")


def test_off_unless_asked_for():
    made, _ = world()
    assert made.step("take x")[0] == "Nothing happens."


def test_it_can_only_be_plain_or_fine():
    with pytest.raises(BadInput, match="plain"):
        world(errors="verbose")


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        ([f"take {THING} from {SOURCE}"], f"You are not at {SOURCE}; go to {SOURCE} first."),
        (["go to fridge"], "fridge has no number; say which one you mean, such as fridge 1."),
        (["go to palace 1"], "This room has no palace 1."),
        (["go to fridge 1", "go to fridge 1"], "You are at fridge 1 already."),
        ([*TAKE, f"take {THING} from {SOURCE}"], f"{THING} is not at {SOURCE}."),
        (["go to fridge 1", f"move {THING} to fridge 1"], f"You do not carry {THING}; take it first."),
        ([*TAKE, "go to fridge 1", f"move {THING} to fridge 1"], "fridge 1 is closed; open fridge 1 first."),
        (
            [*TAKE, "go to microwave 1", f"cool {THING} with microwave 1"],
            "To cool something takes a fridge, not microwave 1.",
        ),
        ([*TAKE, f"cool {THING} with fridge 1"], "You are not at fridge 1; go to fridge 1 first."),
        (["dance"], "Unknown command 'dance'; `help` lists the commands."),
        (["take it"], "'take' needs more, or other, words; `help` shows its form."),
        (["go to fridge 1", "open fridge 1", "open fridge 1"], "fridge 1 is open, or has no door."),
        (["use fridge 1"], "fridge 1 cannot be used; only lamps can."),
        ([f"slice {THING} with {THING}"], f"To slice something takes a knife, not {THING}."),
        ([f"examine {THING}"], f"You neither stand at {THING} nor carry it."),
    ],
)
def test_the_reason_follows_the_usual_words(actions, reason):
    assert fine(*actions) == f"Nothing happens. {reason}"


def test_hands_that_are_full_are_told():
    for task in tasks(0, 60):
        made, _ = world(task, errors="fine")
        *before, take = tidying(task)[: _until_taken(task)]
        thing, source = take.removeprefix("take ").split(" from ")
        *_, sight = [made.step(action)[0] for action in before]
        others = [name for name in re.findall(r"a (\w+ \d+)", sight.partition("you see")[2]) if name != thing]
        if others:
            break
    made.step(take)
    assert made.step(f"take {others[0]} from {source}")[0] == (
        f"Nothing happens. You carry {thing} already; put it down first."
    )


def _until_taken(task):
    return next(at for at, action in enumerate(tidying(task), start=1) if action.startswith("take"))


@pytest.mark.parametrize("task", tasks(1, 12), ids=lambda task: task.task_id)
def test_what_succeeds_is_answered_as_before(task):
    plain, spoken = world(task)[0], world(task, errors="fine")[0]
    for action in tidying(task):
        assert plain.step(action) == spoken.step(action)
