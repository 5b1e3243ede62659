"""The outbox: one row per event and channel, with a lease, retries at growing intervals, and dead letters.

The sender claims rows in one transaction, sends messages outside of it, and stores each outcome in another transaction.
The number of attempts is the fence: an outcome counts only if no other process has started the next attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, insert, update
from sqlmodel import Session, col, delete, func, select

from storage import tables

DECISION_MADE = "decision.made"
"""Event: a decision can no longer be undone. The subject is the decision."""
ITEM_PENDING, ITEM_REMINDER, ITEM_CLOSED = ITEM_EVENTS = ("item.pending", "item.reminder", "item.closed")
"""Events of an item: new and pending, deadline near, closed. The subject is the item."""

RETRIES_S = (1, 5, 30, 120, 600, 1_800, 3_600)
"""Seconds to wait after the first failure, the second failure, ...; after the last, the message is given up."""
GIVEN_UP = "given up: "
"""Prefix of a dead letter's reason. The sender does not retry a failure with this prefix."""
NOT_NEEDED = "not needed: "
"""Prefix of the reason for an unsent message whose event no longer matters."""

KEPT_DAYS = 90
"""Number of days to keep messages, delivered or not."""

_HELD_MS = 60_000
"""Duration of a claim in ms, longer than any attempt, so that no second process sends the message."""
_FAR_MS = 1 << 61
_REASON = 300


@dataclass(frozen=True, slots=True)
class Claimed:
    """A message claimed by this process: its row, its event and subject, and the number of attempts."""

    message_id: int
    event: str
    subject_id: int
    attempts: int
    created_ms: int
    failure: str = ""
    """The reason for the failure of the last attempt, or ""."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An undelivered message: its row, event, subject and channel, its attempts and the last reason.

    `next_ms` is the time of the next attempt, or None if the message was given up.
    """

    message_id: int
    event: str
    subject_id: int
    channel: str
    attempts: int
    created_ms: int
    next_ms: int | None
    reason: str


def add_messages(
    session: Session, channel: str, event: str, subject_ids: Sequence[int], now_ms: int, *, is_open: bool = False
) -> None:
    """Add one message per subject; raise IntegrityError if another process has already added one of them.

    If `is_open` is true, later events of the subject go to the same channel, until `close_subjects`.
    """
    common = {"channel": channel, "event": event, "created_ms": now_ms, "next_ms": now_ms, "is_open": is_open}
    rows = [{"subject_id": id, "attempts": 0, "failure": "", **common} for id in subject_ids]
    if rows:
        session.execute(insert(tables.Outbox), rows)


def claim_messages(session: Session, channel: str, now_ms: int, limit: int) -> list[Claimed]:
    """Claim up to `limit` due messages of the channel for one minute, ordered by due time."""
    row = tables.Outbox
    due = select(row).where(_is_due(channel, now_ms)).order_by(col(row.next_ms), col(row.id)).limit(limit)
    taken = session.exec(due.with_for_update(skip_locked=True)).all()
    for one in taken:
        one.attempts, one.next_ms = one.attempts + 1, now_ms + _HELD_MS
        session.add(one)
    return [Claimed(one.id or 0, one.event, one.subject_id, one.attempts, one.created_ms, one.failure) for one in taken]


def has_due_message(session: Session, channel: str, now_ms: int) -> bool:
    """Return whether the channel has a due message."""
    return session.exec(select(tables.Outbox.id).where(_is_due(channel, now_ms)).limit(1)).first() is not None


def list_due_channels(session: Session, now_ms: int) -> set[str]:
    """Return the channels with a due message."""
    row = tables.Outbox
    due = select(row.channel).where(col(row.delivered_ms).is_(None), row.next_ms <= now_ms)
    return set(session.exec(due.distinct()))


def store_outcomes(session: Session, results: Sequence[tuple[Claimed, str | None]], now_ms: int) -> None:
    """Store the outcome of each attempt: None if the message was delivered, otherwise the reason for the failure.

    A reason with the prefix `GIVEN_UP` or `NOT_NEEDED` ends the message; retry others, up to eight attempts.
    """
    for message, failure in results:
        session.execute(_outcome_update(message, failure, now_ms))


def retry_messages(session: Session, now_ms: int, message_ids: Sequence[int] | None = None) -> int:
    """Make dead letters due now with all their attempts, limited to `message_ids` if given; return their number."""
    row = tables.Outbox
    dead = _is_undelivered() & (col(row.next_ms) == _FAR_MS)
    if message_ids is not None:
        dead &= col(row.id).in_(message_ids)
    found = session.exec(select(row).where(dead).with_for_update()).all()
    for one in found:
        one.attempts, one.next_ms = 0, now_ms
        session.add(one)
    return len(found)


