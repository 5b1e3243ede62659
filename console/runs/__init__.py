"""Runs: creation, lists, the status of each trial, critical-action patterns and inspection budgets."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from shlex import quote
from typing import Any

import orjson
from sqlalchemy import Integer, case, cast, func
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.database import now_ms, review_queue, writing
from console.environments import environment
from console.errors import BadInput, Refused, Unknown
from console.language import counted
from console.runs import audit_log, removal
from console.runs.options import run_options
from console.trajectory import Outcome, Trajectory
from console.trajectory.checkpoints import Checkpoint, checkpoints
from storage import tables
from storage.queue import Queue
from storage.tables import ItemStatus, RunKind

_OPEN = (Outcome.PAUSED, Outcome.RUNNING)
_NAME = re.compile(r"[\w][\w.@ -]{0,79}")


def create(session: Session, name: str, kind: RunKind, now_ms: int, **fields: Any) -> tables.Run:
    """Create an empty run; raise Refused if the name is taken and BadInput if it is invalid."""
    check_name(name)
    if find(session, name) is not None:
        raise Refused(f"A run named {name!r} already exists. Choose another name.")
    run = tables.Run(name=name, kind=kind, environment="", created_ms=now_ms, **fields)
    session.add(run)
    session.flush()
    settings = {name: value for name, value in fields.items() if value is not None}
    audit_log.record(session, run, "run created", now_ms, after=settings, detail={"kind": kind})
    return run


def check_name(name: str) -> None:
    """Raise BadInput if the text is not a valid run name."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not a valid run name. Use up to 80 letters, digits, spaces and . _ - @.")


def free_name(session: Session, wanted: str) -> str:
    """Return the name, or the first free name of `name @2`, `name @3`, ... if a run already has the name."""
    number, name = 1, wanted
    while find(session, name) is not None:
        number += 1
        name = f"{wanted} @{number}"
    return name


def find(session: Session, name: str) -> tables.Run | None:
    """Return the run with this name, or None."""
    return session.exec(select(tables.Run).where(tables.Run.name == name)).first()


def get(session: Session, name: str) -> tables.Run:
    """Return the run with this name; raise Unknown, with the list of runs, if no run has this name."""
    run = find(session, name)
    if run is None:
        raise Unknown("run", name, [run.name for run in list_runs(session, archived=True)])
    return run


def list_runs(session: Session, *, of_studies: bool = False, archived: bool = False) -> list[tables.Run]:
    """Return the runs, newest first; include the runs of study participants and archived runs only on request."""
    statement = select(tables.Run).order_by(col(tables.Run.id).desc())
    if not of_studies:
        statement = statement.where(col(tables.Run.study_id).is_(None))
    if not archived:
        statement = statement.where(col(tables.Run.archived_ms).is_(None))
    return list(session.exec(statement))


def list_active_runs(session: Session) -> list[tables.Run]:
    """Return the runs that can advance without a user: neither archives nor runs of studies.

    Only participants may advance the runs of studies, because they end their rounds themselves.
    """
    run = tables.Run
    alone = (col(run.kind) != RunKind.ARCHIVE) & col(run.study_id).is_(None)
    return list(session.exec(select(run).where(alone).order_by(col(run.id))))


def archive(session: Session, name: str, now_ms: int) -> tables.Run:
    """Return the archive run with this name for imported logs; create the run if it is missing. Raise Refused if the
    run is of another kind.
    """
    run = find(session, name)
    if run is None:
        return create(session, name, RunKind.ARCHIVE, now_ms)
    if run.kind != RunKind.ARCHIVE:
        raise Refused(f"Run {name!r} is not an archive. Import into a run with another name.")
    if run.study_id is not None:
        raise Refused(f"Run {name!r} belongs to a participant of a study. Import into a run with another name.")
    return run


SUMMARY_COLUMNS = ("run", "kind", "environment", "trials", "trajectories", "detector", "threshold", "waiting", "tags")
"""The columns of a table of run summaries."""


def summary(session: Session, run: tables.Run) -> dict[str, Any]:
    """Return the summary of a run, as `run list --json` prints it."""
    record, item = tables.Trajectory, tables.Item
    trials = session.exec(select(func.count(func.distinct(record.trial))).where(record.run_id == run.id)).one()
    trajectories = session.exec(select(func.count()).select_from(record).where(record.run_id == run.id)).one()
    waiting = select(func.count()).select_from(item).where(item.run_id == run.id, item.status == ItemStatus.PENDING)
    return {
        "run": run.name,
        "kind": run.kind,
        "environment": run.environment,
        "actor": run.actor,
        "trials": trials,
        "trajectories": trajectories,
        "detector": run.detector,
        "threshold": run.threshold,
        "waiting": session.exec(waiting).one(),
        "blind": run.blind,
        "tags": orjson.loads(run.tags),
        "archived": run.archived_ms is not None,
    }


