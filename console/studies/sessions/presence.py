"""Presence: how long no page of a participant was open while they held an item.

An open page gives a signal every few seconds; a gap between two signals belongs to the item that was held meanwhile and
is kept as an event of its run. It stands alone as the one place that knows when a page was last heard of.
"""

from __future__ import annotations

from sqlmodel import Session, col, select

from console.database import database_url, now_ms, reading, writing
from console.runs import audit_log
from console.studies.sessions.steps import own_runs
from storage import tables
from storage.tables import SlotStatus

SIGNAL_S = 10
"""Seconds between the signals of an open page."""

GONE_MS = 25_000
"""A longer gap between two signals means that no page was open; a hidden one may be put to sleep by its browser."""

CLOSED = "page closed"
"""The event; its detail holds `item`, `from_ms` and `until_ms`."""

_heard: dict[tuple[str, int], int] = {}


def note_signal(participant: tables.Participant, at_ms: int | None = None) -> None:
    """Takes a signal of a page of the participant; a gap before it is kept for the item that they hold."""
    at_ms, who = now_ms() if at_ms is None else at_ms, (database_url(), participant.id or 0)
    before, _heard[who] = _heard.get(who), at_ms
    if before is not None and at_ms - before <= GONE_MS:
        return
    with reading() as session:
        held = _held(session, participant)
    if held is None:
        return
    slot, run = held
    # Nothing was heard in this process yet: the hold was last renewed when a page was drawn.
    since = max(slot.claimed_ms, slot.lease_until_ms - run.lease_ms if before is None else before)
    if at_ms - since > GONE_MS:
        gap = {"item": slot.item_id, "from_ms": since, "until_ms": at_ms}
        with writing() as session:
            audit_log.record(session, run, CLOSED, at_ms, actor="study", subject=f"item {slot.item_id}", detail=gap)


def _held(session: Session, participant: tables.Participant) -> tuple[tables.Slot, tables.Run] | None:
    slot, item, run = tables.Slot, tables.Item, tables.Run
    statement = (
        select(slot, run)
        .join(item, col(item.id) == slot.item_id)
        .join(run, col(run.id) == item.run_id)
        .where(slot.reviewer == participant.code, slot.status == SlotStatus.CLAIMED)
        .where(col(run.id).in_(own_runs(session, participant)))
        .order_by(col(slot.claimed_ms).desc())
    )
    return session.exec(statement).first()
