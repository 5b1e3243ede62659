"""Deciding, revising, undoing and delivering: nothing is overwritten, every change is a revision."""

import secrets
from collections.abc import Mapping
from dataclasses import fields

from storage.errors import AlreadyDecided, AlreadyDelivered, BudgetSpent, NoSuchItem, NotYours, QueueRefusal
from storage.queue import statements as sql
from storage.queue.claims import GONE, Item, Seat, Slot, locked_item, made_claim, own_slot, record, spend
from storage.queue.transaction import Row, Transaction
from storage.queue.values import HALTED, Answer, Claim, DecisionRow
from storage.tables import DecisionKind, SlotStatus

_SUPERSEDED = [field.name for field in fields(DecisionRow)].index("superseded")
_RUNS_AN_ACTION = (DecisionKind.APPROVE, DecisionKind.EDIT)


def decide(
    db: Transaction, *, item_id: int, reviewer: str, token: str, answer: Answer, now_ms: int, undo_ms: int
) -> DecisionRow:
    """Stores the answer to a claimed item, once per submit key; raises the refusals of `storage.errors`."""
    earlier = _submitted(db, answer["submit_key"], item_id, reviewer)
    if earlier is not None:
        return earlier
    item, status, _ = locked_item(db, item_id)
    _refuse_answer(item, status, answer)
    slot = own_slot(db, item_id, reviewer)
    if slot is not None and slot.status == SlotStatus.DECIDED:
        raise AlreadyDecided
    if slot is None or slot.token != token or slot.status not in (SlotStatus.CLAIMED, SlotStatus.LAPSED):
        raise NotYours
    seat = Seat(slot.id, item_id, slot.budget_id, reviewer, slot.units, item.kind)
    if slot.status == SlotStatus.LAPSED:
        _spend_again(db, seat, now_ms)
    db.run(sql.ANSWERED, slot_id=slot.id, now_ms=now_ms)
    # A clock that was set forward at the claim and back since must not make an answer older than its claim.
    claimed_ms = min(slot.claimed_ms, now_ms)
    return _store(db, seat, answer, claimed_ms, now_ms, undo_ms, reason=answer["decision"])


def revise(
    db: Transaction, *, decision_id: int, reviewer: str, answer: Answer, now_ms: int, undo_ms: int
) -> DecisionRow:
    """A further revision of one's own undelivered decision; raises the refusals of `storage.errors`."""
    found = db.row(sql.DECISION, decision_id=decision_id)
    if found is None:
        raise NoSuchItem(f"There is no decision {decision_id}.")
    old = _decision(found)
    earlier = _submitted(db, answer["submit_key"], old.item_id, reviewer)
    if earlier is not None:
        return earlier
    if old.reviewer != reviewer:
        raise NotYours(f"Decision {decision_id} is {old.reviewer}'s; only they can revise it.")
    item, status, _ = locked_item(db, old.item_id)
    _refuse_answer(item, status, answer)
    current = _undelivered(db, old.slot_id)
    if current.id != decision_id:
        raise QueueRefusal(f"Decision {decision_id} has a later revision; revise that one ({current.id}).")
    slot = own_slot(db, old.item_id, reviewer)
    if slot is None:
        raise NotYours
    _supersede(db, current, withdrawn_ms=None)
    seat = Seat(old.slot_id, old.item_id, slot.budget_id, reviewer, slot.units, item.kind)
    return _store(db, seat, answer, min(old.claimed_ms, now_ms), now_ms, undo_ms, reason="revise")


def undo(db: Transaction, *, item_id: int, reviewer: str, now_ms: int, lease_ms: int) -> Claim:
    """Takes one's undelivered decision back as a draft, and the claim up again at no unit; raises AlreadyDelivered."""
    item, status, _ = locked_item(db, item_id)
    slot = own_slot(db, item_id, reviewer)
    if slot is None or slot.status != SlotStatus.DECIDED:
        raise QueueRefusal(f"There is no decision of yours on item {item_id} to undo.")
    if status in GONE:
        raise QueueRefusal(f"Item {item_id} was {status}; there is nothing left to undo.")
    current = _undelivered(db, slot.id)
    _supersede(db, current, withdrawn_ms=now_ms)
    words = {"feedback_text": current.feedback_text, "reason_codes": current.reason_codes, "edit": None}
    db.run(sql.SAVE_DRAFT, item_id=item_id, reviewer=reviewer, now_ms=now_ms, **words)
    return _seat_again(db, item, slot, reviewer, now_ms, lease_ms)


def deliver(db: Transaction, decision_ids: list[int], now_ms: int) -> int:
    """Marks due decisions as delivered, each once, and items whose decisions all are; returns how many decisions."""
    found = [row for decision_id in decision_ids for row in db.rows(sql.ITEM_OF_DECISION, decision_id=decision_id)]
    items = sorted({item_id for (item_id,) in found})
    for item_id in items:
        locked_item(db, item_id)
    delivered = [db.row(sql.DELIVER, decision_id=decision_id, now_ms=now_ms) for decision_id in decision_ids]
    for item_id in items:
        db.run(sql.FINISH, item_id=item_id)
    return sum(row is not None for row in delivered)


