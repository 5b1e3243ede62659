"""The status of a run and of its trials, the summary of a run, and the sample of a large run that results read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Select, case, false, func, literal_column
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


MOST, SAMPLED = 10_000, 5_000
"""The largest number of trajectories of which results read all, and the number that results of a larger run read."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The trajectories that a result reads: all (`before` is None), or SAMPLED with the smallest digests."""

    total: int = 0
    before: str | None = None

    def conditions(self, run: tables.Run) -> tuple[Any, ...]:
        """Return the SQL conditions for the trajectories of the sample."""
        record = tables.Trajectory
        own = col(record.run_id) == run.id
        return (own,) if self.before is None else (own, col(record.digest) < self.before)

    @property
    def scale(self) -> float:
        """The number of trajectories that each trajectory of the sample stands for."""
        return 1.0 if self.before is None else self.total / SAMPLED

    @property
    def stated(self) -> str:
        """The size of the sample in words, or an empty text if results read all trajectories."""
        return "" if self.before is None else f"{SAMPLED:,} of {self.total:,} trajectories"

    def to_dict(self) -> dict[str, Any]:
        """Return the size of the sample as in the JSON output; empty if results read all trajectories."""
        return {"sample": {"trajectories": SAMPLED, "of": self.total}} if self.stated else {}

    def add_to(self, table: Any) -> Any:
        """Return a table of a download with the size of the sample as its last column, if there is a sample."""
        return table.assign(sample=self.stated) if self.stated else table


EVERY = Sample()
STATED = "Results use a sample: {trajectories:,} of {of:,} trajectories, those with the smallest content digests."


def draw_sample(session: Session, run: tables.Run, total: int | None = None) -> Sample:
    """Return a sample of the run's trajectories, of which there are `total`: all, or SAMPLED of more than MOST."""
    record, own = tables.Trajectory, EVERY.conditions(run)
    total = total or session.exec(select(func.count()).select_from(record).where(*own)).one()
    if total <= MOST:
        return EVERY
    digests = sa_select(col(record.digest)).where(*own).order_by(col(record.digest))
    return Sample(total, session.execute(digests.offset(SAMPLED).limit(1)).scalar_one())


def select_verdicts(run: tables.Run, sample: Sample, *columns: Any) -> Select[Any]:
    """Select these columns of the verdicts on a run's sample, joined with their trajectories."""
    verdict, record = tables.Verdict, tables.Trajectory
    joined = sa_select(*columns).join(record, col(record.id) == col(verdict.trajectory_id))
    if sample.before is None:
        return joined.where(col(verdict.run_id) == run.id)
    # Adding 0 hides the index on the run's verdicts, so that only those of the sample are read.
    return joined.where(col(verdict.run_id) + 0 == run.id, *sample.conditions(run))


def run_summary(session: Session, run: tables.Run) -> dict[str, Any]:
    """Return the summary of a run in the format of `run list --json`.

    `waiting` counts all pending items, `pending` those within the budgets, and `beyond_budget` the others.
    """
    each, pending = _list_trials(run, tables.Trajectory), count_pending(session, run)
    every = select(func.count()).where(tables.Trajectory.run_id == run.id).scalar_subquery()
    trials, trajectories = session.execute(sa_select(func.count(each.c.trial), every).select_from(each)).one()
    waiting, beyond = (sum(column) for column in zip((0, 0), *pending.values(), strict=True))
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


def count_pending(session: Session, run: tables.Run) -> dict[int, tuple[int, int]]:
    """Return by trial the number of pending items, and of those that the trial's budget does not cover."""
    spent, item = budgets(session, run), tables.Item
    left = {trial: rest for trial, one in spent.items() if (rest := one["left"]) is not None}
    paid = func.count(case((col(item.kind) != HALTED, 1))) if run.halted_free else func.count()
    counted = sa_select(col(item.trial), func.count(), paid).where(col(item.run_id) == run.id, IS_OPEN)
    found = session.execute(counted.group_by(col(item.trial)))
    return {trial: (waiting, max(0, using - left.get(trial, using))) for trial, waiting, using in found}


