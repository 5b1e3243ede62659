"""The review queue. Each method runs one transaction of its own on a raw pooled connection.

Claims commit with synchronous=NORMAL (a power cut may undo the last claims and their units), decisions with FULL. All
times are in ms since 1970. A method waits only for the database's lock and raises the errors in `storage.errors`.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Unpack

from storage.engine import Durability
from storage.errors import AlreadyDecided, AlreadyDelivered, BudgetSpent, NotYours, QueueRefusal
from storage.queue import claims
from storage.queue import statements as sql
from storage.queue.claims import (
    GONE,
    ClaimRequest,
    ItemRow,
    SlotRow,
    TakenSlot,
    build_claim,
    claim,
    explain_no_claim,
    find_own_slot,
    lock_item,
    record_ledger,
    spend_unit,
)
from storage.queue.offers import UNTIL_NOTHING_ELSE_MS, list_offers
from storage.queue.offers import Offer as Offer
from storage.queue.transaction import Row, Transaction
from storage.queue.values import HALTED as HALTED
from storage.queue.values import BudgetState as BudgetState
from storage.queue.values import Claim as Claim
from storage.queue.values import DecisionRow as DecisionRow
from storage.queue.values import KeptDraft as KeptDraft
from storage.queue.values import NewDecision as NewDecision
from storage.queue.values import NewItem as NewItem
from storage.queue.values import NoClaim as NoClaim
from storage.queue.values import NoClaimReason as NoClaimReason
from storage.tables import DecisionKind, ItemStatus, SlotStatus

_SUPERSEDED = [field.name for field in fields(DecisionRow)].index("superseded")
RUNS_AN_ACTION = (DecisionKind.APPROVE, DecisionKind.EDIT)


@dataclass(frozen=True, slots=True)
class Queue:
    """The review queue of one database."""

    url: str

    def put(self, items: Sequence[NewItem]) -> int:
        """Add items in one transaction and return the number of added items; skip items that exist already.

        An item cancelled before any review becomes pending again.
        """
        with Transaction(self.url, Durability.FULL) as db:
            return db.run_many(sql.PUT, [vars(item) for item in items]) if items else 0

    def open_budget(self, *, run_id: int, trial: int, cap: int | None, scope: str = "") -> int:
        """Open a budget or change its cap, and return its id; raise QueueRefusal if usage exceeds the new cap."""
        with Transaction(self.url, Durability.FULL) as db:
            row = db.row(sql.OPEN_BUDGET, run_id=run_id, trial=trial, scope=scope, cap=cap)
            if row is not None:
                opened: int = row[0]
                return opened
            used = db.rows(sql.BUDGET, run_id=run_id, trial=trial, scope=scope)[0][2]
        raise QueueRefusal(
            f"The budget of trial {trial} cannot be {cap}, because {used} inspections are used. Use at least {used}."
        )

    def open_budgets(self, run_id: int, trials: Sequence[int], cap: int | None, *, again: bool = False) -> None:
        """Open the budget of each trial with this cap; change the cap of an open budget only if `again` is true."""
        for trial in trials:
            if again or self.budget(run_id=run_id, trial=trial) is None:
                self.open_budget(run_id=run_id, trial=trial, cap=cap)

    def budget(self, *, run_id: int, trial: int, scope: str = "") -> BudgetState | None:
        """Return the state of the budget, or None if the budget does not exist."""
        with Transaction(self.url, sqlite_begin="DEFERRED") as db:
            row = db.row(sql.BUDGET, run_id=run_id, trial=trial, scope=scope)
        if row is None:
            return None
        _, cap, used, halted = row
        return BudgetState(cap, used, halted, None if cap is None else cap - used)

    def claim(
        self,
        *,
        run_id: int,
        trial: int,
        reviewer: str,
        now_ms: int,
        lease_ms: int,
        settles: bool = True,
        item_id: int | None = None,
        scope: str = "",
        halted_free: bool = False,
    ) -> Claim | NoClaim:
        """Claim the next item in this reviewer's order for `lease_ms`, at the cost of one unit. If the reviewer already
        has a live claim, renew and return that claim.

        If `settles` is true, the reviewer's earlier decisions in the run become deliverable. Raise NoSuchItem if the
        item does not exist, or QueueRefusal if no budget is open or the item belongs to another trial.
        """
        request = ClaimRequest(run_id, trial, reviewer, now_ms, lease_ms, settles, item_id, scope, halted_free)
        try:
            with Transaction(self.url) as db:
                return claim(db, request)
        except BudgetSpent:
            # Another server took the last unit in the meantime; this claim was rolled back.
            with Transaction(self.url) as db:
                return explain_no_claim(db, request, NoClaimReason.BUDGET_SPENT)

    def extend(self, *, item_id: int, reviewer: str, token: str, now_ms: int, lease_ms: int) -> int:
        """Renew a live claim and return the new end of its lease (ms); raise NotYours if the claim is not live."""
        until_ms = now_ms + lease_ms
        values = {"item_id": item_id, "reviewer": reviewer, "token": token, "now_ms": now_ms, "until_ms": until_ms}
        with Transaction(self.url) as db:
            if not db.run(sql.EXTEND, **values):
                raise NotYours
        return until_ms

    def release(self, *, item_id: int, reviewer: str, token: str, now_ms: int) -> None:
        """Release the claim and refund its unit; raise NotYours if the reviewer does not have the claim."""
        with Transaction(self.url) as db:
            claims.leave_slot(db, item_id, reviewer, token, SlotStatus.RELEASED, now_ms)

    def skip(self, *, item_id: int, reviewer: str, token: str, now_ms: int, until_ms: int | None = None) -> None:
        """Release the claim, refund its unit, and offer the item to this reviewer only if no other item is left.

        From `until_ms` (since 1970) on, if given, offer the item in the normal order again. Raise NotYours if the
        reviewer does not have the claim.
        """
        until_ms = now_ms + UNTIL_NOTHING_ELSE_MS if until_ms is None else until_ms
        with Transaction(self.url) as db:
            claims.leave_slot(db, item_id, reviewer, token, SlotStatus.SKIPPED, now_ms, until_ms)

    def list_offers(self, *, run_ids: Sequence[int], reviewer: str, now_ms: int) -> list[Offer]:
        """Return the next items of these runs for the reviewer, ordered by urgency, without claiming them."""
        with Transaction(self.url, sqlite_begin="DEFERRED") as db:
            return list_offers(db, run_ids, reviewer, now_ms)

    def decide(
        self, *, item_id: int, reviewer: str, token: str, now_ms: int, undo_ms: int, **new: Unpack[NewDecision]
    ) -> DecisionRow:
        """Store the decision on a claimed item; return the first decision if its submit key is sent again.

        Accept an expired claim if its slot is free and a unit is left. Raise NotYours if the claim is invalid,
        AlreadyDecided if the reviewer has decided, or QueueRefusal if the item cannot be decided.
        """
        with Transaction(self.url, Durability.FULL) as db:
            item, status, _ = lock_item(db, item_id)
            earlier = _find_submitted(db, new["submit_key"], item_id, reviewer)
            if earlier is not None:
                return earlier
            if status in GONE:
                raise QueueRefusal("Item {item} expired or was withdrawn. Open your next item.", item=item_id)
            if item.kind == HALTED and new["decision"] in RUNS_AN_ACTION:
                raise QueueRefusal(
                    f"Item {item_id} halted before any action, so there is nothing to {new['decision']}. Use respond "
                    "instead."
                )
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

    def undo(self, *, item_id: int, reviewer: str, now_ms: int, lease_ms: int) -> Claim:
        """Turn the reviewer's undelivered decision back into a draft; return the renewed claim, which keeps its unit.

        Raise AlreadyDelivered if the agent has the decision, or QueueRefusal if the reviewer has no decision to undo.
        """
        with Transaction(self.url, Durability.FULL) as db:
            item, status, _ = lock_item(db, item_id)
            slot = find_own_slot(db, item_id, reviewer)
            if slot is None or slot.status != SlotStatus.DECIDED:
                raise QueueRefusal("You have no decision on item {item} to undo. Reload the page.", item=item_id)
            if status in GONE:
                raise QueueRefusal("Item {item} expired or was withdrawn. Its decision is final.", item=item_id)
            row = db.row(sql.CURRENT, slot_id=slot.id)
            if row is None:
                raise QueueRefusal("That decision was already undone. Reload the page.")
            current = _decision_row(row)
            if current.delivered_ms is not None:
                raise AlreadyDelivered
            db.run(sql.SUPERSEDE, decision_id=current.id, withdrawn_ms=now_ms)
            if current.decision == DecisionKind.ESCALATE:
                # Remove the slot that the escalation added, unless another reviewer has claimed it.
                db.run(sql.REMOVE_SLOT, item_id=item_id)
            kept = ("feedback_text", "reason_codes", "marked_steps", "answers")
            draft = {name: getattr(current, name) for name in kept} | {"edit": None}
            db.run(sql.SAVE_DRAFT, item_id=item_id, reviewer=reviewer, now_ms=now_ms, **draft)
            return _claim_again(db, item, slot, reviewer, now_ms, lease_ms)

    def due(self, *, run_id: int, now_ms: int) -> list[int]:
        """Return the ids of the decisions that are due for delivery at `now_ms`, in ascending order."""
        with Transaction(self.url, sqlite_begin="DEFERRED") as db:
            return sorted(decision_id for (decision_id,) in db.rows(sql.DUE, run_id=run_id, now_ms=now_ms))

    def mark_delivered(self, *, decision_ids: Sequence[int], now_ms: int) -> int:
        """Mark the due decisions among these as delivered and return their number; leave other decisions unchanged."""
        with Transaction(self.url, Durability.FULL) as db:
            return deliver(db, sorted(set(decision_ids)), now_ms)

    def cancel(self, *, item_ids: Sequence[int], now_ms: int) -> int:
        """Remove items from the queue, refund their live claims, and return the number of removed items."""
        with Transaction(self.url, Durability.FULL) as db:
            return claims.withdraw_items(db, sorted(set(item_ids)), ItemStatus.CANCELLED, now_ms)

    def expire_overdue(self, *, run_id: int, now_ms: int) -> int:
        """Expire unclaimed items with a passed deadline or a crashed agent; return the number of expired items."""
        with Transaction(self.url, Durability.FULL) as db:
            return claims.expire_overdue(db, run_id, now_ms)

    def sweep(self, *, now_ms: int) -> int:
        """Free every claim whose lease has expired or ends too far in the future; return the number of claims."""
        with Transaction(self.url) as db:
            return claims.free_expired_claims(db, now_ms) + claims.free_far_claims(db, now_ms)

    def save_draft(
        self,
        *,
        item_id: int,
        reviewer: str,
        now_ms: int,
        text: str | None = None,
        reason_codes: str | None = None,
        edit: str | None = None,
        marked_steps: str | None = None,
        answers: str | None = None,
    ) -> None:
        """Store a reviewer's draft; leave parts that are None unchanged, and ignore a draft after its decision.

        Raise NoSuchItem if the item is missing.
        """
        parts = {"feedback_text": text, "reason_codes": reason_codes, "edit": edit}
        parts |= {"marked_steps": marked_steps, "answers": answers}
        with Transaction(self.url, Durability.FULL) as db:
            lock_item(db, item_id)
            slot = find_own_slot(db, item_id, reviewer)
            if slot is None or slot.status != SlotStatus.DECIDED:
                db.run(sql.SAVE_DRAFT, item_id=item_id, reviewer=reviewer, now_ms=now_ms, **parts)

    def draft(self, *, item_id: int, reviewer: str) -> KeptDraft | None:
        """Return the reviewer's unsubmitted draft, or None if the reviewer has no draft of this item."""
        with Transaction(self.url, sqlite_begin="DEFERRED") as db:
            row = db.row(sql.DRAFT, item_id=item_id, reviewer=reviewer)
        return None if row is None else KeptDraft(*row)


