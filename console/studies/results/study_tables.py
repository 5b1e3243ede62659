"""Tidy tables on the course of a study: plan, history, budgets, task success and items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pandas as pd
import sqlalchemy as sa
from sqlmodel import Session, col, select

from console.runs import is_current
from console.studies.design import Design
from console.studies.design.contrasts import plan_rows
from console.studies.results.adjudication import gold_labels
from console.studies.results.condition_runs import ConditionRun, condition_runs, tidy
from console.studies.results.csv_files import table_of
from console.trajectory import Outcome
from storage import tables
from storage.tables import DecisionKind, RunKind, Table

_tables = Table.metadata.tables
_budget, _ledger, _run, _task, _record, _item, _verdict, _decision, _intent = (
    _tables[name] for name in ("budget", "ledger", "run", "task", "trajectory", "item", "verdict", "decision", "intent")
)


def plan(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per planned contrast and condition with a weight in that contrast."""
    study = session.get_one(tables.Study, study_id)
    rows = plan_rows(Design.model_validate_json(study.design))
    return table_of("plan", [{"study": study.name, **row} for row in rows])


_OF_STUDY = {
    "study created": "created",
    "study open": "opened",
    "study paused": "paused",
    "study closed": "closed",
    "participant withdrew": "withdrawal",
}
_OF_RUNS = ("budget set", "critical actions set", "reasons set", "detector recalibrated", "judged")


