"""Household tasks from a seed: their set-up, the world that answers, and the way to the goal that gold holds."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.environments import ENVIRONMENTS
from console.environments.alfworld.household import (
    ADJOINING,
    FIXED,
    FURNITURE,
    HOLDS,
    THINGS,
    Household,
    HouseholdObject,
    Receptacle,
    initial_state,
)
from console.environments.alfworld.rules import COMMANDS, perform
from console.environments.alfworld.tasks import (
    CLEAN,
    COOL,
    HEAT,
    LOOK,
    PLACE,
    TWO,
    WORDINGS,
    TaskSetup,
    choices,
    furnish,
    is_reached,
    task_setup,
    tasks,
)
from console.errors import BadInput
from tests.later import Later
from tests.oracles import tidying

ALFWORLD = ENVIRONMENTS["alfworld"]
TASKS = Later(ALFWORLD.tasks, 11, 240)


def run(task, actions):
    """Every (observation, reward, terminated, truncated, info) of a fresh trial, with the opening first."""
    world = ALFWORLD.start(task)
    return [world.reset()] + [world.step(action) for action in actions]


@pytest.mark.parametrize("name", WORDINGS)
def test_the_oracle_does_every_task_within_the_cap(name):
    for task in (task for task in TASKS if task.gold["type"] == name):
        actions = tidying(task)
        steps = run(task, actions)[1:]
        assert [step[2] for step in steps] == [False] * (len(actions) - 1) + [True]
        assert steps[-1][1] == 1.0
        assert steps[-1][4] == {"success": True, "score": 1.0}
        assert not any(step[0].startswith(ALFWORLD.not_executed) for step in steps)
        assert len(actions) <= ALFWORLD.step_cap


@pytest.mark.parametrize(("pattern", "treatment"), [("clean", "clean"), ("heat", "hot"), ("cool", "cool")])
def test_the_critical_action_of_a_task_comes_before_its_end(pattern, treatment):
    for task in (task for task in TASKS if task.gold["type"] == f"pick_{pattern}_then_place_in_recep"):
        actions = task.gold["actions"]
        critical = [index for index, action in enumerate(actions) if action.startswith(pattern + " ")]
        assert len(critical) == 1
        assert critical[0] < len(actions) - 1
        untreated = [action for index, action in enumerate(actions) if index not in critical]
        assert not run(task, untreated)[-1][2]


def test_the_registry_offers_tasks_and_worlds_that_can_be_replayed():
    assert ALFWORLD.replayable
    assert ALFWORLD.step_cap == 49
    assert ALFWORLD.terminal == ()
    assert ALFWORLD.ends


def test_tasks_are_distinct_and_of_all_six_types():
    assert len({task.task_id for task in TASKS}) == len(TASKS)
    assert len({str(dict(task.options)) for task in TASKS}) == len(TASKS)
    counts = {name: sum(task.gold["type"] == name for task in TASKS) for name in WORDINGS}
    assert set(counts.values()) == {40}


def test_tasks_of_a_seed_are_always_the_same_and_more_of_them_begin_alike():
    assert ALFWORLD.tasks(11, 240) == TASKS
    assert ALFWORLD.tasks(11, 7) == TASKS[:7]


def test_another_seed_gives_other_tasks():
    others = ALFWORLD.tasks(12, 240)
    assert not {str(dict(task.options)) for task in others} & {str(dict(task.options)) for task in TASKS}


def furnished():
    return [(asked, furnish(asked)) for asked in (task_setup(task.options) for task in tasks(21, 240))]


HOUSES = Later(furnished)


def test_everything_lies_where_it_fits():
    for asked, household in HOUSES:
        for name, source in household.starts.items():
            kind = household.things[name].kind
            assert kind in HOLDS[household.receptacles[source].kind]
            assert kind in THINGS[asked.room]


def test_no_task_is_done_from_the_start_and_there_is_enough_to_do_it_with():
    for asked, household in HOUSES:
        assert not is_reached(asked, initial_state(household))
        targets = sum(thing.kind == asked.thing for thing in household.things.values())
        assert targets >= (2 if asked.type == "pick_two_obj_and_place" else 1)


def test_a_room_has_the_furniture_of_its_kind_numbered_from_one():
    for asked, household in HOUSES:
        for kind, (least, most) in FURNITURE[asked.room].items():
            numbers = sorted(part.number for part in household.receptacles.values() if part.kind == kind)
            assert numbers == list(range(1, len(numbers) + 1))
            assert max(least, kind == asked.receptacle) <= len(numbers) <= most


def test_at_most_two_receptacles_of_a_kind_that_adjoins_share_a_place():
    shared = 0
    for _, household in HOUSES:
        for place in {part.place for part in household.receptacles.values()}:
            there = [part for part in household.receptacles.values() if part.place == place]
            shared += len(there) == 2
            assert len(there) == 1 or (len(there) == 2 and {part.kind for part in there} <= ADJOINING)
    assert shared > 0


def test_some_cabinets_have_doors_and_some_have_none():
    cabinets = [part for _, household in HOUSES for part in household.receptacles.values() if part.kind == "cabinet"]
    assert {part.openable for part in cabinets} == {True, False}


@pytest.mark.parametrize("room", FURNITURE)
def test_everything_in_a_room_has_furniture_there_that_always_holds_it(room):
    always = [kind for kind, (least, _) in FURNITURE[room].items() if least]
    assert all(any(thing in HOLDS[kind] for kind in always) for thing in THINGS[room])


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"type": "pick_a_fight"}, "pick_a_fight"), ({"thing": "piano"}, "piano"), ({"wording": 7}, "7")],
)
def test_options_of_no_task_are_refused_with_their_content(changes, told):
    task = replace(TASKS[0], options={**TASKS[0].options, **changes})
    with pytest.raises(BadInput, match=told):
        ALFWORLD.start(task)


def test_options_that_lack_something_are_refused_by_its_name():
    with pytest.raises(BadInput, match="'seed'"):
        ALFWORLD.start(replace(TASKS[0], options={k: v for k, v in TASKS[0].options.items() if k != "seed"}))


def test_the_instruction_is_worded_as_alfworlds_templates_are():
    said = {task.instruction for task in ALFWORLD.tasks(11, 600)}
    assert {"examine", "look", "put", "clean", "heat", "cool", "find"} == {text.split()[0] for text in said}
    hot_apple = TaskSetup("pick_heat_then_place_in_recep", "kitchen", "apple", "fridge", 0, "any")
    assert hot_apple.instruction == "put a hot apple in fridge."
    assert replace(hot_apple, wording=1).instruction == "heat some apple and put it in fridge."
    assert all(text.endswith(".") for text in said)


@pytest.mark.parametrize("name", WORDINGS)
def test_only_what_can_be_carried_and_fits_is_asked_for(name):
    assert len(choices(name)) > 30
    for _, thing, receptacle in choices(name):
        assert thing not in FIXED
        assert receptacle == "desklamp" or thing in HOLDS[receptacle]


def test_the_setup_of_a_task_is_the_one_its_options_write_down():
    for task in TASKS[:30]:
        assert task_setup(task.options).instruction == task.instruction


def test_an_unknown_type_of_task_has_no_choices():
    assert choices("pick_a_fight") == ()


KINDS = ("countertop", "diningtable", "fridge", "microwave", "sinkbasin")
PARTS = [Receptacle(kind, 1, place, False) for place, kind in enumerate(KINDS, 1)]
PARTS += [Receptacle("shelf", 1, 6, False), Receptacle("shelf", 2, 7, False)]
OWN_THINGS = {
    HouseholdObject("mug", 1): "countertop 1",
    HouseholdObject("mug", 2): "countertop 1",
    HouseholdObject("desklamp", 1): "diningtable 1",
}
HOUSEHOLD = Household(
    {part.name: part for part in PARTS},
    {thing.name: thing for thing in OWN_THINGS},
    {thing.name: source for thing, source in OWN_THINGS.items()},
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


WORDS = [*COMMANDS, "to", "from", "in/on", "with"]


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


@pytest.mark.at_length
def test_worlds_in_many_threads_do_not_disturb_each_other():
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda task: run(task, task.gold["actions"]), TASKS))
    assert together == [run(task, task.gold["actions"]) for task in TASKS]
