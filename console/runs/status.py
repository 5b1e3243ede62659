"""The status of a run and of each trial, and the summary of a run, as dicts for pages and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Integer, case, cast, func
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.runs import IS_AUDIT, IS_LOGGED, IS_SEEDED, budgets, run_options
from console.trajectory import Outcome
from storage import tables
from storage.queue import HALTED
from storage.tables import ItemStatus, RunKind

_OPEN = (Outcome.PAUSED, Outcome.RUNNING)
_COLUMNS = "run kind environment trials trajectories detector threshold pending beyond_budget tags"
SUMMARY_COLUMNS = tuple(_COLUMNS.split())
"""The columns of a table of run summaries."""


def run_summary(session: Session, run: tables.Run) -> dict[str, Any]:
    """Return the summary of a run in the format of `run list --json`.

    `waiting` counts all pending items, `pending` those within the budgets, and `beyond_budget` the others.
    """
    record, item = tables.Trajectory, tables.Item
    counted = select(func.count(func.distinct(record.trial)), func.count()).where(record.run_id == run.id)
    trials, trajectories = session.exec(counted).one()
    open_items = select(func.count()).select_from(item).where(item.run_id == run.id, item.status == ItemStatus.PENDING)
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
    item, left = (
        tables.Item,
        {trial: one["left"] for trial, one in budgets(session, run).items() if one["cap"] is not None},
    )
    paid = select(item.trial, func.count()).where(item.run_id == run.id, item.status == ItemStatus.PENDING)
    paid = paid.where(item.kind != HALTED) if run.halted_free else paid
    limited = paid.where(col(item.trial).in_(left)).group_by(col(item.trial))
    return sum(max(0, count - (left[trial] or 0)) for trial, count in session.exec(limited)) if left else 0


def run_status(session: Session, run: tables.Run) -> dict[str, Any]:
    """Return the status of each trial in the format of `run status --json`.

    A live run has two success counts; a gate's run has `expired`, the number of checks without a decision in time.
    """
    flagged, spent = _flagged(session, run), budgets(session, run)
    counted = count_successes(session, run) if run.kind == RunKind.LIVE else {}
    expired = count_expired(session, run) if run.kind == RunKind.GATE else None
    trials = []
    for row in _outcomes(session, run):
        counts = dict(zip(("trial", "tasks", *_COUNTED), row, strict=True))
        trial = counts["trial"]
        found, audits = flagged.get(trial, (0, 0))
        counts |= {"flagged": found, **({"audits": audits} if audits else {}), **counted.get(trial, {})}
        trials.append({**counts, "budget": spent.get(trial, _NO_BUDGET)})
        if expired is not None:
            trials[-1]["expired"] = expired.get(trial, 0)
    return {"run": run.name, "trials": trials}


def count_successes(session: Session, run: tables.Run) -> dict[int, dict[str, int | None]]:
    """Return two success counts: undecided actions count as held back in one, as released in the other (as in the
    paper).

    Each trial has `success_held`, `success_paper` (None while an action is held) and `run_tasks`, the divisor of the
    success rate.
    """
    record, tasks = tables.Trajectory, task_count(session, run)
    solved = col(record.outcome) == Outcome.SUCCEEDED
    kinds = (solved & col(record.released_by).is_(None), solved, col(record.outcome).in_(_OPEN))
    counted = sa_select(col(record.trial), *(func.count(case((kind, 1))) for kind in kinds))
    rows = session.execute(counted.where(col(record.run_id) == run.id).group_by(col(record.trial)))
    return {
        trial: {"success_held": held, "success_paper": None if still_open else paper, "run_tasks": tasks}
        for trial, held, paper, still_open in rows
    }


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


def _outcomes(session: Session, run: tables.Run) -> Sequence[Any]:
    record = tables.Trajectory
    counted = [func.sum(cast(case((col(record.outcome) == word, 1), else_=0), Integer)) for word in _COUNTED]
    statement = (
        sa_select(col(record.trial), func.count(), *counted)
        .where(col(record.run_id) == run.id)
        .group_by(col(record.trial))
        .order_by(col(record.trial))
    )
    return session.execute(statement).all()


def _flagged(session: Session, run: tables.Run) -> dict[int, tuple[int, int]]:
    """Return by trial the numbers of trajectories with a flagged action, and with an action drawn for an audit."""
    item = tables.Item
    counts = [
        func.count(func.distinct(case((which, item.trajectory_id)))) for which in (~IS_AUDIT & ~IS_LOGGED, IS_AUDIT)
    ]
    statement = (
        sa_select(col(item.trial), *counts)
        .where(col(item.run_id) == run.id, col(item.kind) != "halted", ~IS_SEEDED)
        .group_by(col(item.trial))
    )
    return {trial: (flagged, audits) for trial, flagged, audits in session.execute(statement)}
