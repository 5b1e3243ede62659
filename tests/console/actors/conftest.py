"""A trial played to its end in a small loop of the tests' own: no gate, no store."""

import asyncio
from functools import cache

import pytest

from console.actors import ACTORS, ActorView, Reflection
from console.environments import ENVIRONMENTS
from console.trajectory import Step
from console.trajectory.checkpoints import is_critical


class Trial:
    """What came of a trial."""

    def __init__(self, task, opening, steps, outcome, critical):
        self.task, self.opening, self.steps, self.outcome, self.critical = task, opening, steps, outcome, critical

    @property
    def actions(self):
        return [step.action for step in self.steps]


@pytest.fixture(scope="session")
def play():
    """A function from a task, a memory and a seed to the trial."""
    return _play


@pytest.fixture(scope="session")
def success():
    """A function from an environment, seeds and a function of (trial 0) -> memory to the share that succeeds next."""

    def share(environment, seeds, remember=None, count=40):
        won = total = 0
        for seed in seeds:
            for trial in _untold(environment, seed, count):
                if remember is not None and trial.outcome != "succeeded":
                    trial = _play(trial.task, memory=(remember(trial),), seed=seed)
                won += trial.outcome == "succeeded"
                total += 1
        return won / total

    return share


@pytest.fixture(scope="session")
def untold():
    """A function from an environment, a seed and a number of tasks to their trials, told nothing; each played once."""
    return _untold


@pytest.fixture(scope="session")
def reflected():
    """A function from a trial to the plan that the scripted Actor writes after a bare refusal of its last action."""

    def plan(trial):
        last = trial.actions[-1] if trial.outcome != "halted" else ""
        steps = trial.steps[:-1] if last else trial.steps
        reflection = Reflection(trial.task.environment, trial.task.instruction, tuple(steps), last)
        return asyncio.run(ACTORS["scripted"].reflect(reflection))

    return plan


@cache
def _untold(environment, seed, count):
    return [_play(task, seed=seed) for task in ENVIRONMENTS[environment].tasks(seed, count)]


def _play(task, memory=(), seed=0):
    return asyncio.run(_played(task, memory, seed))


async def _played(task, memory, seed):
    environment = ENVIRONMENTS[task.environment]
    world = environment.start(task)
    opening, info = world.reset()
    steps, ended, repeated = [], False, False
    while len(steps) < environment.step_cap and not ended and not repeated:
        view = ActorView(task.environment, task.instruction, opening, tuple(steps), tuple(memory), seed)
        made = await ACTORS["scripted"].act(view)
        observation, _, ended, _, info = world.step(made.action)
        repeated = task.environment == "alfworld" and bool(steps) and steps[-1].action == made.action
        steps.append(Step(made.thought, made.action, observation))
    outcome = _outcome(task.environment, ended, repeated, info, steps)
    critical = [step.action for step in steps if is_critical(step.action, environment.critical)]
    return Trial(task, opening, steps, outcome, critical)


def _outcome(environment, ended, repeated, info, steps):
    if ended:
        return "succeeded" if info["success"] else "failed"
    stuck = environment != "alfworld" or repeated or "Nothing happens." in steps[-1].observation
    return "halted" if stuck else "failed"
