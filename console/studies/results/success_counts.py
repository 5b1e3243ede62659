"""How many tasks each arm of a study had solved by each trial, counted in SQL; and task by task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sqlalchemy import and_, case, func, null, or_, select
from sqlmodel import Session

from console.studies.results.condition_runs import ConditionRun, condition_runs, tidy
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


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What a trajectory tells of the trials from its own up to the one before `until`; `tasks` are alike in it."""

    trial: int
    until: int | None
    key: str | None
    tasks: int
    held: int
    paper: int


def success(session: Session, study_id: int, participant: str | None = None) -> pd.DataFrame:
    """A row for each arm, or each of that participant's, and trial: tasks solved by then; see the data dictionary.

    A task that gets no next trial stays as its last one left it (InferAct, Appendix F).
    """
    found = condition_runs(session, study_id)
    asked = [arm for arm in found if participant in (None, arm.participant)]
    stretches, planned = _stretches(session, asked, by_task=False), _planned(session, asked)
    rows = [
        (place, trial, len(arm.tasks), *_solved(stretches[arm.run_id or 0], trial), closed)
        for place, arm in enumerate(found)
        for trial, closed in _trials(arm, stretches[arm.run_id or 0], planned)
    ]
    raw = pd.DataFrame(rows, columns=["arm", "trial", "tasks", "solved_held", "solved_paper", "closed"])
    return tidy("success", raw, found)


def outcomes(session: Session, study_id: int, participant: str | None = None) -> pd.DataFrame:
    """A row for each arm, or each of that participant's, task and trial: solved by then or not, in both counts."""
    found = condition_runs(session, study_id)
    asked = [arm for arm in found if participant in (None, arm.participant)]
    stretches, planned = _stretches(session, asked, by_task=True), _planned(session, asked)
    trials = [list(_trials(arm, stretches[arm.run_id or 0], planned)) for arm in found]
    rows = [
        (place, one.key, trial, bool(one.held), bool(one.paper), closed)
        for place, arm in enumerate(found)
        for one in stretches[arm.run_id or 0]
        for trial, closed in trials[place][one.trial : one.until]
    ]
    raw = pd.DataFrame(rows, columns=["arm", "task_id", "trial", "solved_held", "solved_paper", "closed"])
    return tidy("outcomes", raw, found)


def _solved(stretches: Sequence[_Stretch], trial: int) -> tuple[int, int]:
    valid = [one for one in stretches if one.trial <= trial and (one.until is None or trial < one.until)]
    return sum(one.held for one in valid), sum(one.paper for one in valid)


def _trials(arm: ConditionRun, stretches: Sequence[_Stretch], planned: Mapping[int, int]) -> Iterator[tuple[int, bool]]:
    """The trials that the arm has begun, each with whether it is over; once the arm is done, all of its run's."""
    if not stretches:
        return
    begun = max(one.trial for one in stretches) + 1
    for trial in range(max(planned[arm.run_id or 0], begun) if arm.done else begun):
        yield trial, arm.done or trial + 1 < begun


def _planned(session: Session, found: Sequence[ConditionRun]) -> dict[int, int]:
    of_runs = select(_run.c.id, _run.c.trials).where(_run.c.id.in_([arm.run_id for arm in found if arm.run_id]))
    return {int(run): int(trials) for run, trials in session.execute(of_runs)}


def _stretches(session: Session, found: Sequence[ConditionRun], *, by_task: bool) -> dict[int, list[_Stretch]]:
    """By run; without tasks, stretches alike are counted in SQL."""
    row = _stretch([arm.run_id for arm in found if arm.run_id]).subquery()
    alike = row.c.run_id, row.c.trial, row.c.until
    counts = func.count(), func.sum(row.c.held), func.sum(row.c.paper)
    named = (_task.c.task_key,) if by_task else (null(),)
    statement = select(*alike, *named, *counts).group_by(*alike, *((row.c.task_id, *named) if by_task else ()))
    if by_task:
        statement = statement.join(_task, _task.c.id == row.c.task_id).order_by(row.c.task_id, row.c.trial)
    stretches: dict[int, list[_Stretch]] = defaultdict(list)
    # The driver's own tuples: rows of SQLAlchemy would take as long as the query.
    with session.connection().execute(statement) as found_rows:
        for run, trial, until, key, tasks, held, paper in found_rows.cursor.fetchall() if found_rows.cursor else ():
            stretches[run].append(_Stretch(trial, until, key, tasks, int(held), int(paper)))
    return stretches


def _stretch(runs: Sequence[int]) -> Any:
    """Each trajectory with the trial before which the task's next one takes its place, null for the last."""
    until = func.lead(_record.c.trial).over(partition_by=_record.c.task_id, order_by=(_record.c.trial, _record.c.id))
    told = _record.c.run_id, _record.c.task_id, _record.c.trial, until.label("until")
    held, paper = _HELD.label("held"), _PAPER.label("paper")
    return select(*told, held, paper).join(_run, _run.c.id == _record.c.run_id).where(_record.c.run_id.in_(runs))
