"""The events of items for each channel: a pending item, a reminder before its deadline, and a closed item.

The events follow from the state of the items, so that no event is lost if the sender stops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy import BigInteger, cast, text
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, or_, select

from console.auth.audit_log import Door
from console.auth.people import roles_of
from console.review.access import is_assigned_to_others, list_reviewable_runs, read_terms
from console.review.notices.channels import channel_key, list_channels, read_run_ids
from console.runs import is_current, outbox
from console.runs.outbox import ITEM_CLOSED, ITEM_PENDING, ITEM_REMINDER
from storage import tables
from storage.queue.offers import list_live_items
from storage.queue.transaction import Transaction
from storage.tables import UNREVIEWED, DecisionKind, ItemStatus, RunKind, SlotStatus

REMINDER_AFTER_MS = 3_600_000
"""The time in ms to a reminder without a deadline; with a deadline, the reminder is sent when a quarter is left."""
AGAIN_AFTER_MS = 10_000
"""The time in ms after which the same items are checked again, for people who may decide them by then."""
_MOST = 1_000
_LATE_MS = 7 * 24 * 3_600_000
"""The age in ms above which items are not announced to a channel."""

# As the partial index states it, so that SQLite uses the index.
_IS_OPEN = text("outbox.is_open")

Found = dict[str, list[int]]
"""The ids of items by event."""
_Pairs = dict[int, list[int]]


class CheckedItems:
    """The items for which each channel was checked, so that the same items are checked again only after some seconds.

    The people who may decide an item can change while the item is pending, for example when a claim ends.
    """

    def __init__(self) -> None:
        self._last: dict[int, tuple[frozenset[int], int]] = {}

    def is_due(self, channel_id: int, items: frozenset[int], now_ms: int) -> bool:
        """Return whether a check of these items is due now, and record the check if it is due."""
        known, at_ms = self._last.get(channel_id, (None, 0))
        if known == items and 0 <= now_ms - at_ms < AGAIN_AFTER_MS:
            return False
        self._last[channel_id] = (items, now_ms)
        return True


def find_events(session: Session, now_ms: int, checked: CheckedItems | None = None) -> dict[int, Found]:
    """Find the new events of each channel that is not muted, by the channel's id."""
    active = [channel for channel in list_channels(session) if not channel.muted]
    if not active:
        return {}
    pending = _find_pending_by_channel(session, active, checked or CheckedItems(), now_ms)
    reminders, closed = _find_reminders(session, now_ms), _find_closed(session, now_ms)
    found = {}
    for channel in active:
        id = channel.id or 0
        events = {
            ITEM_PENDING: pending.get(id, []),
            ITEM_REMINDER: reminders.get(id, []),
            ITEM_CLOSED: closed.get(id, []),
        }
        if any(events.values()):
            found[id] = events
    return found


def add_events(session: Session, found: Mapping[int, Found], now_ms: int) -> None:
    """Add the events to the outbox; raise IntegrityError if another process has added one of them."""
    for channel_id, events in found.items():
        key = channel_key(channel_id)
        for event, item_ids in events.items():
            outbox.add_messages(session, key, event, item_ids, now_ms, is_open=event == ITEM_PENDING)
        outbox.close_subjects(session, events[ITEM_CLOSED], key)


