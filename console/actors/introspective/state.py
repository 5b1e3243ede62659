"""The state of the introspective Actor, as long as its trial: kept with each step, and read back from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from console.trajectory import Step

KEY = "introspective"
"""Where a step's `extra` holds the state as it was when the step was chosen."""


@dataclass(frozen=True, slots=True)
class PlannedAttempt:
    """An action to try: the steps that the state before it stands on, and the position of its subtask in the plan."""

    state: tuple[int, ...]
    action: str
    subtask: int


@dataclass(slots=True)
class PlanningState:
    """The state: plan, stack (the next attempt last), history, notes, and the counts that the paper reports.

    `doing` is the attempt that the step carries out; while `going_back`, the one that the Actor is on its way to.
    `refused` are the attempts that could not be gone back to, each with the reason.
    """

    plan: list[str] = field(default_factory=list)
    subtask: int = 0
    history: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stack: list[PlannedAttempt] = field(default_factory=list)
    doing: PlannedAttempt | None = None
    going_back: bool = False
    revisions: int = 0
    backtracks: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def current(self) -> str:
        """The subtask at hand."""
        return self.plan[min(self.subtask, len(self.plan) - 1)]

    def numbered(self) -> str:
        """The plan as numbered lines."""
        return "\n".join(f"{number}. {subtask}" for number, subtask in enumerate(self.plan, start=1))

    def forget(self, state: Sequence[int], action: str) -> None:
        """Takes what was executed in that state off the stack, so that nothing is tried twice there."""
        self.stack = [one for one in self.stack if (one.state, one.action) != (tuple(state), action)]

    def remedies(self, state: Sequence[int]) -> list[str]:
        """What is left to try in that state, the next one first."""
        return [one.action for one in reversed(self.stack) if one.state == tuple(state)]

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON holds it."""
        return asdict(self)


def state_of(steps: Sequence[Step]) -> PlanningState | None:
    """The state that the last step keeps; None before the first."""
    kept = steps[-1].extra.get(KEY) if steps else None
    if not isinstance(kept, Mapping):
        return None
    doing = kept["doing"]
    return PlanningState(
        **{
            **kept,
            "stack": [_attempt(one) for one in kept["stack"]],
            "doing": _attempt(doing) if doing else None,
        }
    )


def _attempt(kept: Mapping[str, Any]) -> PlannedAttempt:
    return PlannedAttempt(tuple(kept["state"]), kept["action"], kept["subtask"])