def run_status(session: Session, run: tables.Run, counts: Counts | None = None) -> dict[str, Any]:
    """Return the status of each trial in the format of `run status --json`; `counts` are the run's, if known.

    A live run has two success counts; a gate's run has `expired`, the number of checks without a decision in time.
    """
    (outcomes, queued), spent = counts or count_run(session, run), budgets(session, run)
    expired = count_expired(session, run) if run.kind == RunKind.GATE else None
    trials = []
    for trial, found in outcomes.items():
        flagged, _, audits, _ = queued.get(trial, (0, 0, 0, 0))
        row: dict[str, Any] = {"trial": trial, "tasks": sum(found[name] for name in _COUNTED)}
        row |= {name: found[name] for name in _COUNTED}
        row |= {"flagged": flagged, **({"audits": audits} if audits else {})}
        if run.kind == RunKind.LIVE:
            # Undecided actions count as held back in one count, as released in the other (as in the paper).
            paper = None if found[Outcome.PAUSED] or found[Outcome.RUNNING] else found[Outcome.SUCCEEDED]
            row |= {"success_held": found["held"], "success_paper": paper, "run_tasks": task_count(session, run)}
        trials.append({**row, "budget": spent.get(trial, _NO_BUDGET)})
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


OUTCOMES = {"paused": "held at an action", "rejected": "stopped at an action"}
"""The words for outcomes. A held action may have a decision; an edit, a policy or an undo may stop an action."""

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


Counts = tuple[Mapping[int, Counter[str]], Mapping[int, tuple[int, ...]]]
"""The counts of outcomes and of queued trajectories, by trial."""


def count_run(session: Session, run: tables.Run) -> Counts:
    """Return the counts of the run."""
    return _count_outcomes(session, run), _count_queued(session, run)


def _list_trials(run: tables.Run, record: Any) -> Any:
    """Return a table of the run's trials (the last is null), read from an index without the rows of each trial."""
    first = sa_select(func.min(col(record.trial)).label("trial")).where(record.run_id == run.id).cte(recursive=True)
    following = sa_select(func.min(col(record.trial))).where(record.run_id == run.id, col(record.trial) > first.c.trial)
    return first.union_all(sa_select(following.scalar_subquery()).where(first.c.trial.is_not(None)))


def _count_outcomes(session: Session, run: tables.Run) -> dict[int, Counter[str]]:
    """Return by trial the number of trajectories with each outcome, and of those that succeeded unreleased (`held`).

    `attempts` were not carried over; of those that were, `earlier` succeeded unreleased, and `copies` are the others.
    """
    record, found = tables.Trajectory, defaultdict[int, Counter[str]](Counter)
    kinds = (col(record.trial), col(record.outcome), col(record.carried_over), col(record.released_by))
    counted = sa_select(*kinds, func.count()).where(col(record.run_id) == run.id).group_by(*kinds).order_by(*kinds)
    for trial, outcome, carried_over, released_by, count in session.execute(counted):
        is_held = released_by is None and outcome == Outcome.SUCCEEDED
        more = {"held": count * is_held, "attempts": count * (not carried_over)}
        more |= {"earlier" if is_held else "copies": count * carried_over}
        found[trial].update({outcome: count, **more})
    return found


def _count_queued(session: Session, run: tables.Run) -> dict[int, tuple[int, ...]]:
    item, draw, seeded, trials = tables.Item, tables.AuditDraw, tables.SeededItem, _list_trials(run, tables.Item)
    of_run = select(item.id).where(item.id == seeded.item_id, item.run_id == run.id).exists()
    has_known = session.exec(select(seeded.item_id).where(of_run).limit(1)).first() is not None
    has_audits = session.exec(select(draw.id).where(draw.run_id == run.id).limit(1)).first() is not None
    halted, is_audit = col(item.kind) == HALTED, IS_AUDIT if has_audits else false()
    kinds = (~halted & ~is_audit & ~IS_LOGGED, halted, ~halted & is_audit, ~halted & IS_LOGGED)
    own = [col(item.run_id) == run.id, col(item.trial) == trials.c.trial, *([~IS_SEEDED] if has_known else [])]
    # Each count reads an index in the order of the trajectories.
    counts = [
        sa_select(func.count(func.distinct(col(item.trajectory_id)))).where(*own, kind).correlate(trials)
        for kind in kinds
    ]
    counted = sa_select(trials.c.trial, *(one.scalar_subquery() for one in counts))
    return {trial: tuple(found) for trial, *found in session.execute(counted.where(trials.c.trial.is_not(None)))}