def _find_pending_by_channel(
    session: Session, active: Sequence[tables.NoticeChannel], checked: CheckedItems, now_ms: int
) -> _Pairs:
    """Find the items to announce to each channel.

    Data that all channels share are read once. Only a channel that an item may concern is checked separately.
    """
    ask, message = tables.Ask, tables.Outbox
    waiting = select(ask.item_id, ask.run_id, ask.asked_ms).where(
        col(ask.answer).is_(None), col(ask.item_id).is_not(None)
    )
    live = [(item or 0, run, asked) for item, run, asked in session.exec(waiting)]
    told = select(message.channel, message.subject_id).where(
        message.event == ITEM_PENDING, col(message.subject_id).in_([item for item, _run, _asked in live])
    )
    known = set(session.exec(told)) if live else set()
    owners = {person.id: person for person in session.exec(select(tables.Person))}
    admitted: dict[tuple[int, int], bool] = {}
    reviewable: dict[int, Sequence[tables.Run]] = {}
    found: _Pairs = {}
    for channel in active:
        key, chosen = channel_key(channel.id or 0), set(read_run_ids(channel))
        items = frozenset(
            item
            for item, run, asked in live
            if asked >= channel.since_ms and (not chosen or run in chosen) and (key, item) not in known
        )
        if not (items or chosen) or not checked.is_due(channel.id or 0, items, now_ms):
            continue
        owner = owners[channel.person_id]
        if channel.person_id not in reviewable:
            reviewable[channel.person_id] = list_reviewable_runs(session, owner.name, offering=True)
        pending = _find_pending(session, channel, owner, reviewable[channel.person_id], now_ms)
        found[channel.id or 0] = [id for id in pending if _is_admitted(session, id, owner, admitted, now_ms)]
    return found


def _find_pending(
    session: Session, channel: tables.NoticeChannel, owner: tables.Person, reviewable: Sequence[tables.Run], now_ms: int
) -> list[int]:
    """Find the items that the person could claim and that were not announced yet, the most urgent first."""
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
    item, slot = tables.Item, tables.Slot
    own = select(slot.id).where(slot.item_id == item.id, slot.reviewer == reviewer, slot.status != SlotStatus.LAPSED)
    statement = select(item.id).where(
        col(item.run_id).in_(run_ids),
        item.status == ItemStatus.PENDING,
        item.open_slots > 0,
        item.created_ms >= since_ms,
        ~own.exists(),
        ~is_assigned_to_others(reviewer),
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


def _find_reminders(session: Session, now_ms: int) -> _Pairs:
    """Find the items of waiting agents that no one has claimed and whose time is running out, by channel."""
    item, ask, told, reminded = tables.Item, tables.Ask, tables.Outbox, aliased(tables.Outbox)
    left_ms = cast(col(ask.deadline_ms) - now_ms, BigInteger)
    whole_ms = cast(col(ask.deadline_ms) - col(ask.asked_ms), BigInteger)
    is_time = or_(
        (left_ms > 0) & (left_ms * 4 <= whole_ms),
        col(ask.deadline_ms).is_(None) & (col(ask.asked_ms) <= now_ms - REMINDER_AFTER_MS),
    )
    known = select(reminded.id).where(
        reminded.channel == told.channel, reminded.event == ITEM_REMINDER, reminded.subject_id == told.subject_id
    )
    statement = (
        select(told.channel, told.subject_id)
        .join(item, col(item.id) == told.subject_id)
        .join(ask, col(ask.item_id) == item.id)
        .where(_IS_OPEN, item.status == ItemStatus.PENDING, col(ask.answer).is_(None), is_time, ~known.exists())
    )
    return _by_channel(session.exec(statement.distinct()).all())


def _find_closed(session: Session, now_ms: int) -> _Pairs:
    """Find the announced items that are closed and have no decision that can still be undone, by channel."""
    item, told, decision = tables.Item, tables.Outbox, tables.Decision
    undoable = select(decision.id).where(decision.item_id == item.id, is_current(), decision.deliverable_ms > now_ms)
    statement = (
        select(told.channel, told.subject_id)
        .join(item, col(item.id) == told.subject_id)
        .where(_IS_OPEN, col(item.status).not_in(UNREVIEWED), ~undoable.exists())
    )
    return _by_channel(session.exec(statement).all())


def _by_channel(pairs: Sequence[tuple[str, int]]) -> _Pairs:
    found: _Pairs = {}
    for key, item_id in sorted(pairs):
        found.setdefault(int(key.removeprefix(channel_key(0)[:-1])), []).append(item_id)
    return found
