"""Bulk acts on pending items: assign, escalate, release claims, close items whose agents stopped waiting.

Each act returns its changes, so that `undo_bulk` can restore them; refused items are listed with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlmodel import Session

from console.auth import audit_log
from console.database import now_ms, reading, writing
from console.errors import ConsoleError, Refused, Unknown
from console.language import _
from console.review import access, decisions, inbox
from console.review.access import OTHER_ITEM, refuse_stranger
from console.review.decisions import ReviewDecision
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim, NewItem, Queue
from storage.tables import DecisionKind, ItemStatus

ASSIGN, ESCALATE, RELEASE, CLOSE = "assign", "escalate", "release", "close"


@dataclass(slots=True)
class BulkResult:
    """The items that an act changed, each with its previous assignee if any, and the refused items with the reason."""

    act: str
    done: dict[int, str | None] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)


def _act(act: str, items: Sequence[int], change: Callable[[int], str | None]) -> BulkResult:
    result = BulkResult(act)
    for item in items:
        try:
            result.done[item] = change(item)
        except (ConsoleError, StorageError) as refusal:
            result.refused[item] = str(refusal)
    return result


def assign_items(items: Sequence[int], reviewer: str | None, by: str) -> BulkResult:
    """Assign these items to a person, or to every reviewer of the run if `reviewer` is None."""

    def assign(item: int) -> str | None:
        with writing() as session:
            before = access.find_assignee(session, item)
            access.assign_item(session, item, reviewer, by, now_ms())
        return before

    return _act(ASSIGN, items, assign)


def escalate_items(queue: Queue, items: Sequence[int], reviewer: str, roles: Sequence[str], note: str) -> BulkResult:
    """Escalate these items to other reviewers with the same note; each escalation uses one inspection."""

    def escalate(item: int) -> None:
        with reading() as session:
            run = _find_run(session, item, reviewer)
            was_claimed = decisions.is_claimed_by(session, item, reviewer)
            claim = decisions.claim_item(queue, session, run, item, reviewer, now_ms(), settles=False)
        if not isinstance(claim, Claim):
            raise Refused(inbox.explain_unavailable_item(claim))
        try:
            answer = ReviewDecision(DecisionKind.ESCALATE, note=note)
            decisions.submit(queue, run, claim, reviewer, answer, now_ms(), roles=roles)
        except (ConsoleError, StorageError):
            if not was_claimed:
                queue.release(item_id=item, reviewer=reviewer, token=claim.token, now_ms=now_ms())
            raise

    return _act(ESCALATE, items, escalate)


def release_claims(queue: Queue, items: Sequence[int], reviewer: str) -> BulkResult:
    """Return the items that this reviewer has claimed to the queue; their inspections are refunded."""

    def release(item: int) -> None:
        with reading() as session:
            if not decisions.is_claimed_by(session, item, reviewer):
                raise Refused(_("you have not claimed the item. Release only items that you have claimed."))
            claim = decisions.get_claim(session, item, reviewer)
        queue.release(item_id=item, reviewer=reviewer, token=claim.token, now_ms=now_ms())

    return _act(RELEASE, items, release)


def close_items(queue: Queue, items: Sequence[int], reviewer: str) -> BulkResult:
    """Close items whose agents stopped waiting; no action runs."""

    def close(item: int) -> None:
        with reading() as session:
            run = _find_run(session, item, reviewer)
            waiter = inbox.list_waiting_agents(session, [item]).get(item)
        if waiter is None or not waiter.is_gone(now_ms()):
            raise Refused(_("the agent of this item still waits, or no agent requested this review. Decide the item."))
        if not queue.cancel(item_ids=[item], now_ms=now_ms()):
            raise Refused(_("the item has already left the queue. Reload the list."))
        _record(run, "item closed", item)

    return _act(CLOSE, items, close)


def undo_bulk(queue: Queue, result: BulkResult, reviewer: str) -> BulkResult:
    """Undo the act on each of its items; an escalation can be undone until another reviewer claims the item."""

    def undo(item: int) -> None:
        if result.act == ASSIGN:
            with writing() as session:
                access.assign_item(session, item, result.done[item], reviewer, now_ms())
        elif result.act == CLOSE:
            _reopen(queue, item, reviewer)
        else:
            with reading() as session:
                run = _find_run(session, item, reviewer)
            if result.act == ESCALATE:
                claim = queue.undo(item_id=item, reviewer=reviewer, now_ms=now_ms(), lease_ms=run.lease_ms)
                queue.release(item_id=item, reviewer=reviewer, token=claim.token, now_ms=now_ms())
                return
            with reading() as session:
                found = decisions.claim_item(queue, session, run, item, reviewer, now_ms(), settles=False)
            if not isinstance(found, Claim):
                raise Refused(inbox.explain_unavailable_item(found))

    return _act(result.act, list(result.done), undo)


def _reopen(queue: Queue, item_id: int, reviewer: str) -> None:
    with reading() as session:
        run, item = _find_run(session, item_id, reviewer), session.get_one(tables.Item, item_id)
        if item.status != ItemStatus.CANCELLED:
            raise Refused(_("the item is not closed, so it cannot be reopened. Reload the page."))
    fields = ("run_id", "trial", "trajectory_id", "step", "kind", "priority", "verdict_id", "created_ms")
    kept = {name: getattr(item, name) for name in fields}
    if not queue.put([NewItem(**kept, reviews_required=item.reviews_required)]):
        raise Refused(_("the item cannot be reopened, because it has a claim or a decision. Reload the page."))
    _record(run, "item reopened", item_id)


def _record(run: tables.Run, kind: str, item: int) -> None:
    with writing() as session:
        audit_log.record(session, run, kind, now_ms(), subject=f"item {item}")


def _find_run(session: Session, item_id: int, reviewer: str) -> tables.Run:
    """Return the run of the item; raise Unknown or Refused if this reviewer may not review it here."""
    item = session.get(tables.Item, item_id)
    run = session.get_one(tables.Run, item.run_id) if item else None
    if run is None or run.study_id is not None:
        raise Unknown("review item", item_id, advice=OTHER_ITEM)
    refuse_stranger(session, [run], reviewer)
    return run
