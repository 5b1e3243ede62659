"""The status of a run and of its trials, the summary of a run, and the sample of a large run that results read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import case, func, literal_column
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.runs import IS_AUDIT, IS_LOGGED, IS_SEEDED, budgets, run_options
from console.trajectory import Outcome
from storage import tables
from storage.queue import HALTED
from storage.tables import ItemStatus, RunKind

IS_OPEN: Any = literal_column("item.open_slots > 0")
"""The SQL condition for a pending item: a literal, because SQLite cannot use a partial index with a bound value."""
_COLUMNS = "run kind environment trials trajectories detector threshold pending beyond_budget tags"
SUMMARY_COLUMNS = tuple(_COLUMNS.split())
"""The columns of a table of run summaries."""


MOST = 10_000
"""The largest number of trajectories that the metrics of a run read."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The trajectories that a run's metrics read: all (`before` is None), or the MOST with the smallest digests."""

    total: int = 0
    before: str | None = None

    def conditions(self, run: tables.Run) -> tuple[Any, ...]:
        """Return the SQL conditions for the trajectories of the sample."""
        record = tables.Trajectory
        own = col(record.run_id) == run.id
        return (own,) if self.before is None else (own, col(record.digest) < self.before)

    def of_items(self, statement: Any, run: tables.Run) -> Any:
        """Return the statement over items for those of the sample's trajectories alone."""
        item, record = tables.Item, tables.Trajectory
        if self.before is None:
            return statement.where(item.run_id == run.id)
        return statement.join(record, col(record.id) == item.trajectory_id).where(*self.conditions(run))

    @property
    def scale(self) -> float:
        """The number of trajectories that each trajectory of the sample stands for."""
        return 1.0 if self.before is None else self.total / MOST

    def scaled(self, rows: Iterable[Any]) -> dict[int, Any]:
        """Return rows of a trial and its counts by trial, those of a sample as estimates for the whole run."""
        return {trial: tuple(round(count * self.scale) for count in counts) for trial, *counts in rows}

    @property
    def stated(self) -> str:
        """The size of the sample in words, or an empty text if the metrics read all trajectories."""
        return "" if self.before is None else f"{MOST:,} of {self.total:,} trajectories"

    def to_dict(self) -> dict[str, Any]:
        """Return the size of the sample as in the JSON output; empty if the metrics read all trajectories."""
        return {"sample": {"trajectories": MOST, "of": self.total}} if self.stated else {}

    def add_to(self, table: Any) -> Any:
        """Return a table of a download with the size of the sample as its last column, if there is a sample."""
        return table.assign(sample=self.stated) if self.stated else table


EVERY = Sample()
STATED = (
    "Metrics and curves use a sample: {trajectories:,} of {of:,} trajectories, those with the smallest content digests."
)


def draw_sample(session: Session, run: tables.Run) -> Sample:
    """Return the sample of a run's trajectories that its metrics read."""
    record, own = tables.Trajectory, EVERY.conditions(run)
    digests = sa_select(col(record.digest)).where(*own).order_by(col(record.digest))
    end = session.execute(digests.offset(MOST).limit(1)).scalar()
    counted = select(func.count()).select_from(record).where(*own)
    return EVERY if end is None else Sample(session.exec(counted).one(), end)


def run_summary(session: Session, run: tables.Run) -> dict[str, Any]:
    """Return the summary of a run in the format of `run list --json`.

    `waiting` counts all pending items, `pending` those within the budgets, and `beyond_budget` the others.
    """
    record, item = tables.Trajectory, tables.Item
    counted = select(func.count(func.distinct(record.trial)), func.count()).where(record.run_id == run.id)
    trials, trajectories = session.exec(counted).one()
    open_items = select(func.count()).select_from(item).where(item.run_id == run.id, IS_OPEN)
    waiting, beyond = session.exec(open_items).one(), _count_beyond(session, run)
    return {
        "run": run.name,
        "kind": run.kind,
        "environment": run.environment,
        "actor": run.actor,
        "trials": trials,
        "trajectories": trajectories,
        "detector": run.detector,
        "threshold": run.threshold,
        "waiting": waiting,
        "blind": run.blind,
        "tags": orjson.loads(run.tags),
        "archived": run.archived_ms is not None,
        "stopped": run_options(run).stopped,
        "pending": waiting - beyond,
        "beyond_budget": beyond,
    }


def _count_beyond(session: Session, run: tables.Run) -> int:
    """Return the number of pending items that the budgets of their trials do not cover."""
    item = tables.Item
    left = {trial: one["left"] for trial, one in budgets(session, run).items() if one["cap"] is not None}
    paid = select(item.trial, func.count()).where(item.run_id == run.id, IS_OPEN)
    paid = paid.where(item.kind != HALTED) if run.halted_free else paid
    limited = paid.where(col(item.trial).in_(left)).group_by(col(item.trial))
    return sum(max(0, count - (left[trial] or 0)) for trial, count in session.exec(limited)) if left else 0


