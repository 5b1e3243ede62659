"""The review queue. It owns its transactions: each method is one, on a raw pooled connection.

Claims commit with synchronous=NORMAL (a power cut may undo the last ones, with their units), answers with FULL.
Every method takes the time in ms since 1970 and waits for the database's lock alone; its refusals: `storage.errors`.
"""

from collections.abc import Sequence
from typing import Unpack

from storage.engine import Durability, engine
from storage.errors import BudgetSpent, NotYours, QueueRefusal
from storage.queue import answering, claims
from storage.queue import statements as sql
from storage.queue.claims import Wish, claim, nothing
from storage.queue.transaction import Transaction
from storage.queue.values import HALTED as HALTED
from storage.queue.values import Answer as Answer
from storage.queue.values import BudgetState as BudgetState
from storage.queue.values import Claim as Claim
from storage.queue.values import DecisionRow as DecisionRow
from storage.queue.values import KeptDraft as KeptDraft
from storage.queue.values import NewItem as NewItem
from storage.queue.values import NoClaim as NoClaim
from storage.queue.values import NoClaimReason as NoClaimReason
from storage.queue.values import Waiting as Waiting
from storage.tables import ItemStatus, SlotStatus


class Queue:
    """The review queue of one database."""

    def __init__(self, url: str) -> None:
        self.url = url

    def put(self, items: Sequence[NewItem]) -> int:
        """Adds items in one transaction and returns how many; one that was cancelled unreviewed waits again.

        Those that are there already are left as they are.
        """
        with self._durable() as db:
            return db.run_many(sql.PUT, [vars(item) for item in items]) if items else 0

    def open_budget(self, *, run_id: int, trial: int, cap: int | None, scope: str = "") -> int:
        """Opens a budget or changes its cap and returns its id; raises QueueRefusal for a cap under what is used."""
        with self._durable() as db:
            row = db.row(sql.OPEN_BUDGET, run_id=run_id, trial=trial, scope=scope, cap=cap)
            if row is not None:
                opened: int = row[0]
                return opened
            used = db.rows(sql.BUDGET, run_id=run_id, trial=trial, scope=scope)[0][2]
        raise QueueRefusal(f"{used} inspections of trial {trial} are already used; a cap of {cap} is too low.")

    def budget(self, *, run_id: int, trial: int, scope: str = "") -> BudgetState | None:
        """How the budget stands, None where it was never opened."""
        with self._reading() as db:
            row = db.row(sql.BUDGET, run_id=run_id, trial=trial, scope=scope)
        if row is None:
            return None
        _, cap, used, halted = row
        return BudgetState(cap, used, halted, None if cap is None else cap - used)

    def waiting(self, *, run_id: int, trial: int) -> Waiting:
        """How many items have a free review slot, and when the oldest of them came in."""
        with self._reading() as db:
            return Waiting(*db.rows(sql.WAITING, run_id=run_id, trial=trial)[0])

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
        """The next item of this reviewer's order for `lease_ms`, at one unit; the claim they already hold comes again.

        With `settles` the reviewer's earlier answers of the run become deliverable. Raises NoSuchItem and QueueRefusal.
        """
        wish = Wish(run_id, trial, reviewer, now_ms, lease_ms, settles, item_id, scope, halted_free)
        try:
            with self._quick() as db:
                return claim(db, wish)
        except BudgetSpent:
            # Another server took the last unit in between; this claim was rolled back.
            with self._quick() as db:
                return nothing(db, wish, NoClaimReason.BUDGET_SPENT)

    def extend(self, *, item_id: int, reviewer: str, token: str, now_ms: int, lease_ms: int) -> int:
        """Renews a live claim and returns when its lease ends now (ms); raises NotYours."""
        until_ms = now_ms + lease_ms
        values = {"item_id": item_id, "reviewer": reviewer, "token": token, "now_ms": now_ms, "until_ms": until_ms}
        with self._quick() as db:
            if not db.run(sql.EXTEND, **values):
                raise NotYours
        return until_ms

    def release(self, *, item_id: int, reviewer: str, token: str, now_ms: int) -> None:
        """Gives the item and its unit back; raises NotYours."""
        with self._quick() as db:
            claims.leave(db, item_id, reviewer, token, SlotStatus.RELEASED, now_ms)

    def skip(self, *, item_id: int, reviewer: str, token: str, now_ms: int) -> None:
        """Gives the item and its unit back; it comes last in this reviewer's order; raises NotYours."""
        with self._quick() as db:
            claims.leave(db, item_id, reviewer, token, SlotStatus.SKIPPED, now_ms)

    def decide(
        self, *, item_id: int, reviewer: str, token: str, now_ms: int, undo_ms: int, **answer: Unpack[Answer]
    ) -> DecisionRow:
        """Stores the answer to a claimed item; sent again with its submit key, the first answer comes back.

        A lapsed claim counts while its place is free and a unit is left. Raises NotYours, AlreadyDecided, QueueRefusal.
        """
        with self._durable() as db:
            return answering.decide(
                db, item_id=item_id, reviewer=reviewer, token=token, answer=answer, now_ms=now_ms, undo_ms=undo_ms
            )

    def revise(
        self, *, decision_id: int, reviewer: str, now_ms: int, undo_ms: int, **answer: Unpack[Answer]
    ) -> DecisionRow:
        """A new revision of one's own decision before it is delivered, at no unit; raises AlreadyDelivered."""
        with self._durable() as db:
            return answering.revise(
                db, decision_id=decision_id, reviewer=reviewer, answer=answer, now_ms=now_ms, undo_ms=undo_ms
            )

    def undo(self, *, item_id: int, reviewer: str, now_ms: int, lease_ms: int) -> Claim:
        """Takes one's decision back before it is delivered: the claim lives again, its unit is kept."""
        with self._durable() as db:
            return answering.undo(db, item_id=item_id, reviewer=reviewer, now_ms=now_ms, lease_ms=lease_ms)

    def due(self, *, run_id: int, now_ms: int) -> list[int]:
        """Ids of the decisions to deliver now, in order."""
        with self._reading() as db:
            return sorted(decision_id for (decision_id,) in db.rows(sql.DUE, run_id=run_id, now_ms=now_ms))

    def mark_delivered(self, *, decision_ids: Sequence[int], now_ms: int) -> int:
        """Marks decisions that are due as delivered and returns how many were so just now; the others stay."""
        with self._durable() as db:
            return answering.deliver(db, sorted(set(decision_ids)), now_ms)

    def cancel(self, *, item_ids: Sequence[int], now_ms: int) -> int:
        """Takes items that nobody need review out of the queue, live claims refunded; returns how many left."""
        with self._durable() as db:
            return claims.withdraw_items(db, sorted(set(item_ids)), ItemStatus.CANCELLED, now_ms)

    def expire_overdue(self, *, run_id: int, now_ms: int) -> int:
        """Expires items whose deadline is over or whose agent is dead, unless somebody holds them; returns how many."""
        with self._durable() as db:
            return claims.expire_overdue(db, run_id, now_ms)

    def sweep(self, *, now_ms: int) -> int:
        """Frees every claim whose lease has run out, or runs longer than any can, and returns how many."""
        with self._quick() as db:
            return claims.sweep(db, now_ms) + claims.free_leased_too_long(db, now_ms)

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
        """Keeps what a reviewer has typed so far, a part that is None as it was; raises NoSuchItem."""
        parts = {"feedback_text": text, "reason_codes": reason_codes, "edit": edit}
        with self._durable() as db:
            answering.save_draft(db, item_id, reviewer, parts, now_ms)

    def draft(self, *, item_id: int, reviewer: str) -> KeptDraft | None:
        """What the reviewer has typed and not yet submitted."""
        with self._reading() as db:
            row = db.row(sql.DRAFT, item_id=item_id, reviewer=reviewer)
        return None if row is None else KeptDraft(*row)

    def _quick(self) -> Transaction:
        return Transaction(engine(self.url))

    def _durable(self) -> Transaction:
        return Transaction(engine(self.url, Durability.FULL), is_answer=True)

    def _reading(self) -> Transaction:
        return Transaction(engine(self.url), sqlite_begin="DEFERRED")
