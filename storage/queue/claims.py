"""Claims: a reviewer's slot at an item and the slot's cost in units, always taken and returned together.

A claim takes the next item in the reviewer's order, or the requested item, if the budget has a unit left.
"""

import json
import secrets
from typing import NamedTuple

from storage.errors import BudgetSpent, NoSuchItem, NotYours, QueueRefusal, StorageError
from storage.queue import statements as sql
from storage.queue.transaction import Transaction
from storage.queue.values import DEAD_MS, FAR_MS, HALTED, Claim, NoClaim, NoClaimReason
from storage.tables import UNREVIEWED, ItemStatus, SlotStatus

GONE = (ItemStatus.EXPIRED, ItemStatus.CANCELLED)


class ItemRow(NamedTuple):
    """The columns of an item that a claim needs."""

    id: int
    run_id: int
    trial: int
    trajectory_id: int
    step: int
    kind: str
    priority: float
    verdict_id: int | None


class SlotRow(NamedTuple):
    """The columns of a reviewer's slot at one item."""

    id: int
    budget_id: int
    status: str
    token: str
    units: int
    claimed_ms: int
    lease_until_ms: int


class BudgetRow(NamedTuple):
    """The columns of a budget that a claim needs."""

    id: int
    cap: int | None
    used: int
    halted: int


class TakenSlot(NamedTuple):
    """An occupied slot with the values that a refund needs."""

    slot_id: int
    item_id: int
    budget_id: int
    reviewer: str
    units: int
    kind: str


class ClaimRequest(NamedTuple):
    """A reviewer's request for the next item, or for the item with the id `item_id`; times in ms."""

    run_id: int
    trial: int
    reviewer: str
    now_ms: int
    lease_ms: int
    settles: bool
    item_id: int | None
    scope: str
    halted_free: bool


class _Lease(NamedTuple):
    slot_id: int
    token: str
    claimed_ms: int


def lock_item(db: Transaction, item_id: int) -> tuple[ItemRow, str, int]:
    """Lock the item and return it with its status and number of open slots; raise NoSuchItem if the item is missing."""
    row = db.row(sql.LOCK_ITEM, item_id=item_id)
    if row is None:
        raise NoSuchItem(f"Review item {item_id} does not exist. Check its id.")
    return ItemRow(*row[:-2]), row[-2], row[-1]


def find_own_slot(db: Transaction, item_id: int, reviewer: str) -> SlotRow | None:
    """Return the reviewer's slot at the item, or None if the reviewer has never claimed the item."""
    row = db.row(sql.OWN_SLOT, item_id=item_id, reviewer=reviewer)
    return None if row is None else SlotRow(*row)


def spend_unit(db: Transaction, taken: TakenSlot, reason: str, now_ms: int) -> tuple[int | None, int]:
    """Charge the slot's units to its budget and return its (cap, used); raise BudgetSpent if too few units are left."""
    spent = db.row(
        sql.SPEND, budget_id=taken.budget_id, units=taken.units, halted=int(taken.kind == HALTED), item_id=taken.item_id
    )
    if spent is None:
        raise BudgetSpent
    record_ledger(db, taken, "spend", reason, taken.units, now_ms)
    return spent[0], spent[1]


def record_ledger(db: Transaction, taken: TakenSlot, entry: str, reason: str, units: int, now_ms: int) -> None:
    """Add a row to the ledger."""
    db.run(
        sql.INSERT_LEDGER,
        budget_id=taken.budget_id,
        item_id=taken.item_id,
        slot_id=taken.slot_id,
        reviewer=taken.reviewer,
        entry=entry,
        reason=reason,
        units=units,
        now_ms=now_ms,
    )


