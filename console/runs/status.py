"""The status of a run and of its trials, the summary of a run, and the sample of a large run that results read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Select, func
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.database import database_url
from console.runs import budgets, run_options
from console.trajectory import Outcome
from storage import run_counts, tables
from storage.queue import HALTED
from storage.tables import ItemStatus, RunKind

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
    total = total or count_trajectories(session, run).total()
    if total <= MOST:
        return EVERY
    digest = col(tables.Trajectory.digest)
    digests = sa_select(digest).where(*EVERY.conditions(run)).order_by(digest)
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
    trials, pending = count_trajectories(session, run), count_pending(session, run)
    waiting, beyond = (sum(column) for column in zip((0, 0), *pending.values(), strict=True))
    return {
        "run": run.name,
        "kind": run.kind,
        "environment": run.environment,
        "actor": run.actor,
        "trials": len(trials),
        "trajectories": trials.total(),
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
    left = {trial: rest for trial, one in budgets(session, run).items() if (rest := one["left"]) is not None}
    waiting, using = Counter[int](), Counter[int]()
    for trial, kind, _, count, _ in read_counts(session, run, "pending"):
        waiting[trial] += count
        using[trial] += 0 if run.halted_free and kind == HALTED else count
    return {trial: (count, max(0, using[trial] - left.get(trial, using[trial]))) for trial, count in waiting.items()}


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


_COUNTED = tuple(str(word) for word in Outcome)
_USUAL = ("succeeded", "failed", "halted", "paused", "rejected")


def status_rows(status: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the trials of a status as table rows: trajectories, outcomes, flagged items, budget and success.

    Rare outcomes get a column only if they occur. The outcome `finished` has the label `without outcome`. A gate may
    also request reviews of unflagged actions.
    """
    headings = _HEADINGS | ({"flagged": "reviews requested"} if kind == RunKind.GATE else {})
    trials = status["trials"]
    rare = [name for name in _COUNTED if name not in _USUAL and any(trial[name] for trial in trials)]
    names = ("trial", "tasks", *_USUAL, *rare, "flagged", "audits", "used", "cap", "left")
    names += ("success_held", "success_paper")
    names += ("expired",) if any(trial.get("expired") for trial in trials) else ()
    rows = [trial["budget"] | trial for trial in trials]
    if any("audits" in row for row in rows):
        rows = [{"audits": 0} | row for row in rows]
    return [{headings.get(name, name): row[name] for name in names if name in row} for row in rows]


OUTCOMES = {"paused": "paused at an action", "rejected": "stopped at an action"}
"""The words for outcomes. A held action may have a decision; an edit, a policy or an undo may stop an action."""

_HEADINGS = {
    "tasks": "trajectories",
    "finished": "without outcome",
    "used": "inspections",
    "cap": "budget",
    "success_held": "solved, held back",
    "success_paper": "solved, as in the paper",
}
_NO_BUDGET = {"cap": None, "used": 0, "left": None}


Counts = tuple[Mapping[int, Counter[str]], Mapping[int, tuple[int, ...]]]
"""The counts of outcomes and of queued trajectories, by trial."""


def store_counts(seconds: float | None = 1.0) -> None:
    """Store the counts of changed rows, if many have changed, for about so many seconds or until all are stored."""
    run_counts.fold(database_url(), seconds)


def count_run(session: Session, run: tables.Run) -> Counts:
    """Return the counts of the run.

    The first counter has the number of trajectories with each outcome, and of those that succeeded unreleased (`held`).
    `attempts` were not carried over; of those that were, `earlier` succeeded unreleased, and `copies` are the others.
    The tuple has the flagged, halted, audited and logged trajectories.
    """
    outcomes, queued = defaultdict[int, Counter[str]](Counter), defaultdict[int, Counter[str]](Counter)
    for trial, name, _, count, _ in read_counts(session, run, "trajectory", "item"):
        outcome, *more = name.split()
        if name in _QUEUED:
            queued[trial][name] = count
        elif outcome != _IMPORTED:
            is_held, is_carried = "released" not in more and outcome == Outcome.SUCCEEDED, "carried" in more
            kinds = {"held": count * is_held, "attempts": count * (not is_carried)}
            kinds |= {"earlier" if is_held else "copies": count * is_carried}
            outcomes[trial].update({outcome: count, **kinds})
    return outcomes, {trial: tuple(found[name] for name in _QUEUED) for trial, found in queued.items()}


_QUEUED, _IMPORTED = ("flagged", "stuck", "audits", "logged"), "import"


def count_trajectories(session: Session, run: tables.Run) -> Counter[int]:
    """Return the number of trajectories by trial."""
    found = Counter[int]()
    for trial, name, _, count, _ in read_counts(session, run, "trajectory"):
        found[trial] += count * (not name.startswith(_IMPORTED))
    return +found


def count_imported(session: Session, run: tables.Run) -> dict[int, int]:
    """Return the number of trajectories by import."""
    counted = read_counts(session, run, "trajectory")
    return {int(name.split()[1]): count for _, name, _, count, _ in counted if name.startswith(_IMPORTED)}


def task_count(session: Session, run: tables.Run) -> int:
    """Return the number of tasks of the run."""
    return sum(count for *_, count, _ in read_counts(session, run, "task"))


def read_counts(
    session: Session, run: tables.Run, *parts: str, who: str | None = None
) -> list[tuple[int, str, str, int, int | None]]:
    """Return the run's counts of these parts; see `storage.run_counts.read`."""
    session.flush()
    assert run.id is not None
    return run_counts.read(session.connection(), run.id, *parts, who=who)
