"""Claims: a reviewer's place at an item and the unit it costs, taken together and given back together.

The next item of a reviewer's order is claimed, or the one asked for, against the budget.
"""

import secrets
from typing import NamedTuple

from storage.errors import BudgetSpent, NoSuchItem, NotYours, QueueRefusal, StorageError
from storage.queue import statements as sql
from storage.queue.transaction import Transaction
from storage.queue.values import DEAD_MS, FAR_MS, HALTED, Claim, NoClaim, NoClaimReason
from storage.tables import UNREVIEWED, ItemStatus, SlotStatus

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
    return _free(db, [Seat(*row) for row in db.rows(sql.LAPSED, now_ms=now_ms)], now_ms)


def free_leased_too_long(db: Transaction, now_ms: int) -> int:
    """Frees every place whose lease runs longer than any can, as the clock stood wrong; returns how many."""
    return _free(db, [Seat(*row) for row in db.rows(sql.LEASED_TOO_LONG, far_ms=now_ms + FAR_MS)], now_ms)


def _free(db: Transaction, lapsed: list[Seat], now_ms: int) -> int:
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


def expire_overdue(db: Transaction, run_id: int, now_ms: int) -> int:
    """Expires the run's items whose deadline is over or whose agent is dead, unless held; returns how many."""
    overdue = [item_id for (item_id,) in db.rows(sql.OVERDUE, run_id=run_id, **_bounds(now_ms))]
    for item_id in overdue:
        _expire(db, item_id, now_ms)
    return len(overdue)


def _bounds(now_ms: int) -> dict[str, int]:
    return {"now_ms": now_ms, "dead_ms": now_ms - DEAD_MS, "far_ms": now_ms + FAR_MS}


def _expire(db: Transaction, item_id: int, now_ms: int) -> None:
    withdraw_items(db, [item_id], ItemStatus.EXPIRED, now_ms)
    db.run(sql.END_ASK, item_id=item_id, now_ms=now_ms)


def _is_overdue(db: Transaction, item_id: int, now_ms: int) -> bool:
    """Whether nobody waits for the item any more; in that case it is expired now."""
    if db.row(sql.IS_OVERDUE, item_id=item_id, **_bounds(now_ms)) is None:
        return False
    _expire(db, item_id, now_ms)
    return True


class Wish(NamedTuple):
    """Who wants to review what; times in ms."""

    run_id: int
    trial: int
    reviewer: str
    now_ms: int
    lease_ms: int
    settles: bool
    item_id: int | None
    scope: str
    halted_free: bool


class Funds(NamedTuple):
    """The budget that a claim draws on."""

    id: int
    cap: int | None
    used: int
    halted: int


class _Hold(NamedTuple):
    slot_id: int
    token: str
    claimed_ms: int


def claim(db: Transaction, wish: Wish) -> Claim | NoClaim:
    """A claim on the next item, or why there is none; raises NoSuchItem, QueueRefusal and BudgetSpent."""
    if wish.item_id is not None:
        # Locked before any budget is, in the order that all others keep.
        locked_item(db, wish.item_id)
    sweep(db, wish.now_ms)
    funds = _funds(db, wish)
    return _next(db, wish, funds) if wish.item_id is None else _named(db, wish, wish.item_id, funds)


def nothing(db: Transaction, wish: Wish, reason: NoClaimReason | None = None) -> NoClaim:
    """Why the reviewer gets no item, and how many still wait for a review."""
    waiting = (db.row(sql.COUNT_UNREVIEWED, run_id=wish.run_id, trial=wish.trial) or (0,))[0]
    if reason is NoClaimReason.BUDGET_SPENT and not waiting:
        reason = NoClaimReason.EMPTY
    return NoClaim(reason or _why_none(db, wish, waiting), waiting)


def _why_none(db: Transaction, wish: Wish, waiting: int) -> NoClaimReason:
    if not waiting:
        return NoClaimReason.EMPTY
    if db.row(sql.ANY_OF_OTHERS, run_id=wish.run_id, trial=wish.trial, reviewer=wish.reviewer):
        return NoClaimReason.ALL_CLAIMED_BY_OTHERS
    return NoClaimReason.ALL_REVIEWED_BY_YOU


def _funds(db: Transaction, wish: Wish) -> Funds:
    row = db.row(sql.BUDGET, run_id=wish.run_id, trial=wish.trial, scope=wish.scope)
    if row is None:
        scope = f", scope {wish.scope!r}" if wish.scope else ""
        raise QueueRefusal(f"Run {wish.run_id}, trial {wish.trial}{scope} has no budget yet; open one before claiming.")
    return Funds(*row)


