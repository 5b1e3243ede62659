"""The webhook's messages about decisions: the search for due decisions, and the body of each message."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlmodel import Session, col, func, select

from console.gate.checks import check_id_of_item
from console.review.resolution import feedback_to_agent
from console.runs import is_current, iso, outbox
from console.runs.outbox import DECISION_MADE, Claimed
from storage import tables
from storage.tables import RunKind

_PAST_MS = 7 * 24 * 3_600_000
"""The age in ms above which decisions are not sent to a new receiver."""
_MARGIN = 500


@dataclass(frozen=True, slots=True)
class DecisionMessage:
    """A decision to send: its claimed row in the outbox, its stable id, and its body."""

    claimed: Claimed
    message_id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class DueDecisions:
    """Decisions that are due and not yet in the outbox, and the id at which the next search starts."""

    decision_ids: tuple[int, ...]
    look_from: int


def channel_of(url: str) -> str:
    """Return the channel of the outbox that sends to this address."""
    return f"webhook {url}"


def find_due(session: Session, url: str, look_from: int, now_ms: int) -> DueDecisions:
    """Find the decisions of gate runs, from the id `look_from` on, that can no longer be undone."""
    decision, item, run, message = tables.Decision, tables.Item, tables.Run, tables.Outbox
    current = is_current() & (col(decision.id) >= look_from)
    known = select(message.id).where(
        message.subject_id == col(decision.id), message.channel == channel_of(url), message.event == DECISION_MADE
    )
    due = (
        select(decision.id)
        .join(item, col(item.id) == decision.item_id)
        .join(run, col(run.id) == item.run_id)
        .where(current, run.kind == RunKind.GATE, ~known.exists())
        .where(col(decision.deliverable_ms) <= now_ms, col(decision.deliverable_ms) > now_ms - _PAST_MS)
        .order_by(col(decision.id))
    )
    decision_ids = tuple(id for id in session.exec(due) if id is not None)
    open_from = session.exec(select(func.min(decision.id)).where(current, col(decision.deliverable_ms) > now_ms)).one()
    last = session.exec(select(func.max(decision.id))).one() or 0
    # With PostgreSQL, a lower id may be committed after a higher one.
    return DueDecisions(decision_ids, min(open_from or last, last) - _MARGIN)


def add_to_outbox(session: Session, url: str, decision_ids: Sequence[int], now_ms: int) -> None:
    """Add the decisions to the outbox."""
    outbox.add_messages(session, channel_of(url), DECISION_MADE, decision_ids, now_ms)


def claim_messages(session: Session, url: str, now_ms: int, limit: int) -> list[DecisionMessage]:
    """Claim for one minute the messages that this process is to send now."""
    return [_message(session, row) for row in outbox.claim_messages(session, channel_of(url), now_ms, limit)]


def _message(session: Session, row: Claimed) -> DecisionMessage:
    decision = session.get_one(tables.Decision, row.subject_id)
    message_id = "msg_" + hashlib.sha256(f"{decision.id} {decision.submit_key}".encode()).hexdigest()[:32]
    return DecisionMessage(row, message_id, orjson.dumps(_document(session, decision)))


def _document(session: Session, decision: tables.Decision) -> dict[str, Any]:
    item = session.get_one(tables.Item, decision.item_id)
    run = session.get_one(tables.Run, item.run_id)
    record = session.get_one(tables.Trajectory, item.trajectory_id)
    task = session.get_one(tables.Task, record.task_id)
    return {
        "type": DECISION_MADE,
        "timestamp": iso(decision.decided_ms),
        "data": {
            "check_id": check_id_of_item(session, decision.item_id),
            "run": run.name,
            "task_id": task.task_key,
            "trial": item.trial,
            "item_id": item.id,
            "decision_id": decision.id,
            "revision": decision.revision,
            "decision": decision.decision,
            "label": decision.label,
            "feedback": feedback_to_agent(decision),
            "edited_action": decision.edited_action,
            "action_digest": decision.action_digest,
            "reviews_required": item.reviews_required,
            "late": _is_late(session, decision),
        },
    }


def _is_late(session: Session, decision: tables.Decision) -> bool:
    ask = tables.Ask
    deadline = select(ask.deadline_ms).where(ask.item_id == decision.item_id).order_by(col(ask.id).desc())
    deadline_ms = session.exec(deadline).first()
    return deadline_ms is not None and decision.decided_ms > deadline_ms
