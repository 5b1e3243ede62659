"""The resolution of an item: what its reviewers' answers come to, and what of them counts as feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session, col

from console.review.reasons import words_to_agent
from console.runs.current_decisions import current_decisions
from console.trajectory import Label
from console.trajectory.checkpoints import digest
from storage import tables
from storage.queue import HALTED
from storage.tables import DecisionKind

_RUNS_ACTION = (DecisionKind.APPROVE, DecisionKind.EDIT)
"""Only these let an action run."""


class ResolutionReason(StrEnum):
    """Why an action runs (the first two), or why none does."""

    APPROVED = "approved"
    EDITED = "edited"
    UNANSWERED = "unanswered"
    REJECTED = "rejected"
    RESPONDED = "responded"
    CONFLICTING = "conflicting"
    OTHER_ACTION = "made for another action"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The action that may run (None for none), why, the decision that says so, and the reviewers' words."""

    action: str | None
    reason: ResolutionReason
    decision_id: int | None = None
    feedback: str = ""

    @property
    def edited(self) -> bool:
        """Whether the action that may run is the reviewers' own."""
        return self.reason is ResolutionReason.EDITED


def resolution(answers: Sequence[tables.Decision], action: str) -> Resolution:
    """What the answers to an item come to whose pending action is `action`; escalations do not count.

    An action runs only where every answer lets that same one run and is bound to it by its digest.
    """
    counted = [answer for answer in answers if answer.decision != DecisionKind.ESCALATE]
    feedback = "\n".join(words for answer in counted if (words := words_to_agent(answer)))
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
    """The action that this answer lets run; None where an edit names none, or an approval another."""
    if answer.decision == DecisionKind.EDIT:
        return answer.edited_action or None
    return action if not answer.edited_action else None


def current_answers(session: Session, item_id: int | None) -> Sequence[tables.Decision]:
    """The answers to an item that stand, escalations left out."""
    decision = tables.Decision
    statement = current_decisions().where(decision.item_id == item_id).order_by(col(decision.id))
    return [row for row in session.exec(statement) if row.decision != DecisionKind.ESCALATE]


def is_feedback(answer: tables.Decision, kind: str) -> bool:
    """Whether the Actor can learn from it: it says misaligned, has words, or answers a trial that got stuck."""
    if answer.label == Label.MISALIGNED:
        return True
    return answer.decision == DecisionKind.RESPOND and (kind == HALTED or bool(words_to_agent(answer)))
