"""Household tasks from a seed."""

from console.environments import environment
from console.environments.alfworld.briefs import WORDINGS

ALFWORLD = environment("alfworld")
TASKS = ALFWORLD.tasks(11, 240)


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
