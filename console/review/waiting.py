"""Agents that wait for a reviewer, the number of items on offer, and the reviewer's own progress, over all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import median

from sqlalchemy import bindparam
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.review.access import list_reviewable_runs
from console.review.pending_items import MOST_COUNTED
from console.runs import is_current
from console.runs.status import read_counts
from storage import tables
from storage.queue.offers import LiveItem, count_open, list_live_items
from storage.queue.transaction import Transaction
from storage.tables import DecisionKind, SlotStatus

_MANY = 1_000
_CLAIMED = select(tables.Slot.item_id).where(
    tables.Slot.reviewer == bindparam("reviewer"), tables.Slot.status == SlotStatus.CLAIMED
)


@dataclass(frozen=True, slots=True)
class AgentsWaiting:
    """The agents that wait for this reviewer, and the items that the queue would offer the reviewer.

    `count` agents wait. `item_id` in `run` has the first deadline, `deadline_ms` (None: no deadline), and waits since
    `since_ms`. `pending` counts the items of all runs within their budgets, including the items of these agents. If
    `are_more`, another agent's item, which is not counted, is claimed by the reviewer.
    """

    count: int = 0
    pending: int = 0
    since_ms: int = 0
    item_id: int | None = None
    run: str = ""
    deadline_ms: int | None = None
    are_more: bool = False


def get_agents_waiting(session: Session, reviewer: str, now_ms: int, *, without_claimed: bool = False) -> AgentsWaiting:
    """Return the agents that wait for this reviewer; `without_claimed` leaves out the reviewer's own claims."""
    runs = {run.id or 0: run for run in list_reviewable_runs(session, reviewer, offering=True)}
    live = list_live_items(Transaction.joined(session), list(runs), reviewer, now_ms, _MANY)
    all_live = len(live)
    if without_claimed and live:
        claimed = set(session.exec(_CLAIMED, params={"reviewer": reviewer}))
        live = [item for item in live if item.item_id not in claimed]
    pending = measure_offered(session, list(runs), reviewer)[0]
    if not live:
        return AgentsWaiting(pending=pending)
    first, run = live[0], runs[live[0].run_id].name
    return AgentsWaiting(
        len(live), pending, first.asked_ms, first.item_id, run, first.deadline_ms, all_live > len(live)
    )


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


DAYS = 14
"""The number of days with separate counts, including today."""
MOST_TIMED = 2_000
"""The number of a reviewer's latest decisions in all runs whose median times are stated."""
_DAY_MS, _EPOCH = 86_400_000, date(1970, 1, 1).toordinal()


@dataclass(slots=True)
class RunProgress:
    """The reviewer's current decisions in one run, the median time from claim to decision (s), and pending items."""

    run: str
    decisions: int = 0
    agreed: int = 0
    escalated: int = 0
    seconds: float | None = None
    pending: int = 0


@dataclass(slots=True)
class Progress:
    """Decisions by day in UTC, the oldest day first, and by run; escalations are counted separately."""

    days: dict[str, int] = field(default_factory=dict)
    runs: list[RunProgress] = field(default_factory=list)

    @property
    def decisions(self) -> int:
        """The number of decisions in all runs."""
        return sum(one.decisions for one in self.runs)


def measure_progress(session: Session, runs: Sequence[tables.Run], reviewer: str, now_ms: int) -> Progress:
    """Measure the reviewer's progress in these runs; runs without a decision or a pending item are left out."""
    by_day = Counter[int]()
    decision, item = tables.Decision, tables.Item
    # Adding 0 keeps the planner from reading all items of the runs to find the decisions of one reviewer.
    of_runs = (col(item.run_id) + 0).in_([run.id for run in runs])
    own = (of_runs, col(decision.reviewer) == reviewer, is_current())
    by_run = {run.id or 0: RunProgress(run.name) for run in runs}
    for run, one in zip(runs, by_run.values(), strict=True):
        for _, name, _, count, _ in read_counts(session, run, "decision", "days", who=reviewer):
            kind = name.split()[0]
            if kind.isdigit():
                by_day[int(kind)] += count
            elif kind == DecisionKind.ESCALATE:
                one.escalated += count
            else:
                one.decisions += count
                one.agreed += count if kind == DecisionKind.APPROVE else 0
    latest = (
        sa_select(col(item.run_id), col(decision.decided_ms) - col(decision.claimed_ms))
        .join(item, col(item.id) == decision.item_id)
        .where(*own, col(decision.decision) != DecisionKind.ESCALATE)
        .order_by(col(decision.id).desc())
        .limit(MOST_TIMED)
    )
    times: dict[int, list[int]] = {id: [] for id in by_run}
    for run_id, took_ms in session.execute(latest):
        times[run_id].append(took_ms)
    for run_id, one in by_run.items():
        one.pending = measure_offered(session, [run_id], reviewer)[0]
        one.seconds = median(times[run_id]) / 1_000 if times[run_id] else None
    shown = [one for one in by_run.values() if one.decisions or one.escalated or one.pending]
    days = (now_ms // _DAY_MS - age for age in reversed(range(DAYS)))
    return Progress({str(date.fromordinal(_EPOCH + day)): by_day[day] for day in days}, shown)
