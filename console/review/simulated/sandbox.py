"""What an action would lead to, tried in a copy of the world that nobody else sees."""

from __future__ import annotations

from collections.abc import Sequence

from console.environments import environment
from console.environments.environment import TaskSpec
from console.errors import BadInput
from console.trajectory import Step


def succeeds(task: TaskSpec, steps: Sequence[Step], action: str) -> bool:
    """Whether the task is done once these steps and the action have run; raises BadInput without a world to try in."""
    start = environment(task.environment).start
    if start is None:
        raise BadInput(f"{task.environment} has no embedded edition, so a simulated reviewer cannot judge it.")
    world = start(task)
    world.reset()
    done = False
    for step in (*steps, Step(action=action)):
        *_, info = world.step(step.action)
        done = bool(info.get("success"))
    return done
