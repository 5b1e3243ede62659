"""Storing, undoing and delivering decisions on claimed items; every change adds a revision and overwrites nothing."""

import secrets
from collections.abc import Mapping
from dataclasses import fields

from storage.errors import AlreadyDecided, AlreadyDelivered, BudgetSpent, NotYours, QueueRefusal
from storage.queue import statements as sql
from storage.queue.claims import (
    GONE,
    ItemRow,
    SlotRow,
    TakenSlot,
    build_claim,
    find_own_slot,
    lock_item,
    record_ledger,
    spend_unit,
)
from storage.queue.transaction import Row, Transaction
from storage.queue.values import HALTED, Claim, DecisionRow, NewDecision
from storage.tables import DecisionKind, SlotStatus

_SUPERSEDED = [field.name for field in fields(DecisionRow)].index("superseded")
_RUNS_AN_ACTION = (DecisionKind.APPROVE, DecisionKind.EDIT)


def decide(
    db: Transaction, *, item_id: int, reviewer: str, token: str, new: NewDecision, now_ms: int, undo_ms: int
) -> DecisionRow:
    """Store the decision on a claimed item, once per submit key; raise a QueueRefusal if it is not accepted."""
    earlier = _find_submitted(db, new["submit_key"], item_id, reviewer)
    if earlier is not None:
        return earlier
    item, status, _ = lock_item(db, item_id)
    if status in GONE:
        raise QueueRefusal(f"Item {item_id} was {status} and takes no more decisions.")
    if item.kind == HALTED and new["decision"] in _RUNS_AN_ACTION:
        raise QueueRefusal(f"Item {item_id} halted before any action, so there is nothing to {new['decision']}.")
    slot = find_own_slot(db, item_id, reviewer)
    if slot is not None and slot.status == SlotStatus.DECIDED:
        raise AlreadyDecided
    if slot is None or slot.token != token or slot.status not in (SlotStatus.CLAIMED, SlotStatus.LAPSED):
        raise NotYours
    taken = TakenSlot(slot.id, item_id, slot.budget_id, reviewer, slot.units, item.kind)
    if slot.status == SlotStatus.LAPSED:
        _take_slot_again(db, taken, now_ms)
    db.run(sql.MARK_DECIDED, slot_id=slot.id, now_ms=now_ms)
    # If the clock was fast at the claim and has been corrected since, the decision must not predate its claim.
    return _store(db, taken, new, min(slot.claimed_ms, now_ms), now_ms, undo_ms)


def undo(db: Transaction, *, item_id: int, reviewer: str, now_ms: int, lease_ms: int) -> Claim:
    """Turn the reviewer's undelivered decision back into a draft and renew the claim.

    Raise AlreadyDelivered if the agent has the decision, or QueueRefusal if nothing can be undone.
    """
    item, status, _ = lock_item(db, item_id)
    slot = find_own_slot(db, item_id, reviewer)
    if slot is None or slot.status != SlotStatus.DECIDED:
        raise QueueRefusal(f"You have no decision on item {item_id} to undo.")
    if status in GONE:
        raise QueueRefusal(f"Item {item_id} was {status}; there is nothing left to undo.")
    row = db.row(sql.CURRENT, slot_id=slot.id)
    if row is None:
        raise QueueRefusal("That decision was already undone.")
    current = _decision_row(row)
    if current.delivered_ms is not None:
        raise AlreadyDelivered
    db.run(sql.SUPERSEDE, decision_id=current.id, withdrawn_ms=now_ms)
    if current.decision == DecisionKind.ESCALATE:
        # Remove the slot that the escalation added, unless another reviewer has claimed it.
        db.run(sql.REMOVE_SLOT, item_id=item_id)
    draft = {"feedback_text": current.feedback_text, "reason_codes": current.reason_codes, "edit": None}
    db.run(sql.SAVE_DRAFT, item_id=item_id, reviewer=reviewer, now_ms=now_ms, **draft)
    return _claim_again(db, item, slot, reviewer, now_ms, lease_ms)


