"""The types of the gate's answers: a decision and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from console.trajectory.checkpoints import Call, calls


class Reason(StrEnum):
    """Why the gate answers as it does; only the first five let an action run.

    `not_critical`: a rule of the policy allows it; `shadow`: the policy only watches; `denied`: a rule forbids it.
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


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether to run `action`, which is the reviewer's where `reason` is edited; `feedback` is for the agent's memory.

    `score` is the detector's P(misaligned) in [0, 1]. `check_id` is the check's name to its agent. `intent_id` names
    the written intent to run the action, which is there once somebody has said that it begins.
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
        """Whether `action` is the reviewer's own and not the one that was asked about."""
        return self.reason is Reason.EDITED

    @property
    def call(self) -> Call | None:
        """The action as a tool's name and arguments, None where it is no single call."""
        called = calls(self.action)
        return called[0] if len(called) == 1 else None