def _next(db: Transaction, wish: Wish, funds: Funds) -> Claim | NoClaim:
    held = db.row(sql.HELD, reviewer=wish.reviewer, budget_id=funds.id)
    if held is not None:
        return _renew(db, wish, Item(*held[:8]), _Hold(*held[8:]), funds)
    spent = funds.cap is not None and funds.used >= funds.cap
    if spent and not wish.halted_free:
        return nothing(db, wish, NoClaimReason.BUDGET_SPENT)
    orders = (sql.FRESH_HALTED, sql.PUT_ASIDE_HALTED) if spent else (sql.FRESH, sql.PUT_ASIDE)
    for order in orders:
        while found := db.row(order, run_id=wish.run_id, trial=wish.trial, reviewer=wish.reviewer):
            if not _is_overdue(db, found[0], wish.now_ms):
                return _take(db, wish, Item(*found), funds)
    return nothing(db, wish, NoClaimReason.BUDGET_SPENT if spent else None)


def _named(db: Transaction, wish: Wish, item_id: int, funds: Funds) -> Claim | NoClaim:
    item, status, open_slots = locked_item(db, item_id)
    if (item.run_id, item.trial) != (wish.run_id, wish.trial):
        raise QueueRefusal(f"Item {item_id} belongs to run {item.run_id}, trial {item.trial}; claim it there.")
    slot = own_slot(db, item_id, wish.reviewer)
    if slot is not None and slot.status == SlotStatus.CLAIMED:
        return _renew(db, wish, item, _Hold(slot.id, slot.token, slot.claimed_ms), funds)
    if slot is not None and slot.status == SlotStatus.DECIDED:
        return nothing(db, wish, NoClaimReason.ITEM_REVIEWED_BY_YOU)
    if status not in UNREVIEWED or _is_overdue(db, item_id, wish.now_ms):
        return nothing(db, wish, NoClaimReason.ITEM_GONE)
    if not open_slots:
        return nothing(db, wish, NoClaimReason.ITEM_TAKEN)
    if funds.cap is not None and funds.used + _units(wish, item) > funds.cap:
        return nothing(db, wish, NoClaimReason.BUDGET_SPENT)
    return _take(db, wish, item, funds)


def _units(wish: Wish, item: Item) -> int:
    return 0 if wish.halted_free and item.kind == HALTED else 1


def _take(db: Transaction, wish: Wish, item: Item, funds: Funds) -> Claim:
    units, token = _units(wish, item), secrets.token_hex(16)
    if not db.run(sql.TAKE, item_id=item.id):
        raise StorageError(f"Item {item.id} was taken by another reviewer in between; claim again.")
    row = db.row(
        sql.SEAT,
        item_id=item.id,
        budget_id=funds.id,
        reviewer=wish.reviewer,
        token=token,
        units=units,
        now_ms=wish.now_ms,
        until_ms=wish.now_ms + wish.lease_ms,
    )
    if row is None:
        raise StorageError(f"You took item {item.id} in another window just now; open it again.")
    seat = Seat(row[0], item.id, funds.id, wish.reviewer, units, item.kind)
    cap, used = spend(db, seat, "claim", wish.now_ms)
    return _claim(db, wish, item, _Hold(seat.slot_id, token, wish.now_ms), cap, used)


def _renew(db: Transaction, wish: Wish, item: Item, hold: _Hold, funds: Funds) -> Claim:
    db.run(sql.RENEW, slot_id=hold.slot_id, until_ms=wish.now_ms + wish.lease_ms)
    return _claim(db, wish, item, hold, funds.cap, funds.used)


def _claim(db: Transaction, wish: Wish, item: Item, hold: _Hold, cap: int | None, used: int) -> Claim:
    if wish.settles:
        db.run(sql.SETTLE, reviewer=wish.reviewer, run_id=wish.run_id, now_ms=wish.now_ms)
    until_ms = wish.now_ms + wish.lease_ms
    return made_claim(db, item, hold.slot_id, hold.token, hold.claimed_ms, until_ms, (cap, used))


def made_claim(
    db: Transaction,
    item: Item,
    slot_id: int,
    token: str,
    claimed_ms: int,
    until_ms: int,
    budget: tuple[int | None, int],
) -> Claim:
    """The claim as its reviewer sees it, the trajectory included."""
    body = db.row(sql.BODY, trajectory_id=item.trajectory_id)
    if body is None:
        raise StorageError(f"Trajectory {item.trajectory_id} of item {item.id} is missing; run `inferact db check`.")
    return Claim(
        item_id=item.id,
        slot_id=slot_id,
        token=token,
        run_id=item.run_id,
        trial=item.trial,
        trajectory_id=item.trajectory_id,
        step=item.step,
        kind=item.kind,
        priority=item.priority,
        verdict_id=item.verdict_id,
        claimed_ms=claimed_ms,
        lease_until_ms=until_ms,
        body=body[0],
        budget_cap=budget[0],
        budget_used=budget[1],
    )
