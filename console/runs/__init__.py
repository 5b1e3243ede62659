"""Runs: start one, list them, say how each trial stands, set its critical actions and its inspection budget."""

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

from console.environments import environment
from console.errors import BadInput, Refused, Unknown
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
    """A new, empty run; raises Refused if the name is taken and BadInput if it cannot be a name."""
    check_name(name)
    if find(session, name) is not None:
        raise Refused(f"There is already a run named {name!r}; choose another name.")
    run = tables.Run(name=name, kind=kind, environment="", created_ms=now_ms, **fields)
    session.add(run)
    session.flush()
    settings = {name: value for name, value in fields.items() if value is not None}
    audit_log.record(session, run, "run created", now_ms, after=settings, detail={"kind": kind})
    return run


def check_name(name: str) -> None:
    """Raises BadInput where the text cannot be a run's name."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} cannot name a run: use up to 80 letters, digits, blanks and . _ - @.")


def free_name(session: Session, wanted: str) -> str:
    """That name, or where a run has it already the first of `name @2`, `name @3`, ... that none has."""
    number, name = 1, wanted
    while find(session, name) is not None:
        number += 1
        name = f"{wanted} @{number}"
    return name


def find(session: Session, name: str) -> tables.Run | None:
    """The run of that name, or None."""
    return session.exec(select(tables.Run).where(tables.Run.name == name)).first()


def get(session: Session, name: str) -> tables.Run:
    """The run of that name; raises Unknown, naming those there are."""
    run = find(session, name)
    if run is None:
        raise Unknown("run", name, [run.name for run in every(session, archived=True)])
    return run


def every(session: Session, *, of_studies: bool = False, archived: bool = False) -> list[tables.Run]:
    """All runs, the newest first; those of studies' participants and archived ones only where asked for."""
    statement = select(tables.Run).order_by(col(tables.Run.id).desc())
    if not of_studies:
        statement = statement.where(col(tables.Run.study_id).is_(None))
    if not archived:
        statement = statement.where(col(tables.Run.archived_ms).is_(None))
    return list(session.exec(statement))


def moving(session: Session) -> list[tables.Run]:
    """The runs in which something can happen by itself: neither archives nor those of studies.

    A participant hands a round over themselves; nothing may move under their hands.
    """
    run = tables.Run
    alone = (col(run.kind) != RunKind.ARCHIVE) & col(run.study_id).is_(None)
    return list(session.exec(select(run).where(alone).order_by(col(run.id))))


def archive(session: Session, name: str, now_ms: int) -> tables.Run:
    """The run that imported logs go to: the one of that name, or a new one."""
    run = find(session, name)
    if run is None:
        return create(session, name, RunKind.ARCHIVE, now_ms)
    if run.kind != RunKind.ARCHIVE:
        raise Refused(f"Run {name!r} is not an archive; import into a run of its own name.")
    if run.study_id is not None:
        raise Refused(f"Run {name!r} belongs to a participant of a study; import into a run of its own name.")
    return run


SUMMARY_COLUMNS = ("run", "kind", "environment", "trials", "trajectories", "detector", "threshold", "waiting", "tags")
"""What a table of runs shows of their summaries."""


def summary(session: Session, run: tables.Run) -> dict[str, Any]:
    """One line of `run list --json`."""
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
    """How each trial of a run stands, in the shape of `run status --json`; a live run has two counts of success."""
    flagged, spent = _flagged(session, run), budgets(session, run)
    counted = successes(session, run) if run.kind == RunKind.LIVE else {}
    trials = []
    for row in _outcomes(session, run):
        counts = dict(zip(("trial", "tasks", *_COUNTED), row, strict=True))
        trial = counts["trial"]
        counts |= {"flagged": flagged.get(trial, 0), **counted.get(trial, {})}
        trials.append({**counts, "budget": spent.get(trial, _NO_BUDGET)})
    return {"run": run.name, "trials": trials}