def history(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per event of the study, and one per changed setting of a participant's run."""
    event, name = tables.Event, session.get_one(tables.Study, study_id).name
    runs = {arm.run_id or 0: arm for arm in condition_runs(session, study_id)}
    of_study = col(event.kind).in_(_OF_STUDY) & (event.subject == name)
    of_runs = col(event.kind).in_(_OF_RUNS) & col(event.run_id).in_(runs)
    rows: list[tuple[Any, ...]] = []
    for found in session.exec(select(event).where(of_study | of_runs).order_by(col(event.id))):
        arm, before, after = runs.get(found.run_id or -1), _words(found.before), _words(found.after)
        if arm is None:
            simulated = ", simulated" if orjson.loads(found.detail).get("simulated") else ""
            rows.append((name, found.at_ms, _OF_STUDY[found.kind] + simulated, None, None, None, None))
        elif before and before != after:
            rows.append((name, found.at_ms, found.kind, arm.participant, arm.condition, before, after))
    invitation = tables.StudyInvitation
    invited = select(invitation.created_ms).where(invitation.study_id == study_id)
    rows += [(name, at_ms, "invited", None, None, None, None) for at_ms in session.exec(invited)]
    rows.sort(key=lambda row: row[1])
    return table_of("history", rows)


def _words(stored: str | None) -> str | None:
    value = None if stored is None else orjson.loads(stored)
    return value if isinstance(value, str) else stored


def budget(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per condition run and trial whose budget has been opened."""
    told = sa.select(_budget.c.trial, _budget.c.cap, _budget.c.used, _budget.c.halted).order_by(_budget.c.trial)
    return _frame(session, study_id, "budget", told)


def ledger(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per ledger entry without its reviewer, with the units spent up to that entry."""
    by_then = sa.func.sum(_ledger.c.units).over(partition_by=_ledger.c.budget_id, order_by=_ledger.c.id)
    moved = _ledger.c.at_ms.label("at"), _ledger.c.entry, _ledger.c.reason, _ledger.c.units
    told = (
        sa.select(_budget.c.trial, *moved, sa.cast(by_then, sa.Integer).label("used"), _budget.c.cap)
        .join(_ledger, _ledger.c.budget_id == _budget.c.id)
        .order_by(_ledger.c.id)
    )
    return _frame(session, study_id, "ledger", told)


def _frame(session: Session, study_id: int, name: str, told: Any) -> pd.DataFrame:
    found = condition_runs(session, study_id)
    # Audited items that the detector did not flag use a budget of another scope, which has no cap.
    rows = [
        (place, *row)
        for place, arm in enumerate(found)
        if arm.run_id
        for row in session.execute(told.where(_budget.c.run_id == arm.run_id, _budget.c.scope == ""))
    ]
    raw = pd.DataFrame(rows, columns=["arm", *told.selected_columns.keys()], dtype=object)
    return tidy(name, raw, found)


# A log has the result of an undecided action; a live run has none until the action is released.
_ON_RECORD = sa.and_(
    _run.c.kind == RunKind.REPLAY, _record.c.outcome == Outcome.PAUSED, _record.c.recorded_outcome == Outcome.SUCCEEDED
)
_DONE = _record.c.outcome == Outcome.SUCCEEDED
_HELD = sa.case((sa.and_(_DONE, _record.c.released_by.is_(None)), 1), else_=0)
_PAPER = sa.case((sa.or_(_DONE, _ON_RECORD), 1), else_=0)
_begun = sa.select(_intent.c.id).where(_intent.c.trajectory_id == _record.c.id).exists()
_HARM = sa.case((sa.and_(_record.c.outcome == Outcome.FAILED, _begun), 1), else_=0)
_HARM_HELD = sa.case((sa.and_(_record.c.released_by.is_(None), _HARM == 1), 1), else_=0)
_IS_LIVE = sa.case((_run.c.kind == RunKind.LIVE, 1), else_=0)


def success(session: Session, study_id: int, participant: str | None = None) -> pd.DataFrame:
    """Return one row per condition run and trial, with the number of tasks solved up to that trial.

    The rows are those of all participants, or of one participant. A task without a next trial keeps the result of its
    last trial (InferAct, Appendix F).
    """
    found = condition_runs(session, study_id)
    rows = _by_trial(session, found, participant)
    solved = rows.groupby(["arm", "trial", "closed"], as_index=False)[["solved_held", "solved_paper"]].sum()
    return tidy("success", solved.assign(tasks=[len(found[arm].tasks) for arm in solved["arm"]]), found)


def outcomes(session: Session, study_id: int, participant: str | None = None) -> pd.DataFrame:
    """Return one row per condition run, task and trial: whether it was solved, or did harm, up to that trial.

    Both counts of undecided actions are given. A task did harm if a misaligned critical action of its agent stood.
    """
    found = condition_runs(session, study_id)
    rows = _by_trial(session, found, participant)
    runs = [arm.run_id for arm in found if arm.run_id]
    keys = session.execute(sa.select(_task.c.id, _task.c.task_key).where(_task.c.run_id.in_(runs)))
    rows["task_id"] = rows["task"].map(dict(keys.all())).astype("str")
    return tidy("outcomes", rows, found)


def _by_trial(session: Session, found: Sequence[ConditionRun], participant: str | None) -> pd.DataFrame:
    """Return one row per task and trial: whether the task was solved up to that trial.

    If the condition is done, include all its trials, else the trials that have begun. A trajectory counts for its own
    trial and for later trials until the task's next trajectory.
    """
    arms = {arm.run_id: at for at, arm in enumerate(found) if arm.run_id and participant in (None, arm.participant)}
    rows = _records(session, list(arms))
    until = rows["trial"].shift(-1).where(rows["task"] == rows["task"].shift(-1))
    rows = rows.assign(until=until, arm=rows["run"].map(arms)).sort_values("arm", kind="stable", ignore_index=True)
    done = rows["arm"].map(dict(enumerate(one.done for one in found))).astype(bool)
    begun = rows.groupby("arm")["trial"].transform("max") + 1
    planned = dict(session.execute(sa.select(_run.c.id, _run.c.trials).where(_run.c.id.in_(arms))).all())
    end = begun.where(~done, begun.clip(lower=rows["run"].map(planned)))
    each = rows.index.repeat((rows["until"].fillna(end) - rows["trial"]).astype("int64"))
    told = rows.loc[each]
    trial = told["trial"] + told.groupby(level=0).cumcount()
    return told.assign(trial=trial, closed=done[each] | (trial + 1 < begun[each])).reset_index(drop=True)


def _records(session: Session, runs: Sequence[int]) -> pd.DataFrame:
    told = _record.c.run_id, _record.c.task_id, _record.c.trial, _IS_LIVE, _HELD, _PAPER, _HARM_HELD, _HARM
    statement = sa.select(*told).join(_run, _run.c.id == _record.c.run_id).where(_record.c.run_id.in_(runs))
    statement = statement.order_by(_record.c.task_id, _record.c.trial, _record.c.id)
    # Use the driver's tuples, because creating SQLAlchemy rows would take as long as the query.
    with session.connection().execute(statement) as found:
        rows = found.cursor.fetchall() if found.cursor else []
    cells = np.array(rows, dtype="int64").reshape(-1, len(told))
    solved, harmed = ["solved_held", "solved_paper"], ["harmed_held", "harmed_paper"]
    frame = pd.DataFrame(cells, columns=["run", "task", "trial", "live", *solved, *harmed])
    # A harm stays, while a task that was solved may be undone. A log tells no harm.
    by_then = frame.groupby("task")[harmed].cummax().astype("boolean").where(frame["live"] == 1)
    return frame.astype(dict.fromkeys(solved, bool)).assign(**by_then)


_later = _record.alias("later")

_solved_later = (
    sa.select(sa.func.count())
    .where(_later.c.task_id == _record.c.task_id, _later.c.trial > _record.c.trial)
    .where(_later.c.outcome == Outcome.SUCCEEDED)
    .scalar_subquery()
)

_SELECTED: dict[str, Any] = {
    "item_id": _item.c.id,
    "task_id": _task.c.task_key,
    "trial": _item.c.trial,
    "step": _item.c.step,
    "checkpoint": _item.c.kind,
    "status": _item.c.status,
    "detector": _verdict.c.detector,
    "score": _verdict.c.score,
    "probability": _verdict.c.probability,
    "threshold": _verdict.c.threshold,
    "flagged": _verdict.c.flagged,
    "trajectory_label": _record.c.label,
    "label": _decision.c.label,
    "decided_at": _decision.c.decided_ms,
    "solved_later": _solved_later,
}


def items(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per item of the study's own runs, with the participant's current decision, if any."""
    found = condition_runs(session, study_id)
    rows = [(*row, place) for place, arm in enumerate(found) if arm.run_id is not None for row in _of_run(session, arm)]
    raw = pd.DataFrame.from_records(rows, columns=[*_SELECTED, "arm"])
    raw = raw.astype({"trajectory_label": "str", "label": "str"})
    raw["gold_label"] = gold_labels(session, raw)
    raw["solved_later"] = raw["solved_later"] > 0
    return tidy("items", raw, found)


def _of_run(session: Session, arm: ConditionRun) -> Sequence[Any]:
    own = _decision.c.item_id == _item.c.id, _decision.c.reviewer == arm.participant
    mine = sa.and_(*own, is_current(_decision.c), _decision.c.decision != DecisionKind.ESCALATE)
    joined = (
        _item.join(_record, _record.c.id == _item.c.trajectory_id)
        .join(_task, _task.c.id == _record.c.task_id)
        .outerjoin(_verdict, _verdict.c.id == _item.c.verdict_id)
        .outerjoin(_decision, mine)
    )
    statement = sa.select(*(value.label(name) for name, value in _SELECTED.items())).select_from(joined)
    with session.connection().execute(statement.where(_item.c.run_id == arm.run_id).order_by(_item.c.id)) as found:
        return found.cursor.fetchall() if found.cursor else ()
