"""Household tasks from a seed, and the way to the goal that gold holds."""

import pytest

from console.environments import ENVIRONMENTS
from console.environments.alfworld.household import ADJOINING, FURNITURE, HOLDS, THINGS, initial_state
from console.environments.alfworld.tasks import WORDINGS, furnish, is_reached, task_setup, tasks
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
