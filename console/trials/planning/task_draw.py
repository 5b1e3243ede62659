"""The draw of tasks for a plan: those it is learnt from, and those it is tested on, never the same one.

It stands alone because training draws by it, and so does the start of every run that goes by a plan.
"""

from __future__ import annotations

from collections.abc import Collection

import orjson

from console.environments.environment import Environment, TaskSpec
from console.errors import BadInput
from console.trajectory.checkpoints import digest

_MOST_DRAWN = 20_000


def content(task: TaskSpec) -> str:
    """SHA-256 (hex) of what the task is, whatever its key: another seed can draw the same one."""
    parts = [task.environment, task.instruction, dict(task.options), dict(task.gold)]
    return digest(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS).decode())


def draw(
    environment: Environment, seed: int, count: int, *, types: Collection[str] = (), without: Collection[str] = ()
) -> list[TaskSpec]:
    """The first tasks of that seed and those types (none: any) whose content is not among `without`.

    Raises BadInput where there are not that many.
    """
    wanted, taken = count, environment.tasks
    while taken is not None and wanted <= _MOST_DRAWN:
        drawn = list(taken(seed, wanted))
        found = [
            task
            for task in drawn
            if (not types or environment.task_type(task) in types) and content(task) not in without
        ]
        if len(found) >= count:
            return found[:count]
        wanted += max(count, wanted)
    raise BadInput(f"{environment.title} has no {count} {' or '.join(types)} tasks that are free to draw.")