def deliver(db: Transaction, decision_ids: list[int], now_ms: int) -> int:
    """Mark due decisions as delivered, then items with no undelivered decision; return the number of decisions."""
    rows = [row for decision_id in decision_ids for row in db.rows(sql.ITEM_OF_DECISION, decision_id=decision_id)]
    items = sorted({item_id for (item_id,) in rows})
    for item_id in items:
        lock_item(db, item_id)
    delivered = [db.row(sql.DELIVER, decision_id=decision_id, now_ms=now_ms) for decision_id in decision_ids]
    for item_id in items:
        db.run(sql.FINISH, item_id=item_id)
    return sum(row is not None for row in delivered)


def save_draft(db: Transaction, item_id: int, reviewer: str, parts: Mapping[str, str | None], now_ms: int) -> None:
    """Store the draft, leaving parts that are None unchanged; ignore a draft that arrives after its decision."""
    lock_item(db, item_id)
    slot = find_own_slot(db, item_id, reviewer)
    if slot is None or slot.status != SlotStatus.DECIDED:
        db.run(sql.SAVE_DRAFT, item_id=item_id, reviewer=reviewer, now_ms=now_ms, **parts)


def _find_submitted(db: Transaction, submit_key: str, item_id: int, reviewer: str) -> DecisionRow | None:
    row = db.row(sql.SUBMITTED, submit_key=submit_key)
    if row is None:
        return None
    decision = _decision_row(row)
    if (decision.item_id, decision.reviewer) != (item_id, reviewer):
        raise QueueRefusal(f"Submit key {submit_key!r} was used for another decision; send a new one.")
    return decision


def _take_slot_again(db: Transaction, taken: TakenSlot, now_ms: int) -> None:
    if not db.run(sql.TAKE_SLOT, item_id=taken.item_id):
        raise NotYours
    try:
        spend_unit(db, taken, "late answer", now_ms)
    except BudgetSpent:
        raise NotYours("Your claim expired and the budget is spent now; your decision was not stored.") from None


def _store(
    db: Transaction, taken: TakenSlot, new: NewDecision, claimed_ms: int, now_ms: int, undo_ms: int
) -> DecisionRow:
    """Add the revision, record it in the ledger, update the item and delete the draft."""
    kind = DecisionKind(new["decision"])
    if kind is DecisionKind.ESCALATE:
        db.run(sql.ADD_SLOT, item_id=taken.item_id)
    cap, used = _read_cap_and_used(db, taken.slot_id)
    row = db.rows(
        sql.DECIDE,
        **{
            "seen_digest": None,
            "door": "browser",
            "reason_codes": "",
            **new,
            "decision": kind.value,
            "label": None if new["label"] is None else str(new["label"]),
        },
        item_id=taken.item_id,
        slot_id=taken.slot_id,
        reviewer=taken.reviewer,
        budget_cap=cap,
        budget_used=used,
        claimed_ms=claimed_ms,
        now_ms=now_ms,
        deliverable_ms=now_ms + undo_ms,
    )[0]
    record_ledger(db, taken, "settle", kind.value, 0, now_ms)
    db.run(sql.SET_STATUS, item_id=taken.item_id)
    db.run(sql.DROP_DRAFT, item_id=taken.item_id, reviewer=taken.reviewer)
    return _decision_row(row)


def _claim_again(db: Transaction, item: ItemRow, slot: SlotRow, reviewer: str, now_ms: int, lease_ms: int) -> Claim:
    token, until_ms = secrets.token_hex(16), now_ms + lease_ms
    db.run(sql.CLAIM_SLOT_AGAIN, slot_id=slot.id, token=token, until_ms=until_ms)
    db.run(sql.SET_STATUS, item_id=item.id)
    taken = TakenSlot(slot.id, item.id, slot.budget_id, reviewer, slot.units, item.kind)
    record_ledger(db, taken, "settle", "undo", 0, now_ms)
    return build_claim(db, item, slot.id, token, slot.claimed_ms, until_ms, _read_cap_and_used(db, slot.id))


def _read_cap_and_used(db: Transaction, slot_id: int) -> tuple[int | None, int]:
    cap, used = db.rows(sql.BUDGET_OF_SLOT, slot_id=slot_id)[0]
    return cap, used


def _decision_row(row: Row) -> DecisionRow:
    values = list(row)
    # SQLite has no booleans, and a raw connection converts nothing.
    values[_SUPERSEDED] = bool(values[_SUPERSEDED])
    return DecisionRow(*values)
