"""The outbox of webhooks: decisions to send, the time of each retry, and the outcome of each attempt."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import insert, update
from sqlmodel import Session, col, func, select

from console.gate.checks import check_id_of_item
from console.review.resolution import feedback_to_agent
from console.runs import is_current
from storage import tables
from storage.tables import RunKind

RETRIES_S = (1, 5, 30, 120, 600, 1_800, 3_600)
"""Seconds to wait after the first failure, the second, ...; after the last, the decision is not sent again."""
GIVEN_UP = "given up: "

_HELD_MS = 60_000
"""How long a message is claimed: longer than any attempt, so that no other process sends the message too."""
_PAST_MS = 7 * 24 * 3_600_000
"""Older decisions are not sent to a new receiver."""
_FAR_MS = 1 << 61
_MARGIN = 500
_REASON = 300


@dataclass(frozen=True, slots=True)
class Message:
    """A decision to send: its row in the outbox, the number of attempts, its stable id, and its body."""

    delivery_id: int
    attempts: int
    message_id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class DueDecisions:
    """Decisions that are due and not yet in the outbox, and the id at which the next search starts."""

    decision_ids: tuple[int, ...]
    look_from: int


def find_due(session: Session, url: str, look_from: int, now_ms: int) -> DueDecisions:
    """Find the decisions of gate runs, from the id `look_from` on, that can no longer be undone."""
    decision, item, run, delivery = tables.Decision, tables.Item, tables.Run, tables.WebhookDelivery
    current = is_current() & (col(decision.id) >= look_from)
    known = select(delivery.id).where(delivery.decision_id == col(decision.id), delivery.url == url).exists()
    due = (
        select(decision.id)
        .join(item, col(item.id) == decision.item_id)
        .join(run, col(run.id) == item.run_id)
        .where(current, run.kind == RunKind.GATE, ~known)
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
    rows = [{"decision_id": id, "url": url, "attempts": 0, "next_ms": now_ms, "failure": ""} for id in decision_ids]
    if rows:
        session.execute(insert(tables.WebhookDelivery), rows)


def claim_messages(session: Session, url: str, now_ms: int, limit: int) -> list[Message]:
    """Claim for one minute the messages that this process is to send now."""
    delivery = tables.WebhookDelivery
    due = (
        select(delivery)
        .where(delivery.url == url, col(delivery.delivered_ms).is_(None), delivery.next_ms <= now_ms)
        .order_by(col(delivery.next_ms))
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    taken = session.exec(due).all()
    for row in taken:
        row.attempts, row.next_ms = row.attempts + 1, now_ms + _HELD_MS
        session.add(row)
    return [_message(session, row) for row in taken]


def has_due_message(session: Session, url: str, now_ms: int) -> bool:
    """Return whether there is a message to send now."""
    delivery = tables.WebhookDelivery
    due = select(delivery.id).where(
        delivery.url == url, col(delivery.delivered_ms).is_(None), delivery.next_ms <= now_ms
    )
    return session.exec(due.limit(1)).first() is not None


def store_outcomes(session: Session, results: Sequence[tuple[Message, str | None]], now_ms: int) -> None:
    """Store the outcome of each attempt: None if the message was delivered, otherwise the reason for the failure."""
    for message, failure in results:
        session.execute(_outcome_update(message, failure, now_ms))


def _outcome_update(message: Message, failure: str | None, now_ms: int) -> Any:
    delivery = tables.WebhookDelivery
    if failure is None:
        changed: dict[str, Any] = {"delivered_ms": now_ms, "failure": ""}
    elif failure.startswith(GIVEN_UP) or message.attempts > len(RETRIES_S):
        changed = {"next_ms": _FAR_MS, "failure": f"{GIVEN_UP}{failure.removeprefix(GIVEN_UP)}"[:_REASON]}
    else:
        changed = {"next_ms": now_ms + RETRIES_S[message.attempts - 1] * 1_000, "failure": failure[:_REASON]}
    # Ignore an attempt that took so long that another process has made the next one.
    same = (col(delivery.id) == message.delivery_id) & (col(delivery.attempts) == message.attempts)
    return update(delivery).where(same).values(**changed)


def _message(session: Session, row: tables.WebhookDelivery) -> Message:
    decision = session.get_one(tables.Decision, row.decision_id)
    message_id = "msg_" + hashlib.sha256(f"{decision.id} {decision.submit_key}".encode()).hexdigest()[:32]
    return Message(row.id or 0, row.attempts, message_id, orjson.dumps(_document(session, decision)))


def _document(session: Session, decision: tables.Decision) -> dict[str, Any]:
    item = session.get_one(tables.Item, decision.item_id)
    run = session.get_one(tables.Run, item.run_id)
    record = session.get_one(tables.Trajectory, item.trajectory_id)
    task = session.get_one(tables.Task, record.task_id)
    return {
        "type": "decision.made",
        "timestamp": _iso(decision.decided_ms),
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


def _iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds")
