"""A stored task as its environment sets it up; it stands alone because four rooms read tasks so."""

from __future__ import annotations

import orjson

from console.environments.environment import TaskSpec
from storage import tables


def task_spec(task: tables.Task) -> TaskSpec:
    """The environment's task of a row of `task`, with its gold and its options."""
    gold, options = orjson.loads(task.gold), orjson.loads(task.options)
    return TaskSpec(task.task_key, task.environment, task.instruction, gold, options)
