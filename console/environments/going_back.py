"""Going back: which steps the present state of a world stands on, and which of them can be gone back on.

It stands alone because Actors plan by it and the trials' engine holds every Actor to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.environments.environment import Environment
from console.trajectory import Step
from console.trajectory.checkpoints import is_critical, is_thought

REFUSED = "not_run"
"""In the `extra` of a step that the world was never told of."""


def standing(environment: Environment, steps: Sequence[Step]) -> tuple[int, ...]:
    """The positions of the steps that the present state stands on.

    A thought, and a step that the world did not run, leave no state of their own.
    """
    path: list[int] = []
    for position, step in enumerate(steps):
        if is_thought(step.action) or _not_executed(environment, step):
            continue
        if environment.back and step.action == environment.back:
            del path[-1:]
        else:
            path.append(position)
    return tuple(path)


def refusal(environment: Environment, steps: Sequence[Step], to: Sequence[int], critical: Sequence[str]) -> str | None:
    """Why the state that stands on the steps `to` cannot be gone back to; None where it can."""
    here = standing(environment, steps)
    if here[: len(to)] != tuple(to):
        return "the trial has left that state for good"
    undone = here[len(to) :]
    if undone and not environment.back:
        return f"what is done in {environment.title} stays done"
    crossed = next((steps[at].action for at in reversed(undone) if is_critical(steps[at].action, critical)), None)
    return f"{crossed} was critical and has run" if crossed else None


def _not_executed(environment: Environment, step: Step) -> bool:
    refused = environment.not_executed
    return REFUSED in step.extra or (bool(refused) and step.observation.lstrip().startswith(refused))