def list_undelivered(session: Session, limit: int = 200, channel: str | None = None) -> list[DeadLetter]:
    """List the messages with a failed last attempt, dead letters first, then by time with the newest first."""
    row = tables.Outbox
    failed = _is_undelivered() & (col(row.channel) == channel if channel is not None else col(row.id).is_not(None))
    ranked = select(row).where(failed).order_by((col(row.next_ms) == _FAR_MS).desc(), col(row.id).desc())
    return [
        DeadLetter(
            one.id or 0,
            one.event,
            one.subject_id,
            one.channel,
            one.attempts,
            one.created_ms,
            None if one.next_ms == _FAR_MS else one.next_ms,
            one.failure,
        )
        for one in session.exec(ranked.limit(limit))
    ]


def count_undelivered(session: Session) -> dict[str, int]:
    """Return the number of dead letters by channel, for channels with dead letters."""
    row = tables.Outbox
    dead = select(row.channel, func.count()).where(_is_undelivered(), row.next_ms == _FAR_MS).group_by(row.channel)
    return dict(session.exec(dead).all())


def count_failed(session: Session) -> int:
    """Return the number of messages with a failed last attempt."""
    return session.exec(select(func.count()).select_from(tables.Outbox).where(_is_undelivered())).one()


def close_subjects(session: Session, subject_ids: Sequence[int], channel: str | None = None) -> None:
    """Mark these subjects as closed, so that no later event follows, on this channel or on all channels."""
    row = tables.Outbox
    chosen = col(row.is_open) & col(row.subject_id).in_(subject_ids)
    if channel is not None:
        chosen &= col(row.channel) == channel
    session.execute(update(row).where(chosen).values(is_open=False))


def drop_waiting(session: Session, channel: str, reason: str) -> None:
    """Mark the channel's undelivered messages as not needed, and close their subjects."""
    row = tables.Outbox
    session.execute(update(row).where(col(row.channel) == channel, col(row.is_open)).values(is_open=False))
    waiting = (col(row.channel) == channel) & col(row.delivered_ms).is_(None) & (col(row.next_ms) < _FAR_MS)
    session.execute(update(row).where(waiting).values(next_ms=_FAR_MS, failure=f"{NOT_NEEDED}{reason}"[:_REASON]))


def remove_messages(session: Session, events: Iterable[str], subject_ids: Any) -> None:
    """Delete the messages of these events about these subjects (ids, or a select of ids)."""
    row = tables.Outbox
    session.execute(delete(row).where(col(row.event).in_(list(events)), col(row.subject_id).in_(subject_ids)))


def remove_channel_messages(session: Session, channel: str) -> None:
    """Delete all messages of a channel."""
    session.execute(delete(tables.Outbox).where(col(tables.Outbox.channel) == channel))


def prune(session: Session, before_ms: int) -> None:
    """Delete the messages created before this time, delivered or not."""
    session.execute(delete(tables.Outbox).where(col(tables.Outbox.created_ms) < before_ms))


def _is_due(channel: str, now_ms: int) -> ColumnElement[bool]:
    row = tables.Outbox
    return (col(row.channel) == channel) & col(row.delivered_ms).is_(None) & (col(row.next_ms) <= now_ms)


def _is_undelivered() -> ColumnElement[bool]:
    row = tables.Outbox
    not_sent = col(row.failure).startswith(NOT_NEEDED, autoescape=True)
    return col(row.delivered_ms).is_(None) & (col(row.failure) != "") & ~not_sent


def _outcome_update(message: Claimed, failure: str | None, now_ms: int) -> Any:
    """Return the update of the message's row, limited to the message's current attempt."""
    if failure is None:
        changed: dict[str, Any] = {"delivered_ms": now_ms, "failure": ""}
    elif failure.startswith(NOT_NEEDED):
        changed = {"next_ms": _FAR_MS, "failure": failure[:_REASON]}
    elif failure.startswith(GIVEN_UP) or message.attempts > len(RETRIES_S):
        changed = {"next_ms": _FAR_MS, "failure": f"{GIVEN_UP}{failure.removeprefix(GIVEN_UP)}"[:_REASON]}
    else:
        changed = {"next_ms": now_ms + RETRIES_S[message.attempts - 1] * 1_000, "failure": failure[:_REASON]}
    row = tables.Outbox
    this_attempt = col(row.id) == message.message_id, col(row.attempts) == message.attempts
    return update(row).where(*this_attempt).values(**changed)
