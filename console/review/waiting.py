"""Agents that wait for a reviewer, and the number of items that the reviewer could be offered, over all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, case, exists
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, func, select

from console.review.access import list_reviewable_runs
from storage import tables
from storage.queue import HALTED
from storage.queue.offers import LiveItem, list_live_items
from storage.queue.transaction import Transaction
from storage.tables import SlotStatus

_MANY = 1_000
_CLAIMED = select(tables.Slot.item_id).where(
    tables.Slot.reviewer == bindparam("reviewer"), tables.Slot.status == SlotStatus.CLAIMED
)


@dataclass(frozen=True, slots=True)
class AgentsWaiting:
    """The agents that wait for this reviewer, and the items that the queue would offer the reviewer.

    `count` agents wait, the first since `since_ms`. `item_id` in `run` has the first deadline, `deadline_ms` (None: no
    deadline). `pending` counts the items of all runs within their budgets, including the items of these agents.
    """

    count: int = 0
    pending: int = 0
    since_ms: int = 0
    item_id: int | None = None
    run: str = ""
    deadline_ms: int | None = None


def get_agents_waiting(session: Session, reviewer: str, now_ms: int, *, without_claimed: bool = False) -> AgentsWaiting:
    """Return the agents that wait for this reviewer; `without_claimed` leaves out the reviewer's own claims."""
    runs = {run.id or 0: run for run in list_reviewable_runs(session, reviewer)}
    live = list_live_items(Transaction.joined(session), list(runs), reviewer, now_ms, _MANY)
    if without_claimed and live:
        claimed = set(session.exec(_CLAIMED, params={"reviewer": reviewer}))
        live = [item for item in live if item.item_id not in claimed]
    pending = count_offered(session, list(runs), reviewer)
    if not live:
        return AgentsWaiting(pending=pending)
    first, since_ms = live[0], min(item.asked_ms for item in live)
    return AgentsWaiting(len(live), pending, since_ms, first.item_id, runs[first.run_id].name, first.deadline_ms)


PRESSING_MS = 5 * 60_000
"""The time in ms before a deadline from which an agent comes before the items of a chosen run."""


def find_pressing_item(
    session: Session, scope: tables.Run, every: Sequence[tables.Run], reviewer: str, now_ms: int
) -> LiveItem | None:
    """Return the most urgent live item if it is outside the run `scope` and its deadline is near, else None.

    A deadline is near within five minutes.
    """
    live = list_live_items(Transaction.joined(session), [run.id or 0 for run in every], reviewer, now_ms, 1)
    first = live[0] if live else None
    if first is None or first.run_id == scope.id or first.deadline_ms is None:
        return None
    return first if first.deadline_ms - now_ms < PRESSING_MS else None


def count_offered(session: Session, run_ids: list[int], reviewer: str | None) -> int:
    """Return the number of pending items of these runs that the queue can offer this reviewer within the budgets.

    Leave out items that the reviewer has claimed or decided and items assigned to others; None stands for any reviewer.
    """
    return measure_offered(session, run_ids, reviewer, with_age=False)[0]


def measure_offered(
    session: Session, run_ids: list[int], reviewer: str | None, *, with_age: bool = True
) -> tuple[int, int | None]:
    """Return the number of items of `count_offered`, and the creation time in ms of the oldest of them, or None."""
    item, slot, budget, run = tables.Item, tables.Slot, tables.Budget, tables.Run
    assigned, place = tables.ItemReviewer, (col(item.run_id), col(item.trial))
    of_others = exists().where(col(assigned.item_id) == item.id, col(assigned.reviewer) != reviewer)
    is_own = (col(slot.reviewer) == reviewer) & col(slot.status).in_((SlotStatus.CLAIMED, SlotStatus.DECIDED))
    taken = exists().where(col(slot.item_id) == item.id, is_own)
    is_free = col(run.halted_free) & (col(item.kind) == HALTED)
    own = () if reviewer is None else (~of_others, ~taken)
    left_for_reviewer, made = (col(item.open_slots) > 0, *own), col(item.created_ms)
    free_count, oldest = func.count(case((is_free, 1))), (func.min(made), func.min(case((is_free, made))))
    pending = (
        sa_select(*place, func.count(), free_count, *oldest)
        .join(run, col(run.id) == item.run_id)
        .where(col(item.run_id).in_(run_ids), *left_for_reviewer)
        .group_by(*place)
    )
    limits = select(budget.run_id, budget.trial, budget.cap, budget.used).where(
        col(budget.run_id).in_(run_ids), budget.scope == ""
    )
    left = {(run, trial): None if cap is None else max(0, cap - used) for run, trial, cap, used in session.exec(limits)}
    found = 0
    since: list[int | None] = []
    for run_id, trial, count, free, first_ms, first_free_ms in session.execute(pending):
        limit = left.get((run_id, trial))
        if limit is None or count - free <= limit:
            found, since = found + count, [*since, first_ms]
            continue
        found, since = found + free + limit, [*since, first_free_ms]
        if with_age:
            paid = select(made).join(run, col(run.id) == item.run_id).where(item.run_id == run_id, item.trial == trial)
            paid = paid.where(*left_for_reviewer, ~is_free).order_by(col(item.priority).desc(), col(item.id))
            since.append(session.scalar(select(func.min(paid.limit(limit).subquery().c.created_ms))))
    return found, min((at_ms for at_ms in since if at_ms is not None), default=None)
