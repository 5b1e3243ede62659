"""A reviewer's place at an item and the unit it costs: taken together, given back together."""

from typing import NamedTuple

from storage.errors import BudgetSpent, NoSuchItem, NotYours
from storage.queue import statements as sql
from storage.queue.transaction import Transaction
from storage.queue.values import HALTED
from storage.tables import ItemStatus, SlotStatus

GONE = (ItemStatus.EXPIRED, ItemStatus.CANCELLED)


class Item(NamedTuple):
    """The columns of an item that its claim needs."""

    id: int
    run_id: int
    trial: int
    trajectory_id: int
    step: int
    kind: str
    priority: float
    verdict_id: int | None


class Slot(NamedTuple):
    """A reviewer's place at one item, as `OWN_SLOT` reads it."""

    id: int
    budget_id: int
    status: str
    token: str
    units: int
    claimed_ms: int
    lease_until_ms: int


class Seat(NamedTuple):
    """An occupied place: what it takes to give its unit back."""

    slot_id: int
    item_id: int
    budget_id: int
    reviewer: str
    units: int
    kind: str


def locked_item(db: Transaction, item_id: int) -> tuple[Item, str, int]:
    """The item, locked, with its status and its open slots; raises NoSuchItem."""
    row = db.row(sql.NAMED, item_id=item_id)
    if row is None:
        raise NoSuchItem(f"There is no review item {item_id}.")
    return Item(*row[:-2]), row[-2], row[-1]


def own_slot(db: Transaction, item_id: int, reviewer: str) -> Slot | None:
    """The reviewer's place at the item, None if there never was one."""
    row = db.row(sql.OWN_SLOT, item_id=item_id, reviewer=reviewer)
    return None if row is None else Slot(*row)


def spend(db: Transaction, seat: Seat, reason: str, now_ms: int) -> tuple[int | None, int]:
    """Takes the seat's unit from its budget; returns the cap and what is used now; raises BudgetSpent."""
    spent = db.row(sql.SPEND, budget_id=seat.budget_id, units=seat.units, halted=int(seat.kind == HALTED))
    if spent is None:
        raise BudgetSpent
    record(db, seat, "spend", reason, seat.units, now_ms)
    return spent[0], spent[1]


def give_back(db: Transaction, seat: Seat, status: SlotStatus, reason: str, now_ms: int) -> None:
    """Empties the seat and returns its unit to the budget."""
    db.run(sql.LEAVE, slot_id=seat.slot_id, status=status.value, now_ms=now_ms)
    db.run(sql.REFUND, budget_id=seat.budget_id, units=seat.units, halted=int(seat.kind == HALTED))
    record(db, seat, "refund", reason, -seat.units, now_ms)


def record(db: Transaction, seat: Seat, entry: str, reason: str, units: int, now_ms: int) -> None:
    """Adds a row to the ledger."""
    db.run(
        sql.RECORD,
        budget_id=seat.budget_id,
        item_id=seat.item_id,
        slot_id=seat.slot_id,
        reviewer=seat.reviewer,
        entry=entry,
        reason=reason,
        units=units,
        now_ms=now_ms,
    )


def sweep(db: Transaction, now_ms: int) -> int:
    """Frees every place whose lease has run out; returns how many."""
    lapsed = [Seat(*row) for row in db.rows(sql.LAPSED, now_ms=now_ms)]
    # Items before budgets, and budgets in order, so that two servers never wait for each other.
    for seat in lapsed:
        db.run(sql.REOPEN, item_id=seat.item_id)
    for seat in sorted(lapsed, key=lambda seat: seat.budget_id):
        give_back(db, seat, SlotStatus.LAPSED, "lapse", now_ms)
    return len(lapsed)


def leave(db: Transaction, item_id: int, reviewer: str, token: str, status: SlotStatus, now_ms: int) -> None:
    """Puts the reviewer's claim down, so that the item waits again; raises NoSuchItem and NotYours."""
    item, _, _ = locked_item(db, item_id)
    slot = own_slot(db, item_id, reviewer)
    if slot is None or slot.token != token or slot.status != SlotStatus.CLAIMED:
        raise NotYours
    seat = Seat(slot.id, item_id, slot.budget_id, reviewer, slot.units, item.kind)
    db.run(sql.REOPEN, item_id=item_id)
    give_back(db, seat, status, "skip" if status is SlotStatus.SKIPPED else "release", now_ms)


def withdraw_items(db: Transaction, item_ids: list[int], status: ItemStatus, now_ms: int) -> int:
    """Takes pending and claimed items out of the queue and refunds live claims; returns how many items left."""
    reason = "expire" if status is ItemStatus.EXPIRED else "cancel"
    left = [item_id for item_id in item_ids if db.run(sql.LEAVE_QUEUE, item_id=item_id, status=status.value)]
    for item_id in left:
        for row in db.rows(sql.LIVE_ON_ITEM, item_id=item_id):
            give_back(db, Seat(*row), SlotStatus.RELEASED, reason, now_ms)
    return len(left)