def _refund_slot(
    db: Transaction, taken: TakenSlot, status: SlotStatus, reason: str, now_ms: int, until_ms: int | None = None
) -> None:
    left_ms = now_ms if until_ms is None else until_ms
    db.run(sql.LEAVE_SLOT, slot_id=taken.slot_id, status=status.value, now_ms=left_ms)
    db.run(sql.REFUND, budget_id=taken.budget_id, units=taken.units, halted=int(taken.kind == HALTED))
    record_ledger(db, taken, "refund", reason, -taken.units, now_ms)


def free_expired_claims(db: Transaction, now_ms: int) -> int:
    """Free the slot of every expired claim; return the number of slots."""
    rows = db.rows(sql.EXPIRED_CLAIMS, now_ms=now_ms)
    return _free_slots(db, [TakenSlot(*row) for row in rows], now_ms) if rows else 0


def free_far_claims(db: Transaction, now_ms: int) -> int:
    """Free the slot of every claim that expires over FAR_MS from now (a wrong clock); return the number of slots."""
    return _free_slots(db, [TakenSlot(*row) for row in db.rows(sql.FAR_CLAIMS, far_ms=now_ms + FAR_MS)], now_ms)


def _free_slots(db: Transaction, expired: list[TakenSlot], now_ms: int) -> int:
    # Items before budgets, and budgets in order, so that two servers never wait for each other.
    for taken in expired:
        db.run(sql.REOPEN, item_id=taken.item_id)
    for taken in sorted(expired, key=lambda taken: taken.budget_id):
        _refund_slot(db, taken, SlotStatus.LAPSED, "lapse", now_ms)
    return len(expired)


def leave_slot(
    db: Transaction,
    item_id: int,
    reviewer: str,
    token: str,
    status: SlotStatus,
    now_ms: int,
    until_ms: int | None = None,
) -> None:
    """End the reviewer's claim, so that the item is pending again; `until_ms` is the end of a skip.

    Raise NoSuchItem if the item does not exist, or NotYours if the reviewer does not have the claim.
    """
    item, _, _ = lock_item(db, item_id)
    slot = find_own_slot(db, item_id, reviewer)
    if slot is None or slot.token != token or slot.status != SlotStatus.CLAIMED:
        raise NotYours
    taken = TakenSlot(slot.id, item_id, slot.budget_id, reviewer, slot.units, item.kind)
    db.run(sql.REOPEN, item_id=item_id)
    _refund_slot(db, taken, status, "skip" if status is SlotStatus.SKIPPED else "release", now_ms, until_ms)


def withdraw_items(db: Transaction, item_ids: list[int], status: ItemStatus, now_ms: int) -> int:
    """Remove pending and claimed items from the queue and refund live claims; return the number of items."""
    reason = "expire" if status is ItemStatus.EXPIRED else "cancel"
    left = [item_id for item_id in item_ids if db.run(sql.LEAVE_QUEUE, item_id=item_id, status=status.value)]
    for item_id in left:
        for row in db.rows(sql.LIVE_CLAIMS, item_id=item_id):
            _refund_slot(db, TakenSlot(*row), SlotStatus.RELEASED, reason, now_ms)
    return len(left)


def expire_overdue(db: Transaction, run_id: int, now_ms: int) -> int:
    """Expire the run's unclaimed items with a passed deadline or a crashed agent; return the number of items."""
    overdue = db.rows(sql.OVERDUE, run_id=run_id, **_time_bounds(now_ms))
    # Asked again now that the items are locked: another server may have claimed one in the meantime.
    return sum(_expire_if_overdue(db, item_id, now_ms) for (item_id,) in overdue)


def _time_bounds(now_ms: int) -> dict[str, int]:
    return {"now_ms": now_ms, "dead_ms": now_ms - DEAD_MS, "far_ms": now_ms + FAR_MS}


def _expire(db: Transaction, item_id: int, now_ms: int) -> None:
    withdraw_items(db, [item_id], ItemStatus.EXPIRED, now_ms)
    if db.run(sql.END_ASK, item_id=item_id, now_ms=now_ms):
        _record_expiry(db, item_id, now_ms)


