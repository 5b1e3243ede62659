"""Claims: the next item of one run, the most urgent item of several runs, or a chosen item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlmodel import Session, col, select

from console.errors import Unknown
from console.review.access import OTHER_ITEM, refuse_stranger
from console.runs import run_options
from storage import tables
from storage.queue import Claim, NoClaim, NoClaimReason, Queue
from storage.tables import UNREVIEWED, SlotStatus

_ROUNDS = 20
"""The number of attempts to claim an item if other reviewers claim each offered item first."""


def claim_next_item(
    queue: Queue, session: Session, run: tables.Run, reviewer: str, now_ms: int, *, settles: bool = True
) -> Claim | NoClaim:
    """Claim the next item of the run, the earliest trial first; return NoClaim with the reason if the claim fails.

    Items that the reviewer skipped come last, after the items of later trials. Raise Refused without access to the run.
    """
    return claim_most_urgent(queue, session, [run], reviewer, now_ms, settles=settles)


def claim_most_urgent(
    queue: Queue, session: Session, runs: Sequence[tables.Run], reviewer: str, now_ms: int, *, settles: bool = True
) -> Claim | NoClaim:
    """Claim the most urgent item of the runs: live items by deadline, the reviewer's claims, then priority.

    Return NoClaim with the reason if the claim fails. Raise Refused without access to one of the runs.
    """
    refuse_stranger(session, runs, reviewer)
    by_id = {run.id or 0: run for run in runs if not _stops_here(session, run, reviewer, now_ms)}
    if runs and not by_id:
        return NoClaim(NoClaimReason.BEYOND_CAPACITY, 0)
    for _round in range(_ROUNDS):
        offers = queue.list_offers(run_ids=list(by_id), reviewer=reviewer, now_ms=now_ms)
        for offer in offers:
            found = _claim_in_run(queue, by_id[offer.run_id], offer.trial, reviewer, now_ms, settles, offer.item_id)
            if isinstance(found, Claim):
                return found
        if not offers:
            break
    return _claim_in_order(queue, session, by_id, reviewer, now_ms, settles)


def _claim_in_run(
    queue: Queue, run: tables.Run, trial: int, reviewer: str, now_ms: int, settles: bool, item_id: int | None = None
) -> Claim | NoClaim:
    return queue.claim(
        run_id=run.id or 0,
        trial=trial,
        reviewer=reviewer,
        now_ms=now_ms,
        lease_ms=run.lease_ms,
        item_id=item_id,
        settles=settles,
        halted_free=run.halted_free,
    )


def _claim_in_order(
    queue: Queue, session: Session, runs: Mapping[int, tables.Run], reviewer: str, now_ms: int, settles: bool
) -> Claim | NoClaim:
    """Claim an item that needs no budget, or return the reason why the runs have no item for the reviewer.

    The reason comes from the last run and trial with pending items.
    """
    reason, waiting = NoClaimReason.EMPTY, 0
    for run_id, trial in _list_pending(session, list(runs)):
        found = _claim_in_run(queue, runs[run_id], trial, reviewer, now_ms, settles)
        if isinstance(found, Claim):
            return found
        waiting += found.waiting
        if found.reason != NoClaimReason.EMPTY:
            reason = found.reason
    return NoClaim(reason, waiting)


def claim_item(
    queue: Queue, session: Session, run: tables.Run, item_id: int, reviewer: str, now_ms: int, *, settles: bool = True
) -> Claim | NoClaim:
    """Claim this item; return NoClaim with the reason if the claim fails.

    Raise Unknown if the item is not in the run, and Refused without access to the run.
    """
    item = session.get(tables.Item, item_id)
    if item is None or item.run_id != run.id:
        raise Unknown("review item", item_id, advice=OTHER_ITEM)
    refuse_stranger(session, [run], reviewer)
    if _stops_here(session, run, reviewer, now_ms):
        return NoClaim(NoClaimReason.BEYOND_CAPACITY, 0)
    return _claim_in_run(queue, run, item.trial, reviewer, now_ms, settles, item_id)


def _stops_here(session: Session, run: tables.Run, reviewer: str, now_ms: int) -> bool:
    """Return whether the run stops at the reviewer's capacity, the capacity is spent, and no item of it is claimed."""
    if not run_options(run).stops_at_capacity:
        return False
    from console.review.capacity import is_beyond_capacity  # numpy and scipy, which few claims need

    slot, item = tables.Slot, tables.Item
    held = select(slot.id).join(item, col(item.id) == slot.item_id).where(item.run_id == run.id)
    held = held.where(slot.reviewer == reviewer, slot.status == SlotStatus.CLAIMED, col(slot.lease_until_ms) > now_ms)
    return session.exec(held).first() is None and is_beyond_capacity(session, run, reviewer, now_ms)


def list_pending_trials(session: Session, run: tables.Run) -> list[int]:
    """List the trials of a run that have a pending or claimed item, in order."""
    return [trial for _run_id, trial in _list_pending(session, [run.id or 0])]


def _list_pending(session: Session, run_ids: Sequence[int]) -> list[tuple[int, int]]:
    """List the run and the trial of all pending or claimed items, each pair once, in order."""
    item = tables.Item
    statement = (
        select(item.run_id, item.trial)
        .where(col(item.run_id).in_(run_ids), col(item.status).in_(UNREVIEWED))
        .distinct()
        .order_by(col(item.run_id), col(item.trial))
    )
    return list(session.exec(statement))