def run_status(session: Session, run: tables.Run, sample: Sample = EVERY) -> dict[str, Any]:
    """Return the status of each trial in the format of `run status --json`.

    A live run has two success counts; a gate's run has `expired`, the number of checks without a decision in time. The
    numbers of flagged trajectories and of audits are estimates if the `sample` is not the whole run.
    """
    queued, spent = count_queued(session, run, sample), budgets(session, run)
    expired = count_expired(session, run) if run.kind == RunKind.GATE else None
    trials = []
    for trial, found in _count_outcomes(session, run).items():
        flagged, _, audits, _ = queued.get(trial, (0, 0, 0, 0))
        counts: dict[str, Any] = {"trial": trial, "tasks": sum(found[name] for name in _COUNTED)}
        counts |= {name: found[name] for name in _COUNTED}
        counts |= {"flagged": flagged, **({"audits": audits} if audits else {})}
        if run.kind == RunKind.LIVE:
            # Undecided actions count as held back in one count, as released in the other (as in the paper).
            paper = None if found[Outcome.PAUSED] or found[Outcome.RUNNING] else found[Outcome.SUCCEEDED]
            counts |= {"success_held": found["held"], "success_paper": paper, "run_tasks": task_count(session, run)}
        trials.append({**counts, "budget": spent.get(trial, _NO_BUDGET)})
        if expired is not None:
            trials[-1]["expired"] = expired.get(trial, 0)
    return {"run": run.name, "trials": trials}


def count_expired(session: Session, run: tables.Run, since_ms: int = 0) -> dict[int, int]:
    """Return by trial the number of a gate's checks that expired without a decision since `since_ms`."""
    item, ask = tables.Item, tables.Ask
    statement = (
        select(item.trial, func.count())
        .join(ask, col(ask.item_id) == item.id)
        .where(item.run_id == run.id, item.status == ItemStatus.EXPIRED, ask.answer == "timeout")
        .where(col(ask.answered_ms) >= since_ms)
        .group_by(col(item.trial))
    )
    return dict(session.exec(statement).all())


def task_count(session: Session, run: tables.Run) -> int:
    """Return the number of tasks of the run."""
    task = tables.Task
    return session.exec(select(func.count()).select_from(task).where(task.run_id == run.id)).one()


_COUNTED = tuple(str(word) for word in Outcome)
_USUAL = ("succeeded", "failed", "halted", "paused", "rejected")


def status_rows(status: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the trials of a status as table rows: trajectories, outcomes, flagged items, budget and success.

    Rare outcomes get a column only if they occur. The outcome `finished` has the label `without outcome`. A gate may
    also request reviews of unflagged actions.
    """
    headings = _HEADINGS | ({"flagged": "asked about"} if kind == RunKind.GATE else {})
    trials = status["trials"]
    rare = [name for name in _COUNTED if name not in _USUAL and any(trial[name] for trial in trials)]
    names = ("trial", "tasks", *_USUAL, *rare, "flagged", "audits", "used", "cap", "left")
    names += ("success_held", "success_paper")
    names += ("expired",) if any(trial.get("expired") for trial in trials) else ()
    rows = [trial["budget"] | trial for trial in trials]
    if any("audits" in row for row in rows):
        rows = [{"audits": 0} | row for row in rows]
    return [{headings.get(name, name): row[name] for name in names if name in row} for row in rows]


_HEADINGS = {
    "tasks": "trajectories",
    "finished": "without outcome",
    "expired": "expired undecided",
    "used": "inspections",
    "cap": "budget",
    "success_held": "solved, held back",
    "success_paper": "solved, as in the paper",
}
_NO_BUDGET = {"cap": None, "used": 0, "left": None}


def _count_outcomes(session: Session, run: tables.Run) -> dict[int, Counter[str]]:
    """Return by trial the number of trajectories with each outcome, and of those that succeeded unreleased (`held`)."""
    record, found = tables.Trajectory, defaultdict[int, Counter[str]](Counter)
    kinds = (col(record.trial), col(record.outcome), col(record.carried_over), col(record.released_by))
    counted = sa_select(*kinds, func.count()).where(col(record.run_id) == run.id).group_by(*kinds).order_by(*kinds)
    for trial, outcome, _, released_by, count in session.execute(counted):
        found[trial][outcome] += count
        found[trial]["held"] += count if released_by is None and outcome == Outcome.SUCCEEDED else 0
    return found


def count_queued(session: Session, run: tables.Run, sample: Sample) -> dict[int, tuple[int, int, int, int]]:
    """Return by trial the numbers of flagged, halted and audited trajectories, and of those decided in the log."""
    item = tables.Item
    halted = col(item.kind) == "halted"
    kinds = (~halted & ~IS_AUDIT & ~IS_LOGGED, halted, ~halted & IS_AUDIT, ~halted & IS_LOGGED)
    counts = [func.count(func.distinct(case((kind, col(item.trajectory_id))))) for kind in kinds]
    statement = sample.of_items(sa_select(col(item.trial), *counts).where(~IS_SEEDED), run)
    return sample.scaled(session.execute(statement.group_by(col(item.trial))))
