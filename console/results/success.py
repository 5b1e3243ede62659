"""How many tasks each arm of a study had solved by each trial, counted in SQL; and task by task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from sqlalchemy import and_, case, func, or_, select
from sqlmodel import Session

from console.results.arms import Arm, arms, tidy
from console.trajectory import Outcome
from storage.tables import RunKind, Table

_tables = Table.metadata.tables
_run, _task, _record = (_tables[name] for name in ("run", "task", "trajectory"))

# A log has the result of an action that nobody decided on; in a live run there is none until it is released.
_ON_RECORD = and_(
    _run.c.kind == RunKind.REPLAY,
    _record.c.outcome == Outcome.PAUSED,
    _record.c.recorded_outcome == Outcome.SUCCEEDED,
)
_DONE = _record.c.outcome == Outcome.SUCCEEDED
_HELD = case((and_(_DONE, _record.c.released_by.is_(None)), 1), else_=0)
_PAPER = case((or_(_DONE, _ON_RECORD), 1), else_=0)


def success(session: Session, study_id: int) -> pd.DataFrame:
    """A row for each arm and trial: tasks solved by then, in both counts; the columns are in the data dictionary.

    A task that gets no next trial stays as its last one left it (InferAct, Appendix F).
    """
    found = arms(session, study_id)
    rows = [(place, *row) for place, arm in enumerate(found) for row in _of_arm(session, arm)]
    raw = pd.DataFrame(rows, columns=["arm", "trial", "tasks", "solved_held", "solved_paper", "closed"])
    return tidy("success", raw, found)


def outcomes(session: Session, study_id: int) -> pd.DataFrame:
    """A row for each arm, task and trial: whether the task was solved by then, in both counts."""
    found = arms(session, study_id)
    rows = [(place, *row) for place, arm in enumerate(found) for row in _of_tasks(session, arm)]
    raw = pd.DataFrame(rows, columns=["arm", "task_id", "trial", "solved_held", "solved_paper", "closed"])
    return tidy("outcomes", raw, found)


def _of_arm(session: Session, arm: Arm) -> Iterator[tuple[int, int, int, int, bool]]:
    reached = _reached(session, arm)
    counted = _counted(session, arm) if reached else []
    for trial in range(reached):
        valid = [(n, held, paper) for first, until, n, held, paper in counted if first <= trial < (until or reached)]
        held, paper = sum(row[1] for row in valid), sum(row[2] for row in valid)
        yield trial, len(arm.tasks), int(held), int(paper), arm.done or trial + 1 < reached


def _of_tasks(session: Session, arm: Arm) -> Iterator[tuple[str, int, bool, bool, bool]]:
    reached = _reached(session, arm)
    rows = _stretches(session, arm) if reached else []
    for key, first, until, held, paper in rows:
        for trial in range(first, until or reached):
            yield key, trial, bool(held), bool(paper), arm.done or trial + 1 < reached


def _reached(session: Session, arm: Arm) -> int:
    """How many trials the arm has begun; once it is done, all of its run's."""
    if arm.run_id is None:
        return 0
    latest = select(func.max(_record.c.trial)).where(_record.c.run_id == arm.run_id)
    begun: int | None = session.execute(latest).scalar()
    if begun is None:
        return 0
    planned: int = session.execute(select(_run.c.trials).where(_run.c.id == arm.run_id)).scalar_one()
    return max(planned, begun + 1) if arm.done else begun + 1


def _stretch() -> Any:
    """Each trajectory with the trial before which the task's next one takes its place, null for the last."""
    until = func.lead(_record.c.trial).over(partition_by=_record.c.task_id, order_by=(_record.c.trial, _record.c.id))
    held, paper = _HELD.label("held"), _PAPER.label("paper")
    return select(_record.c.task_id, _record.c.trial, until.label("until"), held, paper).join(
        _run, _run.c.id == _record.c.run_id
    )


def _counted(session: Session, arm: Arm) -> Sequence[Any]:
    row = _stretch().where(_record.c.run_id == arm.run_id).subquery()
    totals = func.count(), func.sum(row.c.held), func.sum(row.c.paper)
    return session.execute(select(row.c.trial, row.c.until, *totals).group_by(row.c.trial, row.c.until)).all()


def _stretches(session: Session, arm: Arm) -> Sequence[Any]:
    row = _stretch().where(_record.c.run_id == arm.run_id).subquery()
    told = select(_task.c.task_key, row.c.trial, row.c.until, row.c.held, row.c.paper)
    return session.execute(told.join(_task, _task.c.id == row.c.task_id).order_by(_task.c.id, row.c.trial)).all()
