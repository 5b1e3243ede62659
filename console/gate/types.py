"""The gate's answers: a decision and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from console.trajectory.calls import Call, read_action


class Reason(StrEnum):
    """The reason of a decision; only the first five allow an action to run.

    `not_critical`: a rule of the policy allows the action; `shadow`: the policy only records; `denied`: a rule forbids
    the action; `void`: the database was restored from a backup, so the agent must submit the check again.
    """

    NOT_CRITICAL = "not_critical"
    NOT_FLAGGED = "not_flagged"
    APPROVED = "approved"
    EDITED = "edited"
    SHADOW = "shadow"
    DENIED = "denied"
    ALREADY_REJECTED = "already_rejected"
    REJECTED = "rejected"
    RESPONDED = "responded"
    TIMEOUT = "timeout"
    BUDGET_SPENT = "budget_spent"
    CANCELLED = "cancelled"
    ALREADY_HANDED_OUT = "already_handed_out"
    UNREACHABLE = "unreachable"
    DETECTOR_FAILED = "detector_failed"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The gate's decision on an action, which may run if `approved`; if `edited`, `action` is the reviewer's edit.

    `feedback` is for the agent's memory. `score` is the detector's P(misaligned) in [0, 1]. `check_id` is the id of the
    check for its agent. `intent_id` is the id of the intent to run the action; the id is None until the action begins.
    """

    approved: bool
    action: str
    feedback: str
    reason: Reason
    item_id: int | None = None
    decision_id: int | None = None
    score: float | None = None
    intent_id: int | None = None
    check_id: str | None = None

    @property
    def edited(self) -> bool:
        """True if `action` is the reviewer's edit of the submitted action."""
        return self.reason is Reason.EDITED

    @property
    def call(self) -> Call | None:
        """The action as a tool's name and arguments, or None if the action is not a single call."""
        called = read_action(self.action)
        return called[0] if len(called) == 1 else None
