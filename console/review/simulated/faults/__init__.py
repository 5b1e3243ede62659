"""The fault of a trial: what is wrong with it, found with the gold in hand and named without it.

A new environment is one file here and one line in FINDERS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from console.environments import environment
from console.environments.environment import TaskSpec
from console.errors import BadInput, Unknown
from console.review.simulated.faults import alfworld, hotpotqa, webshop
from console.review.simulated.faults.fault import Fault
from console.review.simulated.reviewer import ReviewCase
from console.trajectory import Step
from console.trajectory.checkpoints import CheckpointKind

FINDERS: dict[str, Callable[[ReviewCase], Fault]] = {
    "webshop": webshop.find,
    "hotpotqa": hotpotqa.find,
    "alfworld": alfworld.find,
}

ON_THE_WAY: dict[str, Callable[[ReviewCase], bool]] = {
    "alfworld": alfworld.strays,
}
"""Where a critical action can come midway: whether it leads away from the task. Elsewhere it ends the trial."""

__all__ = ["FINDERS", "ON_THE_WAY", "Fault", "fault_of", "misleads"]


def misleads(case: ReviewCase) -> bool:
    """Whether the action would lead to something else than success; raises BadInput without an embedded edition."""
    seen = case.checkpoint
    if seen.kind is CheckpointKind.ACTION and case.task.environment in ON_THE_WAY:
        return ON_THE_WAY[case.task.environment](case)
    return not _succeeds(case.task, seen.steps, seen.action)


def fault_of(case: ReviewCase) -> Fault:
    """The fault of a case, as far as it can be said without the target; raises Unknown for other environments."""
    if case.task.environment not in FINDERS:
        raise Unknown("simulated reviewer's environment", case.task.environment, FINDERS)
    return FINDERS[case.task.environment](case)


def _succeeds(task: TaskSpec, steps: Sequence[Step], action: str) -> bool:
    """Whether the task is done once these steps and the action have run in a copy of the world that nobody else sees.

    Raises BadInput without a world to try in.
    """
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