def deliver(db: Transaction, decision_ids: list[int], now_ms: int) -> int:
    """Mark due decisions as delivered, then items without undelivered decisions; return the number of decisions."""
    rows = [row for decision_id in decision_ids for row in db.rows(sql.ITEM_OF_DECISION, decision_id=decision_id)]
    items = sorted({item_id for (item_id,) in rows})
    for item_id in items:
        lock_item(db, item_id)
    delivered = [db.row(sql.DELIVER, decision_id=decision_id, now_ms=now_ms) for decision_id in decision_ids]
    for item_id in items:
        db.run(sql.FINISH, item_id=item_id)
    return sum(row is not None for row in delivered)


def _find_submitted(db: Transaction, submit_key: str, item_id: int, reviewer: str) -> DecisionRow | None:
    row = db.row(sql.SUBMITTED, submit_key=submit_key)
    if row is None:
        return None
    decision = _decision_row(row)
    if (decision.item_id, decision.reviewer) != (item_id, reviewer):
        raise QueueRefusal(f"Submit key {submit_key!r} was used for another decision. Send a new key.")
    return decision


def _take_slot_again(db: Transaction, taken: TakenSlot, now_ms: int) -> None:
    if not db.run(sql.TAKE_SLOT, item_id=taken.item_id):
        raise NotYours
    try:
        spend_unit(db, taken, "late answer", now_ms)
    except BudgetSpent:
        raise NotYours(
            "Your claim expired and the budget is spent, so your decision was not stored. Ask for a higher budget."
        ) from None


def _store(
    db: Transaction, taken: TakenSlot, new: NewDecision, claimed_ms: int, now_ms: int, undo_ms: int
) -> DecisionRow:
    """Add the revision, record the decision in the ledger, update the item and delete the draft."""
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
            "marked_steps": None,
            "answers": None,
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
