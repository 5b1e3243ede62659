"""The events of items for each channel: a pending item, a reminder before its deadline, and how it was closed.

The events follow from the state of the items, so that none is lost if the sender is stopped in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy import BigInteger, cast
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, func, or_, select

from console.auth.audit_log import Door
from console.auth.people import roles_of
from console.review.access import list_reviewable_runs
from console.review.notices.channels import channel_key, list_channels, read_run_ids
from console.review.terms import read_terms
from console.runs import is_current, outbox
from console.runs.outbox import ITEM_CLOSED, ITEM_PENDING, ITEM_REMINDER
from storage import tables
from storage.queue.offers import list_live_items
from storage.queue.transaction import Transaction
from storage.tables import UNREVIEWED, DecisionKind, ItemStatus, RunKind, SlotStatus

REMINDER_AFTER_MS = 3_600_000
"""When reviewers are reminded of an agent without a deadline; with one, when a quarter of the time is left."""
_MOST = 1_000
_LATE_MS = 7 * 24 * 3_600_000
"""Items that were pending longer ago are not announced to a channel."""

Found = dict[str, list[int]]


def find_events(session: Session, now_ms: int) -> dict[int, Found]:
    """Find the new events of each channel that is not muted: the ids of items by event, by the channel's id."""
    found: dict[int, Found] = {}
    owners = {person.id: person for person in session.exec(select(tables.Person))}
    admitted: dict[tuple[int, int], bool] = {}
    reviewable: dict[int, Sequence[tables.Run]] = {}
    for channel in list_channels(session):
        if channel.muted:
            continue
        owner = owners[channel.person_id]
        if channel.person_id not in reviewable:
            reviewable[channel.person_id] = list_reviewable_runs(session, owner.name)
        pending = _find_pending(session, channel, owner, reviewable[channel.person_id], now_ms)
        new = [id for id in pending if _is_admitted(session, id, owner, admitted, now_ms)]
        events = {
            ITEM_PENDING: new,
            ITEM_REMINDER: _find_reminders(session, channel, now_ms),
            ITEM_CLOSED: _find_closed(session, channel, now_ms),
        }
        if any(events.values()):
            found[channel.id or 0] = events
    return found


def add_events(session: Session, found: Mapping[int, Found], now_ms: int) -> None:
    """Add the events to the outbox; raise IntegrityError if another process has added one of them."""
    for channel_id, events in found.items():
        key = channel_key(channel_id)
        for event, item_ids in events.items():
            outbox.add_messages(session, key, event, item_ids, now_ms, is_open=event == ITEM_PENDING)
        outbox.close_subjects(session, events[ITEM_CLOSED], key)


def _find_pending(
    session: Session,
    channel: tables.NoticeChannel,
    owner: tables.Person,
    reviewable: Sequence[tables.Run],
    now_ms: int,
) -> list[int]:
    """Find the items that the person could claim and was not told of, the most urgent first."""
    chosen = set(read_run_ids(channel))
    runs = {run.id or 0: run for run in reviewable if (run.id in chosen if chosen else run.kind == RunKind.GATE)}
    since_ms = max(channel.since_ms, now_ms - _LATE_MS)
    live = list_live_items(Transaction.joined(session), list(runs), owner.name, now_ms, _MOST)
    found = [item.item_id for item in live if item.asked_ms >= since_ms]
    others = [id for id, run in runs.items() if run.kind != RunKind.GATE]
    found += _find_recorded(session, others, owner.name, since_ms)
    message = tables.Outbox
    told = select(message.subject_id).where(
        message.channel == channel_key(channel.id or 0),
        message.event == ITEM_PENDING,
        col(message.subject_id).in_(found),
    )
    known = set(session.exec(told)) if found else set()
    return [id for id in dict.fromkeys(found) if id not in known]


def _find_recorded(session: Session, run_ids: Sequence[int], reviewer: str, since_ms: int) -> list[int]:
    """Find the pending items of runs without waiting agents that this reviewer could be offered."""
    if not run_ids:
        return []
    item, slot, assigned = tables.Item, tables.Slot, tables.ItemReviewer
    own = select(slot.id).where(slot.item_id == item.id, slot.reviewer == reviewer, slot.status != SlotStatus.LAPSED)
    others = select(assigned.item_id).where(assigned.item_id == item.id, assigned.reviewer != reviewer)
    statement = select(item.id).where(
        col(item.run_id).in_(run_ids),
        item.status == ItemStatus.PENDING,
        item.open_slots > 0,
        item.created_ms >= since_ms,
        ~own.exists(),
        ~others.exists(),
    )
    return [id for id in session.exec(statement.order_by(col(item.id)).limit(_MOST)) if id is not None]


def _is_admitted(
    session: Session, item_id: int, owner: tables.Person, known: dict[tuple[int, int], bool], now_ms: int
) -> bool:
    """Return whether the rule of the item lets this person decide it."""
    key = (item_id, owner.id or 0)
    if key not in known:
        terms = read_terms(session, orjson.loads(session.get_one(tables.Item, item_id).terms), now_ms)
        door = terms.doors[0] if terms.doors else Door.BROWSER
        known[key] = terms.refusal(DecisionKind.RESPOND, owner.name, roles_of(owner.roles), door) is None
    return known[key]


def _find_reminders(session: Session, channel: tables.NoticeChannel, now_ms: int) -> list[int]:
    """Find the items of waiting agents that no one has claimed and whose time is running out."""
    item, ask, told, reminded = tables.Item, tables.Ask, tables.Outbox, aliased(tables.Outbox)
    key = channel_key(channel.id or 0)
    left_ms = cast(col(ask.deadline_ms) - now_ms, BigInteger)
    whole_ms = cast(col(ask.deadline_ms) - col(ask.asked_ms), BigInteger)
    is_time = or_(
        (left_ms > 0) & (left_ms * 4 <= whole_ms),
        col(ask.deadline_ms).is_(None) & (col(ask.asked_ms) <= now_ms - REMINDER_AFTER_MS),
    )
    known = select(reminded.id).where(
        reminded.channel == key, reminded.event == ITEM_REMINDER, reminded.subject_id == told.subject_id
    )
    statement = (
        select(item.id)
        .join(told, col(told.subject_id) == item.id)
        .join(ask, col(ask.item_id) == item.id)
        .where(told.channel == key, told.is_open, item.status == ItemStatus.PENDING, col(ask.answer).is_(None))
        .where(is_time, ~known.exists())
    )
    return sorted({id for id in session.exec(statement) if id is not None})


def _find_closed(session: Session, channel: tables.NoticeChannel, now_ms: int) -> list[int]:
    """Find the items that the channel was told of and that are closed, with no decision that can still be undone."""
    item, told, decision = tables.Item, tables.Outbox, tables.Decision
    undoable = select(func.count(col(decision.id))).where(
        decision.item_id == item.id, is_current(), decision.deliverable_ms > now_ms
    )
    statement = (
        select(item.id)
        .join(told, col(told.subject_id) == item.id)
        .where(told.channel == channel_key(channel.id or 0), told.is_open)
        .where(col(item.status).not_in(UNREVIEWED), undoable.scalar_subquery() == 0)
    )
    return [id for id in session.exec(statement) if id is not None]