def status(session: Session, run: tables.Run) -> dict[str, Any]:
    """Return the status of each trial, as `run status --json` prints it; include two success counts for a live run."""
    flagged, spent = _flagged(session, run), budgets(session, run)
    counted = count_successes(session, run) if run.kind == RunKind.LIVE else {}
    trials = []
    for row in _outcomes(session, run):
        counts = dict(zip(("trial", "tasks", *_COUNTED), row, strict=True))
        trial = counts["trial"]
        counts |= {"flagged": flagged.get(trial, 0), **counted.get(trial, {})}
        trials.append({**counts, "budget": spent.get(trial, _NO_BUDGET)})
    return {"run": run.name, "trials": trials}


def count_successes(session: Session, run: tables.Run) -> dict[int, dict[str, int | None]]:
    """Return two success counts: undecided actions count as held back, or as released, as the paper assumes.

    Each trial has `success_held`, `success_paper` (None while an action is held) and `run_tasks`, the number of tasks
    to divide by.
    """
    record, tasks = tables.Trajectory, task_count(session, run)
    statement = select(record.trial, record.outcome, record.released_by).where(record.run_id == run.id)
    counts: dict[int, dict[str, int | None]] = {}
    held: dict[int, int] = {}
    paper: dict[int, int] = {}
    still_open = set()
    for trial, outcome, released_by in session.exec(statement.order_by(col(record.trial))):
        solved = outcome == Outcome.SUCCEEDED
        paper[trial] = paper.get(trial, 0) + solved
        held[trial] = held.get(trial, 0) + (solved and released_by is None)
        if outcome in _OPEN:
            still_open.add(trial)
    for trial in paper:
        known = None if trial in still_open else paper[trial]
        counts[trial] = {"success_held": held[trial], "success_paper": known, "run_tasks": tasks}
    return counts


def task_count(session: Session, run: tables.Run) -> int:
    """Return the number of tasks of the run."""
    task = tables.Task
    return session.exec(select(func.count()).select_from(task).where(task.run_id == run.id)).one()


def patterns(run: tables.Run) -> list[str]:
    """Return the run's critical-action patterns."""
    found: list[str] = orjson.loads(run.critical)
    return found


def run_checkpoints(run: tables.Run, record: Trajectory) -> list[Checkpoint]:
    """Return the checkpoints of a trajectory under the run's patterns and its setting for end checkpoints."""
    ends = environment(record.environment).ends if run.ends is None else run.ends
    return checkpoints(record, patterns(run), ends=ends)


def set_patterns(session: Session, run: tables.Run, wanted: Sequence[str], now_ms: int) -> list[int]:
    """Replace the critical-action patterns; withdraw the pending items that no longer match, and return those items.

    Keep verdicts and decisions. Raise Refused if the run is a gate, because its policy selects the critical actions.
    """
    if run.kind == RunKind.GATE:
        raise Refused(
            f"The policy of the gate {run.name} decides what is critical; see: inferact policy show {quote(run.name)}"
        )
    cleaned = list(dict.fromkeys(pattern.strip() for pattern in wanted if pattern.strip()))
    before, run.critical = patterns(run), orjson.dumps(cleaned).decode()
    told: dict[str, Any] = {"patterns": cleaned}
    withdrawn: list[int] = []
    if set(before) - set(cleaned):
        run.options = replace(run_options(run), narrowed=True).to_json()
        session.add(run)
        withdrawn = removal.withdraw_uncritical(session, run, cleaned, now_ms)
        told |= {"withdrawn": withdrawn}
    session.add(run)
    audit_log.record(session, run, "critical actions set", now_ms, before=before, after=cleaned, detail=told)
    return withdrawn


def withdrawn_sentence(items: Sequence[int]) -> str:
    """Return a sentence on the items that narrower patterns withdrew."""
    left = "1 item left" if len(items) == 1 else f"{len(items)} items left"
    return f"{left} the queue because no pattern matches any longer. The units of claims are refunded."


def set_budget(run_name: str, wanted: str | None) -> int | None:
    """Set the cap of every trial and return the cap. `wanted` is a number of inspections, `P%` of the non-halted
    trajectories of trial 0, or None for no cap.

    Raise BadInput if `wanted` is invalid, or Unknown if no run has this name.
    """
    with writing() as session:
        run = get(session, run_name)
        before = _budget_in_words(run)
        run.budget_cap, run.budget_percent = parse_budget(wanted)
        session.add(run)
        audit_log.record(session, run, "budget set", now_ms(), before=before, after=_budget_in_words(run))
        session.flush()
        run_id, limit = run.id or 0, cap(session, run)
        open_trials = [row["trial"] for row in status(session, run)["trials"]]
    open_budgets(review_queue(), run_id, open_trials, limit, again=True)
    return limit