def successes(session: Session, run: tables.Run) -> dict[int, dict[str, int | None]]:
    """The two counts of success, with undecided actions held back and with them released as the paper assumes.

    Per trial: `success_held`, `success_paper` (None while an action is held), and the `run_tasks` to divide by.
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
    """How many tasks the run has."""
    task = tables.Task
    return session.exec(select(func.count()).select_from(task).where(task.run_id == run.id)).one()


def patterns(run: tables.Run) -> list[str]:
    """The run's critical-action patterns."""
    found: list[str] = orjson.loads(run.critical)
    return found


def run_checkpoints(run: tables.Run, record: Trajectory) -> list[Checkpoint]:
    """The checkpoints of a trajectory under the run's own patterns and its choice about end checkpoints."""
    ends = environment(record.environment).ends if run.ends is None else run.ends
    return checkpoints(record, patterns(run), ends=ends)


def set_patterns(session: Session, run: tables.Run, wanted: Sequence[str], now_ms: int) -> list[int]:
    """Replaces the critical-action patterns; items that none matches any longer leave the queue, and are returned.

    What is judged or answered stays as it is. Raises Refused for a gate, whose policy decides.
    """
    if run.kind == RunKind.GATE:
        raise Refused(f"{run.name} is a gate, so its policy decides: inferact policy show {quote(run.name)}")
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
    """What narrower patterns took out of the queue, as one sentence."""
    left = "1 item left" if len(items) == 1 else f"{len(items)} items left"
    return f"{left} the queue, as no pattern matches any longer; the units of claims are given back."


def set_budget(session: Session, run: tables.Run, wanted: str | None, now_ms: int) -> None:
    """Sets the cap per trial: a number of inspections, or `P%` of the non-halted of trial 0; None leaves it open."""
    before = _budget_in_words(run)
    run.budget_cap, run.budget_percent = parse_budget(wanted)
    session.add(run)
    audit_log.record(session, run, "budget set", now_ms, before=before, after=_budget_in_words(run))


def _budget_in_words(run: tables.Run) -> str:
    if run.budget_percent is not None:
        return f"{run.budget_percent:g}%"
    return "no cap" if run.budget_cap is None else str(run.budget_cap)


def parse_budget(wanted: str | None) -> tuple[int | None, float | None]:
    """(cap, percent) of `50` or `50%`; raises BadInput."""
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
        raise BadInput(f"A budget is a whole number such as 50 or a percentage such as 50%, not {wanted!r}.") from None


def cap(session: Session, run: tables.Run) -> int | None:
    """The cap of every trial: a share of the non-halted of trial 0 where it is a percentage (InferAct, section 4.4)."""
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
    """The budget ceil(share x non-halted trajectories of trial 0), free of what floats add to a whole number."""
    return math.ceil(round(share * non_halted, 9))


def open_budgets(queue: Queue, run_id: int, trials: Sequence[int], wanted: int | None, *, again: bool = False) -> None:
    """Opens the budget of each trial with that cap; one that is open stays frozen unless `again`."""
    for trial in trials:
        if again or queue.budget(run_id=run_id, trial=trial) is None:
            queue.open_budget(run_id=run_id, trial=trial, cap=wanted)


def iso(ms: int | None) -> str | None:
    """An ISO-8601 time in UTC with milliseconds, of milliseconds since 1970."""
    if ms is None:
        return None
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_COUNTED = tuple(str(word) for word in Outcome)
_USUAL = ("succeeded", "failed", "halted", "paused", "rejected")


def status_rows(status: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """The trials of a status as rows of a table: trajectories, which the outcomes add up to, flagged, budget, success.

    Outcomes that are rare have a column where there are any; one that tells no success is `without outcome`. What a
    gate asks about need not be flagged.
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
    """By trial, its budget: `cap` and `left` (None where it has no cap), `used`, and `halted` items reviewed."""
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
