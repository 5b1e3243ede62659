"""Agents that wait for a reviewer, and the number of items that the reviewer could be offered, over all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.review.access import list_reviewable_runs
from console.review.pending_items import MOST_COUNTED
from storage import tables
from storage.queue.offers import LiveItem, count_open, list_live_items
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
    pending = measure_offered(session, list(runs), reviewer)[0]
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


def measure_offered(session: Session, run_ids: list[int], reviewer: str | None) -> tuple[int, int | None]:
    """Return the number of pending items within the budgets for the reviewer, and the oldest one's time in ms or None.

    Leave out items that the reviewer has claimed or decided and items assigned to others; None stands for any reviewer.
    Of a trial without a limit, count at most MOST_COUNTED items.
    """
    budget, run = tables.Budget, tables.Run
    limits = (
        sa_select(*map(col, (budget.run_id, budget.trial, budget.cap, budget.used)), col(run.halted_free))
        .join(run, col(run.id) == budget.run_id)
        .where(col(budget.run_id).in_(run_ids), col(budget.scope) == "")
    )
    parts = []
    for run_id, trial, cap, used, halted_free in session.execute(limits):
        left = MOST_COUNTED if cap is None else min(max(0, cap - used), MOST_COUNTED)
        free = " AND i.kind = 'halted'" if halted_free and cap is not None else ""
        parts += [(run_id, trial, free, MOST_COUNTED)] if free else []
        parts.append((run_id, trial, free.replace("=", "<>"), left))
    return count_open(Transaction.joined(session), parts, reviewer)
