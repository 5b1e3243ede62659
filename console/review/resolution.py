"""The resolution of an item: the combined result of its decisions, and which decisions count as feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session, col

from console.review.reasons import feedback_to_agent
from console.runs.current_decisions import current_decisions
from console.trajectory import Label
from console.trajectory.checkpoints import digest
from storage import tables
from storage.queue import HALTED
from storage.tables import DecisionKind

_RUNS_ACTION = (DecisionKind.APPROVE, DecisionKind.EDIT)
"""Only these decisions allow an action to run."""


class ResolutionReason(StrEnum):
    """The reason why an action runs (the first two members) or does not run (the others)."""

    APPROVED = "approved"
    EDITED = "edited"
    UNANSWERED = "unanswered"
    REJECTED = "rejected"
    RESPONDED = "responded"
    CONFLICTING = "conflicting"
    OTHER_ACTION = "made for another action"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The action that may run (None if none may), the reason, the decisive decision and the reviewers' feedback."""

    action: str | None
    reason: ResolutionReason
    decision_id: int | None = None
    feedback: str = ""

    @property
    def edited(self) -> bool:
        """Return whether the reviewers wrote the action that may run."""
        return self.reason is ResolutionReason.EDITED


def resolve_decisions(answers: Sequence[tables.Decision], action: str) -> Resolution:
    """Resolve the decisions on an item whose pending action is `action`; ignore escalations.

    An action runs only if every decision allows the same action and stores the digest of that action.
    """
    counted = [answer for answer in answers if answer.decision != DecisionKind.ESCALATE]
    feedback = "\n".join(words for answer in counted if (words := feedback_to_agent(answer)))
    if not counted:
        return Resolution(None, ResolutionReason.UNANSWERED)
    if against := [answer for answer in counted if answer.decision not in _RUNS_ACTION]:
        only_words = all(answer.decision == DecisionKind.RESPOND for answer in against)
        reason = ResolutionReason.RESPONDED if only_words else ResolutionReason.REJECTED
        return Resolution(None, reason, against[0].id, feedback)
    decisive, wanted = counted[-1].id, {_wanted(answer, action) for answer in counted}
    if len(wanted) > 1:
        return Resolution(None, ResolutionReason.CONFLICTING, decisive, feedback)
    agreed = wanted.pop()
    if agreed is None or any(answer.action_digest != digest(agreed) for answer in counted):
        return Resolution(None, ResolutionReason.OTHER_ACTION, decisive, feedback)
    edited = all(answer.decision == DecisionKind.EDIT for answer in counted)
    reason = ResolutionReason.EDITED if edited else ResolutionReason.APPROVED
    return Resolution(agreed, reason, decisive, feedback)


def _wanted(answer: tables.Decision, action: str) -> str | None:
    """Return the action that this decision allows.

    Return None for an edit without an action, or for an approval that names another action.
    """
    if answer.decision == DecisionKind.EDIT:
        return answer.edited_action or None
    return action if not answer.edited_action else None


def list_current_decisions(session: Session, item_id: int | None) -> Sequence[tables.Decision]:
    """List the current decisions on an item, excluding escalations."""
    decision = tables.Decision
    statement = current_decisions().where(decision.item_id == item_id).order_by(col(decision.id))
    return [row for row in session.exec(statement) if row.decision != DecisionKind.ESCALATE]


def is_feedback(answer: tables.Decision, kind: str) -> bool:
    """Return whether the Actor can learn from the decision.

    The Actor can learn if the label is misaligned, or if the decision responds with text or to a halted trial.
    """
    if answer.label == Label.MISALIGNED:
        return True
    return answer.decision == DecisionKind.RESPOND and (kind == HALTED or bool(feedback_to_agent(answer)))
