"""Going back: the steps that lead to the current state of a world, and the steps that can be undone."""

from __future__ import annotations

from collections.abc import Sequence

from console.environments.environment import Environment
from console.trajectory import Step
from console.trajectory.checkpoints import is_critical, is_thought

REFUSED = "not_run"
"""The key in the `extra` of a step that never reached the world."""
NOTE = "note"
"""The key in the `extra` of a move that is a note and never reaches the world."""


def list_standing_steps(environment: Environment, steps: Sequence[Step]) -> tuple[int, ...]:
    """Return the positions of the steps that lead to the current state, without thoughts and steps that did not run."""
    path: list[int] = []
    refused = environment.not_executed
    for position, step in enumerate(steps):
        unheard = bool(refused) and step.observation.lstrip().startswith(refused)
        if is_thought(step.action) or REFUSED in step.extra or unheard:
            continue
        if environment.back and step.action == environment.back:
            del path[-1:]
        else:
            path.append(position)
    return tuple(path)


def refusal(environment: Environment, steps: Sequence[Step], to: Sequence[int], critical: Sequence[str]) -> str | None:
    """Return the reason why the state after the steps in `to` cannot be restored, or None if it can be restored."""
    here = list_standing_steps(environment, steps)
    if here[: len(to)] != tuple(to):
        return "the trial cannot return to that state"
    undone = here[len(to) :]
    if undone and not environment.back:
        return f"no action can be undone in {environment.title}"
    crossed = next((steps[at].action for at in reversed(undone) if is_critical(steps[at].action, critical)), None)
    return f"{crossed} was critical and has run" if crossed else None
