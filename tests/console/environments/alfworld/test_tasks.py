"""Household tasks from a seed, and the way to the goal that gold holds."""

import pytest

from console.environments import environment
from console.environments.alfworld.tasks import WORDINGS
from tests.oracles import tidying

ALFWORLD = environment("alfworld")
TASKS = ALFWORLD.tasks(11, 240)


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