def save_draft(db: Transaction, item_id: int, reviewer: str, parts: Mapping[str, str | None], now_ms: int) -> None:
    """Keeps what is typed, a part that is None as it was; a draft that comes in after its decision is let go."""
    locked_item(db, item_id)
    slot = own_slot(db, item_id, reviewer)
    if slot is None or slot.status != SlotStatus.DECIDED:
        db.run(sql.SAVE_DRAFT, item_id=item_id, reviewer=reviewer, now_ms=now_ms, **parts)


def _submitted(db: Transaction, submit_key: str, item_id: int, reviewer: str) -> DecisionRow | None:
    row = db.row(sql.SUBMITTED, submit_key=submit_key)
    if row is None:
        return None
    found = _decision(row)
    if (found.item_id, found.reviewer) != (item_id, reviewer):
        raise QueueRefusal(f"Submit key {submit_key!r} was used for another answer; send a new one.")
    return found


def _refuse_answer(item: Item, status: str, answer: Answer) -> None:
    if status in GONE:
        raise QueueRefusal(f"Item {item.id} was {status} and takes no more answers.")
    if item.kind == HALTED and answer["decision"] in _RUNS_AN_ACTION:
        raise QueueRefusal(f"Item {item.id} halted before any action, so there is nothing to {answer['decision']}.")


def _spend_again(db: Transaction, seat: Seat, now_ms: int) -> None:
    if not db.run(sql.TAKE, item_id=seat.item_id):
        raise NotYours
    try:
        spend(db, seat, "late answer", now_ms)
    except BudgetSpent:
        raise NotYours("Your claim has lapsed and the budget is spent meanwhile; the answer was not taken.") from None


def _store(
    db: Transaction, seat: Seat, answer: Answer, claimed_ms: int, now_ms: int, undo_ms: int, reason: str
) -> DecisionRow:
    """Adds the revision, settles the ledger and the item, drops the draft."""
    decision = DecisionKind(answer["decision"])
    if decision is DecisionKind.ESCALATE:
        db.run(sql.ONE_MORE, item_id=seat.item_id)
    cap, used = _budget(db, seat.slot_id)
    row = db.rows(
        sql.DECIDE,
        **{
            "seen_digest": None,
            "door": "browser",
            "reason_codes": "",
            **answer,
            "decision": decision.value,
            "label": _plain(answer["label"]),
        },
        item_id=seat.item_id,
        slot_id=seat.slot_id,
        reviewer=seat.reviewer,
        budget_cap=cap,
        budget_used=used,
        claimed_ms=claimed_ms,
        now_ms=now_ms,
        deliverable_ms=now_ms + undo_ms,
    )[0]
    record(db, seat, "settle", reason, 0, now_ms)
    db.run(sql.STAND, item_id=seat.item_id)
    db.run(sql.DROP_DRAFT, item_id=seat.item_id, reviewer=seat.reviewer)
    return _decision(row)


def _supersede(db: Transaction, current: DecisionRow, withdrawn_ms: int | None) -> None:
    db.run(sql.SUPERSEDE, decision_id=current.id, withdrawn_ms=withdrawn_ms)
    if current.decision == DecisionKind.ESCALATE:
        # The further slot that it opened goes, unless somebody is already at work there.
        db.run(sql.ONE_LESS, item_id=current.item_id)


def _seat_again(db: Transaction, item: Item, slot: Slot, reviewer: str, now_ms: int, lease_ms: int) -> Claim:
    token, until_ms = secrets.token_hex(16), now_ms + lease_ms
    db.run(sql.SEAT_AGAIN, slot_id=slot.id, token=token, until_ms=until_ms)
    db.run(sql.STAND, item_id=item.id)
    seat = Seat(slot.id, item.id, slot.budget_id, reviewer, slot.units, item.kind)
    record(db, seat, "settle", "undo", 0, now_ms)
    return made_claim(db, item, slot.id, token, slot.claimed_ms, until_ms, _budget(db, slot.id))


def _undelivered(db: Transaction, slot_id: int) -> DecisionRow:
    row = db.row(sql.CURRENT, slot_id=slot_id)
    if row is None:
        raise QueueRefusal("That decision was already taken back.")
    current = _decision(row)
    if current.delivered_ms is not None:
        raise AlreadyDelivered
    return current


def _budget(db: Transaction, slot_id: int) -> tuple[int | None, int]:
    cap, used = db.rows(sql.BUDGET_OF_SLOT, slot_id=slot_id)[0]
    return cap, used


def _decision(row: Row) -> DecisionRow:
    values = list(row)
    # SQLite has no booleans, and a raw connection converts nothing.
    values[_SUPERSEDED] = bool(values[_SUPERSEDED])
    return DecisionRow(*values)


def _plain(word: str | None) -> str | None:
    return None if word is None else str(word)
