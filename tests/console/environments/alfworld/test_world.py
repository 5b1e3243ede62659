"""The household that agents act in: what it promises to whoever runs trials in it, and when a task is done."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.environments import ENVIRONMENTS
from console.environments.alfworld.household import Household, HouseholdObject, Receptacle, initial_state
from console.environments.alfworld.rules import COMMANDS, perform
from console.environments.alfworld.tasks import CLEAN, COOL, HEAT, LOOK, PLACE, TWO, TaskSetup, is_reached
from tests.later import Later

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
    state = initial_state(HOUSEHOLD)
    for command in commands:
        assert perform(state, command) != "Nothing happens.", command
    return is_reached(TaskSetup(task_type, "kitchen", "mug", receptacle, 0, ""), state)


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


ALFWORLD = ENVIRONMENTS["alfworld"]
TASKS = Later(ALFWORLD.tasks, 11, 240)
WORDS = [*COMMANDS, "to", "from", "in/on", "with"]


def run(task, actions):
    """Every (observation, reward, terminated, truncated, info) of a fresh trial, with the opening first."""
    world = ALFWORLD.start(task)
    return [world.reset()] + [world.step(action) for action in actions]


def names(task):
    """Every receptacle named in the opening, and every thing that gold speaks of."""
    opening = ALFWORLD.start(task).reset()[0].split("you see ")[1].split(".")[0]
    seen = [name.removeprefix("and ").removeprefix("a ") for name in opening.split(", ")]
    return seen + [f"{task.gold['thing']} {number}" for number in (1, 2, 3)] + ["desklamp 1", "knife 1", "bowl 1"]


@st.composite
def trials(draw):
    """A task with a mixture of its gold actions, commands put together from its words, and any text."""
    task = draw(st.sampled_from(TASKS))
    word = st.sampled_from(WORDS + names(task))
    loose = st.lists(word, min_size=1, max_size=4).map(" ".join)
    return task, draw(st.lists(st.sampled_from(task.gold["actions"]) | loose | st.text(), max_size=60))


def test_the_opening_names_the_furniture_and_the_task_and_nothing_of_gold():
    for task in TASKS[:60]:
        opening, info = ALFWORLD.start(task).reset()
        assert opening.startswith("You are in the middle of a room. Looking quickly around you, you see a ")
        assert opening.endswith(f"\n\nYour task is to: {task.instruction}")
        assert not any(action in opening for action in task.gold["actions"])
        assert info == {"success": False, "score": 0.0}


@settings(max_examples=2 * settings.default.max_examples)
@given(trials())
def test_any_text_is_answered_in_words_and_a_replay_answers_the_same(trial):
    task, actions = trial
    first, second = run(task, actions), run(task, actions)
    assert first == second
    assert all(isinstance(step[0], str) and step[0] for step in first)
    assert all(step[4]["score"] == float(step[4]["success"]) for step in first[1:])
    assert not any(step[2] and step[3] for step in first[1:])


@given(trials())
def test_a_world_that_is_reset_begins_again(trial):
    task, actions = trial
    world = ALFWORLD.start(task)
    opening = world.reset()
    seen = [world.step(action) for action in actions]
    assert world.reset() == opening
    assert [world.step(action) for action in actions] == seen


def test_reset_with_another_tasks_options_sets_that_task_up():
    first, second = TASKS[:2]
    assert ALFWORLD.start(first).reset(options=second.options) == ALFWORLD.start(second).reset()


def test_a_trial_is_cut_off_after_fifty_actions_and_stays_so():
    steps = run(TASKS[0], ["look"] * 52)[1:]
    assert [step[3] for step in steps] == [False] * 49 + [True] * 3
    assert steps[-1][0] == "Nothing happens."
    assert not any(step[2] for step in steps)


def test_after_the_task_is_done_nothing_more_happens():
    task = TASKS[0]
    steps = run(task, [*task.gold["actions"], "inventory"])
    assert steps[-1][0] == "Nothing happens."
    assert steps[-1][1:] == (0.0, True, False, {"success": True, "score": 1.0})


def test_the_older_wording_of_putting_is_understood():
    task = next(task for task in TASKS if task.gold["type"] == "pick_and_place_simple")
    *before, last = task.gold["actions"]
    thing, receptacle = last.removeprefix("move ").split(" to ")
    assert run(task, [*before, f"put {thing} in/on {receptacle}"])[-1] == run(task, [*before, last])[-1]


def test_worlds_in_many_threads_do_not_disturb_each_other():
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda task: run(task, task.gold["actions"]), TASKS))
    assert together == [run(task, task.gold["actions"]) for task in TASKS]
