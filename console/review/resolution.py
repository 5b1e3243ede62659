"""What the reviewers of an item have answered, and what counts as feedback."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session, col

from console.runs.current_decisions import current_decisions
from console.trajectory import Label
from storage import tables
from storage.queue import HALTED
from storage.tables import DecisionKind

RUNS_ACTION = (DecisionKind.APPROVE, DecisionKind.EDIT)
"""Only these let an action run."""


def current_answers(session: Session, item_id: int | None) -> Sequence[tables.Decision]:
    """The answers to an item that stand, escalations left out."""
    decision = tables.Decision
    statement = current_decisions().where(decision.item_id == item_id).order_by(col(decision.id))
    return [row for row in session.exec(statement) if row.decision != DecisionKind.ESCALATE]


def is_feedback(answer: tables.Decision, kind: str) -> bool:
    """Whether the Actor can learn from it: it says misaligned, has words, or answers a trial that got stuck."""
    if answer.label == Label.MISALIGNED:
        return True
    return answer.decision == DecisionKind.RESPOND and (kind == HALTED or bool(answer.feedback_text))