def budget_sentence(run_name: str, limit: int | None) -> str:
    """Return a sentence with the cap of a run's trials."""
    return f"Every trial of {run_name} has {'no cap' if limit is None else counted(limit, 'inspection')}."


def _budget_in_words(run: tables.Run) -> str:
    if run.budget_percent is not None:
        return f"{run.budget_percent:g}%"
    return "no cap" if run.budget_cap is None else str(run.budget_cap)


def parse_budget(wanted: str | None) -> tuple[int | None, float | None]:
    """Parse `50` or `50%` into (cap, percent); raise BadInput for anything else."""
    if wanted is None:
        return None, None
    text = wanted.strip()
    try:
        if text.endswith("%"):
            percent = float(text[:-1])
            if not 0 <= percent <= 100:
                raise ValueError
            return None, percent
        if int(text) < 0:
            raise ValueError
        return int(text), None
    except ValueError:
        raise BadInput(
            f"{wanted!r} is not a valid budget. Use a whole number such as 50 or a percentage such as 50%."
        ) from None


def cap(session: Session, run: tables.Run) -> int | None:
    """Return the cap of every trial; a percentage is relative to the non-halted trajectories of trial 0 (InferAct,
    section 4.4).
    """
    if run.budget_percent is None:
        return run.budget_cap
    record = tables.Trajectory
    first = session.exec(select(func.min(record.trial)).where(record.run_id == run.id)).one()
    statement = (
        select(func.count())
        .select_from(record)
        .where(record.run_id == run.id, record.trial == first, record.recorded_outcome != Outcome.HALTED)
    )
    return share_of(run.budget_percent / 100, session.exec(statement).one())


def share_of(share: float, non_halted: int) -> int:
    """Return ceil(share x non-halted trajectories of trial 0), without rounding up because of floating-point error."""
    return math.ceil(round(share * non_halted, 9))


def open_budgets(queue: Queue, run_id: int, trials: Sequence[int], wanted: int | None, *, again: bool = False) -> None:
    """Open the budget of each trial with this cap; change a budget that is already open only if `again` is set."""
    for trial in trials:
        if again or queue.budget(run_id=run_id, trial=trial) is None:
            queue.open_budget(run_id=run_id, trial=trial, cap=wanted)


def iso(ms: int | None) -> str | None:
    """Format milliseconds since 1970 as an ISO-8601 time in UTC; return None if `ms` is None."""
    if ms is None:
        return None
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_COUNTED = tuple(str(word) for word in Outcome)
_USUAL = ("succeeded", "failed", "halted", "paused", "rejected")


def status_rows(status: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the trials of a status as table rows: trajectories, outcomes, flagged items, budget and success.

    Rare outcomes get a column only if they occur. `finished` is shown as `without outcome`. A gate may also request
    reviews of actions that are not flagged.
    """
    headings = _HEADINGS | ({"flagged": "asked about"} if kind == RunKind.GATE else {})
    trials = status["trials"]
    rare = [name for name in _COUNTED if name not in _USUAL and any(trial[name] for trial in trials)]
    names = ("trial", "tasks", *_USUAL, *rare, "flagged", "used", "cap", "left", "success_held", "success_paper")
    rows = [trial["budget"] | trial for trial in trials]
    return [{headings.get(name, name): row[name] for name in names if name in row} for row in rows]


_HEADINGS = {
    "tasks": "trajectories",
    "finished": "without outcome",
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


def _flagged(session: Session, run: tables.Run) -> dict[int, int]:
    item = tables.Item
    statement = (
        select(item.trial, func.count(func.distinct(item.trajectory_id)))
        .where(item.run_id == run.id, item.kind != "halted")
        .group_by(col(item.trial))
    )
    return dict(session.exec(statement).all())


def budgets(session: Session, run: tables.Run) -> dict[int, dict[str, int | None]]:
    """Return the budget by trial: `cap` and `left` (None if the run has no cap), `used`, and `halted`, the number of
    reviewed halted items.
    """
    budget = tables.Budget
    statement = select(budget).where(budget.run_id == run.id, budget.scope == "").order_by(col(budget.trial))
    return {
        row.trial: {
            "cap": row.cap,
            "used": row.used,
            "left": None if row.cap is None else row.cap - row.used,
            "halted": row.halted,
        }
        for row in session.exec(statement)
    }
