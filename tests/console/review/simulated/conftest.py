"""Cases to review: trials of the scripted Actor, played once, with every checkpoint that a run would have."""

import asyncio
from functools import lru_cache

import pytest

from console.actors import ACTORS, ActorView
from console.environments import ENVIRONMENTS
from console.review.simulated import ReviewCase
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at, checkpoints


@pytest.fixture(scope="session")
def cases():
    """A function from an environment, a seed and a number of tasks to (outcome of the trial, case) pairs."""
    return _cases


@lru_cache(maxsize=32)
def _cases(name, seed, count):
    return tuple(case for task in ENVIRONMENTS[name].tasks(seed, count) for case in _of_task(task, seed))


def _of_task(task, seed):
    environment = ENVIRONMENTS[task.environment]
    outcome, steps = _play(environment, task, seed)
    record = Trajectory(task.task_id, task.environment, task.instruction, steps, outcome=outcome)
    if outcome is Outcome.HALTED:
        found = [checkpoint_at(record, len(record.steps), CheckpointKind.HALTED)]
    else:
        found = checkpoints(record, environment.critical, ends=environment.ends)
    return [(outcome, ReviewCase(task, checkpoint, seed=seed)) for checkpoint in found]


def _play(environment, task, seed):
    world = environment.start(task)
    opening, info = world.reset()
    steps, ended = [], False
    while len(steps) < environment.step_cap and not ended:
        view = ActorView(task.environment, task.instruction, opening, tuple(steps), (), seed)
        move = asyncio.run(ACTORS["scripted"].act(view))
        observation, _, ended, _, info = world.step(move.action)
        steps.append(Step(move.thought, move.action, observation))
        if task.environment == "alfworld" and len(steps) > 1 and steps[-2].action == move.action:
            return Outcome.HALTED, tuple(steps)
    if ended:
        return (Outcome.SUCCEEDED if info["success"] else Outcome.FAILED), tuple(steps)
    return (Outcome.FAILED if task.environment == "alfworld" else Outcome.HALTED), tuple(steps)
