"""The review queue. Each method is one transaction of its own, on a raw pooled connection.

Claims commit with synchronous=NORMAL (a power cut may undo the last claims and their units), decisions with FULL. Every
method takes the time in ms since 1970, waits only for the database's lock, and raises the errors in `storage.errors`.
"""

from collections.abc import Sequence
from typing import Unpack

from storage.engine import Durability, engine
from storage.errors import BudgetSpent, NotYours, QueueRefusal
from storage.queue import answering, claims
from storage.queue import statements as sql
from storage.queue.claims import ClaimRequest, claim, explain_no_claim
from storage.queue.transaction import Transaction
from storage.queue.values import HALTED as HALTED
from storage.queue.values import BudgetState as BudgetState
from storage.queue.values import Claim as Claim
from storage.queue.values import DecisionRow as DecisionRow
from storage.queue.values import KeptDraft as KeptDraft
from storage.queue.values import NewDecision as NewDecision
from storage.queue.values import NewItem as NewItem
from storage.queue.values import NoClaim as NoClaim
from storage.queue.values import NoClaimReason as NoClaimReason
from storage.tables import ItemStatus, SlotStatus


class Queue:
    """The review queue of one database."""

    def __init__(self, url: str) -> None:
        self.url = url

    def put(self, items: Sequence[NewItem]) -> int:
        """Add items in one transaction and return how many were added; skip items that exist already.

        An item that was cancelled before any review becomes pending again.
        """
        with self._durable() as db:
            return db.run_many(sql.PUT, [vars(item) for item in items]) if items else 0

    def open_budget(self, *, run_id: int, trial: int, cap: int | None, scope: str = "") -> int:
        """Open a budget or change its cap, and return its id; raise QueueRefusal if usage exceeds the new cap."""
        with self._durable() as db:
            row = db.row(sql.OPEN_BUDGET, run_id=run_id, trial=trial, scope=scope, cap=cap)
            if row is not None:
                opened: int = row[0]
                return opened
            used = db.rows(sql.BUDGET, run_id=run_id, trial=trial, scope=scope)[0][2]
        raise QueueRefusal(f"{used} inspections of trial {trial} are already used; a cap of {cap} is too low.")

    def budget(self, *, run_id: int, trial: int, scope: str = "") -> BudgetState | None:
        """Return the state of the budget, or None if it was never opened."""
        with self._reading() as db:
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
        """Claim the next item in this reviewer's order for `lease_ms`, at one unit; renew and return a live claim.

        If `settles` is true, the reviewer's earlier decisions in the run become deliverable. Raise NoSuchItem if the
        item does not exist, or QueueRefusal if no budget is open or the item belongs to another trial.
        """
        request = ClaimRequest(run_id, trial, reviewer, now_ms, lease_ms, settles, item_id, scope, halted_free)
        try:
            with self._quick() as db:
                return claim(db, request)
        except BudgetSpent:
            # Another server took the last unit in the meantime; this claim was rolled back.
            with self._quick() as db:
                return explain_no_claim(db, request, NoClaimReason.BUDGET_SPENT)

    def extend(self, *, item_id: int, reviewer: str, token: str, now_ms: int, lease_ms: int) -> int:
        """Renew a live claim and return the new end of its lease (ms); raise NotYours if the claim is not live."""
        until_ms = now_ms + lease_ms
        values = {"item_id": item_id, "reviewer": reviewer, "token": token, "now_ms": now_ms, "until_ms": until_ms}
        with self._quick() as db:
            if not db.run(sql.EXTEND, **values):
                raise NotYours
        return until_ms

    def release(self, *, item_id: int, reviewer: str, token: str, now_ms: int) -> None:
        """Release the claim and refund its unit; raise NotYours if the reviewer does not have the claim."""
        with self._quick() as db:
            claims.leave_slot(db, item_id, reviewer, token, SlotStatus.RELEASED, now_ms)

    def skip(self, *, item_id: int, reviewer: str, token: str, now_ms: int) -> None:
        """Release the claim, refund its unit and move the item to the end of this reviewer's order.

        Raise NotYours if the reviewer does not have the claim.
        """
        with self._quick() as db:
            claims.leave_slot(db, item_id, reviewer, token, SlotStatus.SKIPPED, now_ms)

    def decide(
        self, *, item_id: int, reviewer: str, token: str, now_ms: int, undo_ms: int, **new: Unpack[NewDecision]
    ) -> DecisionRow:
        """Store the decision on a claimed item; return the first decision if its submit key is sent again.

        An expired claim is accepted if its slot is free and a unit is left. Raise NotYours if the claim is invalid,
        AlreadyDecided if the reviewer has decided, or QueueRefusal if the item cannot be decided.
        """
        with self._durable() as db:
            return answering.decide(
                db, item_id=item_id, reviewer=reviewer, token=token, new=new, now_ms=now_ms, undo_ms=undo_ms
            )

    def undo(self, *, item_id: int, reviewer: str, now_ms: int, lease_ms: int) -> Claim:
        """Undo the reviewer's decision before it is delivered, and return the renewed claim, which keeps its unit."""
        with self._durable() as db:
            return answering.undo(db, item_id=item_id, reviewer=reviewer, now_ms=now_ms, lease_ms=lease_ms)

    def due(self, *, run_id: int, now_ms: int) -> list[int]:
        """Return the ids of the decisions to deliver now, in order."""
        with self._reading() as db:
            return sorted(decision_id for (decision_id,) in db.rows(sql.DUE, run_id=run_id, now_ms=now_ms))

    def mark_delivered(self, *, decision_ids: Sequence[int], now_ms: int) -> int:
        """Mark those decisions that are due as delivered and return their number; leave the others unchanged."""
        with self._durable() as db:
            return answering.deliver(db, sorted(set(decision_ids)), now_ms)

    def cancel(self, *, item_ids: Sequence[int], now_ms: int) -> int:
        """Remove items from the queue, refund their live claims, and return the number of removed items."""
        with self._durable() as db:
            return claims.withdraw_items(db, sorted(set(item_ids)), ItemStatus.CANCELLED, now_ms)

    def expire_overdue(self, *, run_id: int, now_ms: int) -> int:
        """Expire unclaimed items whose deadline has passed or whose agent is dead; return their number."""
        with self._durable() as db:
            return claims.expire_overdue(db, run_id, now_ms)

    def sweep(self, *, now_ms: int) -> int:
        """Free every claim whose lease has expired or ends too late to be valid; return the number of claims."""
        with self._quick() as db:
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
    ) -> None:
        """Store a reviewer's draft, leaving parts that are None unchanged; raise NoSuchItem if the item is missing."""
        parts = {"feedback_text": text, "reason_codes": reason_codes, "edit": edit}
        with self._durable() as db:
            answering.save_draft(db, item_id, reviewer, parts, now_ms)

    def draft(self, *, item_id: int, reviewer: str) -> KeptDraft | None:
        """Return the reviewer's unsubmitted draft, or None if there is none."""
        with self._reading() as db:
            row = db.row(sql.DRAFT, item_id=item_id, reviewer=reviewer)
        return None if row is None else KeptDraft(*row)

    def _quick(self) -> Transaction:
        return Transaction(engine(self.url))

    def _durable(self) -> Transaction:
        return Transaction(engine(self.url, Durability.FULL), is_durable=True)

    def _reading(self) -> Transaction:
        return Transaction(engine(self.url), sqlite_begin="DEFERRED")
