"""A reviewer's own progress: decisions by day and by run, with their median time and the number of pending items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median

from sqlmodel import Session, col, select

from console.review.waiting import measure_offered
from console.runs import is_current
from storage import tables
from storage.tables import DecisionKind

DAYS = 14
"""The number of days with separate counts, including today."""
_MOST = 100_000


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
    today = datetime.fromtimestamp(now_ms / 1_000, UTC).date()
    found = Progress({str(today - timedelta(days=days)): 0 for days in reversed(range(DAYS))})
    decision, item = tables.Decision, tables.Item
    ids = [run.id or 0 for run in runs]
    statement = (
        select(item.run_id, decision.decision, decision.claimed_ms, decision.decided_ms)
        .join(item, col(item.id) == decision.item_id)
        .where(col(item.run_id).in_(ids), decision.reviewer == reviewer, is_current())
        .order_by(col(decision.id).desc())
        .limit(_MOST)
    )
    by_run = {run.id or 0: RunProgress(run.name) for run in runs}
    times: dict[int, list[int]] = {id: [] for id in by_run}
    for run_id, kind, claimed_ms, decided_ms in session.exec(statement):
        one = by_run[run_id]
        if kind == DecisionKind.ESCALATE:
            one.escalated += 1
            continue
        one.decisions += 1
        one.agreed += kind == DecisionKind.APPROVE
        times[run_id].append(decided_ms - claimed_ms)
        day = str(datetime.fromtimestamp(decided_ms / 1_000, UTC).date())
        if day in found.days:
            found.days[day] += 1
    for run_id, one in by_run.items():
        one.pending = measure_offered(session, [run_id], reviewer)[0]
        one.seconds = median(times[run_id]) / 1_000 if times[run_id] else None
    found.runs = [one for one in by_run.values() if one.decisions or one.escalated or one.pending]
    return found
