"""A world brought back to where its trial stands by repeating the recorded steps in a fresh one."""

from __future__ import annotations

from console.environments.environment import Environment, TaskSpec, World
from console.errors import Refused
from console.live.rows import storable
from console.trajectory import Trajectory


def rebuild(environment: Environment, task: TaskSpec, record: Trajectory, seed: int) -> tuple[World, str]:
    """(the world, what the agent saw first); raises Refused where the world answers otherwise than recorded."""
    if environment.start is None or (record.steps and not environment.replayable):
        raise Refused(f"{environment.title} cannot repeat recorded steps, so the trial of {task.task_id} cannot go on.")
    world = environment.start(task)
    opening = storable(world.reset(seed=seed)[0])
    if record.opening and opening != record.opening:
        raise Refused(f"The first page of {task.task_id} is not the recorded one; the trial cannot go on safely.")
    for number, step in enumerate(record.steps, start=1):
        observation = storable(world.step(step.action)[0])
        if observation != step.observation:
            raise Refused(
                f"Step {number} of {task.task_id} ({step.action}) is answered otherwise than recorded; "
                "the trial cannot go on safely."
            )
    return world, opening
