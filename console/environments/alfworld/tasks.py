"""Household tasks without end, each from a seed."""

from __future__ import annotations

from dataclasses import asdict
from random import Random

from console.environments.alfworld.briefs import WORDINGS, Brief, choices
from console.environments.alfworld.furnishing import furnish
from console.environments.alfworld.oracle import plan
from console.environments.environment import TaskSpec


def tasks(seed: int, count: int) -> list[TaskSpec]:
    """The first `count` tasks of a seed, the six types in turn; `gold` holds the target and the actions that do it."""
    return [_task(seed, index) for index in range(count)]


def _task(seed: int, index: int) -> TaskSpec:
    asked = _brief(seed, index)
    return TaskSpec(
        task_id=f"alfworld-{seed}-{index}",
        environment="alfworld",
        instruction=asked.instruction,
        gold={
            "type": asked.type,
            "thing": asked.thing,
            "receptacle": asked.receptacle,
            "actions": plan(asked, furnish(asked)),
        },
        options=asdict(asked),
    )


def _brief(seed: int, index: int) -> Brief:
    random = Random(f"brief {seed} {index}")
    task_type = list(WORDINGS)[(seed + index) % len(WORDINGS)]
    room, thing, receptacle = random.choice(choices(task_type))
    return Brief(task_type, room, thing, receptacle, random.randrange(2), f"{seed} {index}")