def _record_expiry(db: Transaction, item_id: int, now_ms: int) -> None:
    """Append an event to the audit log: an agent's check ended without a decision."""
    ((run_id,),) = db.rows(sql.RUN_OF_ITEM, item_id=item_id)
    event = {"run_id": run_id, "at_ms": now_ms, "actor": "gate", "kind": "gate: timeout", "subject": f"item {item_id}"}
    event |= {"detail": json.dumps({"item_id": item_id, "let run": False}, separators=(",", ":"))}
    db.append_event(**event, door="", place="", before=None, after=None)


def _expire_if_overdue(db: Transaction, item_id: int, now_ms: int) -> bool:
    if db.row(sql.IS_OVERDUE, item_id=item_id, **_time_bounds(now_ms)) is None:
        return False
    _expire(db, item_id, now_ms)
    return True


def claim(db: Transaction, request: ClaimRequest) -> Claim | NoClaim:
    """Claim the requested or the next item, or return the reason why no item is claimed.

    Raise NoSuchItem if the item is missing, QueueRefusal if no budget is open, and BudgetSpent if no unit is left.
    """
    if request.item_id is not None:
        # Lock the item before any budget, in the order of all other transactions.
        lock_item(db, request.item_id)
    free_expired_claims(db, request.now_ms)
    row = db.row(sql.BUDGET, run_id=request.run_id, trial=request.trial, scope=request.scope)
    if row is None:
        scope = f", scope {request.scope!r}" if request.scope else ""
        where = f"Run {request.run_id}, trial {request.trial}{scope}"
        raise QueueRefusal(f"{where} has no budget yet. Open a budget before claiming.")
    budget = BudgetRow(*row)
    return _claim_next(db, request, budget) if request.item_id is None else _claim_named(db, request, budget)


def explain_no_claim(db: Transaction, request: ClaimRequest, reason: NoClaimReason | None = None) -> NoClaim:
    """Return the reason why the reviewer gets no item, and the number of items that still lack a review."""
    pending = (db.row(sql.COUNT_UNREVIEWED, run_id=request.run_id, trial=request.trial) or (0,))[0]
    if not pending and reason in (None, NoClaimReason.BUDGET_SPENT):
        reason = NoClaimReason.EMPTY
    elif reason is None:
        at = {"run_id": request.run_id, "trial": request.trial, "reviewer": request.reviewer}
        others = db.row(sql.CLAIMED_BY_OTHERS, **at)
        reason = NoClaimReason.ALL_CLAIMED_BY_OTHERS if others else NoClaimReason.ALL_REVIEWED_BY_YOU
    return NoClaim(reason, pending)


def _claim_next(db: Transaction, request: ClaimRequest, budget: BudgetRow) -> Claim | NoClaim:
    row = db.row(sql.HELD_CLAIM, reviewer=request.reviewer, budget_id=budget.id)
    if row is not None:
        return _renew_claim(db, request, ItemRow(*row[:8]), _Lease(*row[8:]), budget)
    is_spent = budget.cap is not None and budget.used >= budget.cap
    if is_spent and not request.halted_free:
        return explain_no_claim(db, request, NoClaimReason.BUDGET_SPENT)
    orders = (sql.FRESH_HALTED, sql.SKIPPED_HALTED) if is_spent else (sql.FRESH, sql.SKIPPED)
    for order in orders:
        while row := db.row(order, run_id=request.run_id, trial=request.trial, reviewer=request.reviewer):
            *columns, is_asked = row
            item = ItemRow(*columns)
            # Only an agent's request can be overdue.
            if not (is_asked and _expire_if_overdue(db, item.id, request.now_ms)):
                return _take_slot(db, request, item, budget)
    return explain_no_claim(db, request, NoClaimReason.BUDGET_SPENT if is_spent else None)


