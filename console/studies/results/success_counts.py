"""How many tasks each arm of a study had solved by each trial, and which of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sqlalchemy import and_, case, or_, select
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


def success(session: Session, study_id: int, participant: str | None = None) -> pd.DataFrame:
    """A row for each arm, or each of that participant's, and trial: tasks solved by then; see the data dictionary.

    A task that gets no next trial stays as its last one left it (InferAct, Appendix F).
    """
    found = condition_runs(session, study_id)
    rows = _by_trial(session, found, participant)
    solved = rows.groupby(["arm", "trial", "closed"], as_index=False)[["solved_held", "solved_paper"]].sum()
    return tidy("success", solved.assign(tasks=[len(found[arm].tasks) for arm in solved["arm"]]), found)


def outcomes(session: Session, study_id: int, participant: str | None = None) -> pd.DataFrame:
    """A row for each arm, or each of that participant's, task and trial: solved by then or not, in both counts."""
    found = condition_runs(session, study_id)
    rows = _by_trial(session, found, participant)
    rows["task_id"] = rows["task"].map(_keys(session, found)).astype("str")
    return tidy("outcomes", rows, found)


def _by_trial(session: Session, found: Sequence[ConditionRun], participant: str | None) -> pd.DataFrame:
    """Whether each task was solved by each trial that its arm has begun; of an arm that is done, by all.

    A trajectory tells of the trials from its own up to the one before its task's next.
    """
    arms = {arm.run_id: at for at, arm in enumerate(found) if arm.run_id and participant in (None, arm.participant)}
    rows = _records(session, list(arms))
    until = rows["trial"].shift(-1).where(rows["task"] == rows["task"].shift(-1))
    rows = rows.assign(until=until, arm=rows["run"].map(arms)).sort_values("arm", kind="stable", ignore_index=True)
    done = rows["arm"].map(dict(enumerate(one.done for one in found))).astype(bool)
    begun = rows.groupby("arm")["trial"].transform("max") + 1
    end = begun.where(~done, begun.clip(lower=rows["run"].map(_planned(session, found))))
    each = rows.index.repeat((rows["until"].fillna(end) - rows["trial"]).astype("int64"))
    told = rows.loc[each]
    trial = told["trial"] + told.groupby(level=0).cumcount()
    return told.assign(trial=trial, closed=done[each] | (trial + 1 < begun[each])).reset_index(drop=True)


def _planned(session: Session, found: Sequence[ConditionRun]) -> dict[int, int]:
    of_runs = select(_run.c.id, _run.c.trials).where(_run.c.id.in_([arm.run_id for arm in found if arm.run_id]))
    return {int(run): int(trials) for run, trials in session.execute(of_runs)}


def _keys(session: Session, found: Sequence[ConditionRun]) -> dict[int, str]:
    of_runs = select(_task.c.id, _task.c.task_key).where(
        _task.c.run_id.in_([arm.run_id for arm in found if arm.run_id])
    )
    return dict(session.execute(of_runs).all())


def _records(session: Session, runs: Sequence[int]) -> pd.DataFrame:
    """The trajectories of those runs, task by task and trial by trial."""
    told = _record.c.run_id, _record.c.task_id, _record.c.trial, _HELD, _PAPER
    statement = select(*told).join(_run, _run.c.id == _record.c.run_id).where(_record.c.run_id.in_(runs))
    statement = statement.order_by(_record.c.task_id, _record.c.trial, _record.c.id)
    # The driver's own tuples: rows of SQLAlchemy would take as long as the query.
    with session.connection().execute(statement) as found:
        rows = found.cursor.fetchall() if found.cursor else []
    cells = np.array(rows, dtype="int64").reshape(-1, len(told))
    frame = pd.DataFrame(cells, columns=["run", "task", "trial", "solved_held", "solved_paper"])
    return frame.astype({"solved_held": bool, "solved_paper": bool})