def _claim_named(db: Transaction, request: ClaimRequest, budget: BudgetRow) -> Claim | NoClaim:
    item, status, open_slots = lock_item(db, request.item_id or 0)
    if (item.run_id, item.trial) != (request.run_id, request.trial):
        raise QueueRefusal(f"Item {item.id} belongs to run {item.run_id}, trial {item.trial}. Claim the item there.")
    slot = find_own_slot(db, item.id, request.reviewer)
    if slot is not None and slot.status == SlotStatus.CLAIMED:
        return _renew_claim(db, request, item, _Lease(slot.id, slot.token, slot.claimed_ms), budget)
    if slot is not None and slot.status == SlotStatus.DECIDED:
        return explain_no_claim(db, request, NoClaimReason.ITEM_REVIEWED_BY_YOU)
    if status not in UNREVIEWED or _expire_if_overdue(db, item.id, request.now_ms):
        return explain_no_claim(db, request, NoClaimReason.ITEM_GONE)
    if not open_slots:
        return explain_no_claim(db, request, NoClaimReason.ITEM_TAKEN)
    if budget.cap is not None and budget.used + _cost_in_units(request, item) > budget.cap:
        return explain_no_claim(db, request, NoClaimReason.BUDGET_SPENT)
    return _take_slot(db, request, item, budget)


def _cost_in_units(request: ClaimRequest, item: ItemRow) -> int:
    return 0 if request.halted_free and item.kind == HALTED else 1


def _take_slot(db: Transaction, request: ClaimRequest, item: ItemRow, budget: BudgetRow) -> Claim:
    units, token = _cost_in_units(request, item), secrets.token_hex(16)
    if not db.run(sql.TAKE_SLOT, item_id=item.id):
        raise StorageError("Another reviewer claimed item {item} in the meantime. Claim another item.", item=item.id)
    row = db.row(
        sql.CLAIM_SLOT,
        item_id=item.id,
        budget_id=budget.id,
        reviewer=request.reviewer,
        token=token,
        units=units,
        now_ms=request.now_ms,
        until_ms=request.now_ms + request.lease_ms,
    )
    if row is None:
        raise StorageError("You claimed item {item} in another window. Open the item again.", item=item.id)
    taken = TakenSlot(row[0], item.id, budget.id, request.reviewer, units, item.kind)
    cap_and_used = spend_unit(db, taken, "claim", request.now_ms)
    return _settle_and_build(db, request, item, _Lease(taken.slot_id, token, request.now_ms), cap_and_used)


def _renew_claim(db: Transaction, request: ClaimRequest, item: ItemRow, lease: _Lease, budget: BudgetRow) -> Claim:
    db.run(sql.RENEW, slot_id=lease.slot_id, until_ms=request.now_ms + request.lease_ms)
    return _settle_and_build(db, request, item, lease, (budget.cap, budget.used))


def _settle_and_build(
    db: Transaction, request: ClaimRequest, item: ItemRow, lease: _Lease, cap_and_used: tuple[int | None, int]
) -> Claim:
    if request.settles:
        db.run(sql.SETTLE, reviewer=request.reviewer, run_id=request.run_id, now_ms=request.now_ms)
    return build_claim(db, item, *lease, request.now_ms + request.lease_ms, cap_and_used)


def build_claim(
    db: Transaction,
    item: ItemRow,
    slot_id: int,
    token: str,
    claimed_ms: int,
    until_ms: int,
    cap_and_used: tuple[int | None, int],
) -> Claim:
    """Return the claim with the body of its trajectory; raise StorageError if the body is missing."""
    body = db.row(sql.BODY, trajectory_id=item.trajectory_id)
    if body is None:
        raise StorageError(f"Trajectory {item.trajectory_id} of item {item.id} is missing. Run `inferact db check`.")
    # The fields of a claim after its token are those of its item, in the same order.
    return Claim(item.id, slot_id, token, *item[1:], claimed_ms, until_ms, body[0], *cap_and_used)
