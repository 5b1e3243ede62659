"""Pool: what each detector has put before the reviewers of a run, with the truth about it and what became of it.

The truth is the source's own label, or what an action that never ran would have led to, or what adjudicators settled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sqlalchemy import and_, case, func
from sqlalchemy import select as sa_select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, or_, select

from console.detection.evaluation import scores
from console.detection.verdicts import routing_name
from console.environments import ENVIRONMENTS
from console.environments.environment import TaskSpec
from console.errors import BadInput
from console.review.simulated.ground_truth import awaited, true_label
from console.runs import costs
from console.runs.current_decisions import is_current
from console.runs.options import run_options
from console.runs.trajectory_rows import task_spec
from console.trajectory import Label, Outcome, from_json
from console.trajectory.checkpoints import Checkpoint
from storage import tables
from storage.queue import HALTED
from storage.tables import DecisionKind, RunKind

Key = tuple[int, int, str]
"""Trajectory id, step, kind."""
_AT_ONCE = 500

LABELS = ("gold", "adjudicated")
"""Whose labels count: the source's own, or settled ones where there are any and the source's elsewhere."""

_ENDED = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.HALTED, Outcome.REJECTED, Outcome.FINISHED)
"""How a trial can end; one that runs or waits tells nothing yet."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The rows of a run, one for each detector and trajectory; `routing` is whose flags the run's reviewers got.

    Columns: detector, trial, trajectory_id, task_key, step, kind, score, probability, flagged, label (misaligned,
    aligned or missing), expected_cost, priority (by which the queue ranks), inspected_ms (the first decision, missing
    if there is none), reported (a reviewer called it misaligned), corrected (1 or 0, whether the task succeeded after
    that, missing where nothing was tried again).
    """

    run: str
    routing: str
    labels: str
    rows: pd.DataFrame


def pool(session: Session, run: tables.Run, labels: str = "gold") -> Pool:
    """The pool of a run; raises BadInput for labels that are neither gold nor adjudicated."""
    if labels not in LABELS:
        raise BadInput(f"Labels are {' or '.join(LABELS)}, not {labels!r}.")
    rows = _judged(session, run)
    rows["label"] = _labels(session, run, rows, labels)
    rows["expected_cost"] = _expected_costs(session, run, rows)
    rows["priority"] = rows["expected_cost" if run_options(run).costs else "score"]
    rows = rows.merge(reviewed(session, run), on="trajectory_id", how="left")
    rows["reported"] = rows["reported"].eq(True)
    return Pool(run.name, routing_name(run), labels, rows)


def version(session: Session, run: tables.Run) -> tuple[Any, ...]:
    """Differs whenever the pool of the run, or what was spent on it, would."""
    item, decision, entry, settled = tables.Item, tables.Decision, tables.LedgerEntry, tables.Adjudication
    decided = (
        sa_select(func.max(col(decision.id)), func.count(), func.count().filter(col(decision.superseded)))
        .join(item, col(item.id) == col(decision.item_id))
        .where(col(item.run_id) == run.id)
    )
    moved = (
        sa_select(func.max(col(entry.id)))
        .join(tables.Budget, col(tables.Budget.id) == col(entry.budget_id))
        .where(col(tables.Budget.run_id) == run.id)
    )
    outcomes = sa_select(func.count()).where(
        col(tables.Trajectory.run_id) == run.id, col(tables.Trajectory.outcome) == Outcome.SUCCEEDED
    )
    final = sa_select(func.max(col(settled.id)), func.count()).where(settled_in(run))
    counts = [value for query in (decided, moved, outcomes, final) for value in session.execute(query).one()]
    stated = (run.budget_cap, run.budget_percent, run.detector, run.options)
    return (*scores.version(session, run), *stated, *counts)


def reviewed(session: Session, run: tables.Run) -> pd.DataFrame:
    """Columns trajectory_id, inspected_ms, reported, corrected; answers that were taken back or replaced do not count.

    Corrected tells of what a reviewer called misaligned whether its task then succeeded, in the next trial or with the
    action as edited (1 or 0); it is missing where nothing was tried again.
    """
    item, decision, record = tables.Item, tables.Decision, tables.Trajectory
    following = aliased(record)
    wrong = col(decision.label) == Label.MISALIGNED
    edited = and_(col(decision.decision) == DecisionKind.EDIT, col(record.outcome).in_(_ENDED))
    again = case((edited, col(record.outcome)), else_=col(following.outcome))
    succeeded = case((and_(wrong, again == Outcome.SUCCEEDED), 1), (and_(wrong, again.in_(_ENDED)), 0))
    statement = (
        sa_select(
            col(record.id),
            func.min(col(decision.decided_ms)),
            func.max(case((wrong, 1), else_=0)),
            func.max(succeeded),
        )
        .join(item, col(item.id) == col(decision.item_id))
        .join(record, col(record.id) == col(item.trajectory_id))
        .outerjoin(following, _is_next(following))
        .where(col(item.run_id) == run.id, col(item.kind) != HALTED, is_current())
        .group_by(col(record.id))
    )
    columns = ["trajectory_id", "inspected_ms", "reported", "corrected"]
    rows = [tuple(row) for row in session.execute(statement)]
    return pd.DataFrame(rows, columns=columns).astype({"reported": bool, "corrected": float})


def _is_next(following: Any) -> Any:
    """The condition that it is the next trial of the task."""
    record = tables.Trajectory
    return and_(following.task_id == record.task_id, following.trial == col(record.trial) + 1)


def checkpoints_of(session: Session, keys: Iterable[Key]) -> dict[Key, Checkpoint]:
    """The checkpoint at each key."""
    wanted: dict[int, list[Key]] = {}
    for key in keys:
        wanted.setdefault(key[0], []).append(key)
    ids, body = sorted(wanted), tables.TrajectoryBody
    found: dict[Key, Checkpoint] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = col(body.trajectory_id).in_(ids[start : start + _AT_ONCE])
        for id, text in session.exec(select(body.trajectory_id, body.body).where(some)):
            trajectory = from_json(text)
            found |= {key: awaited(trajectory, key[1], key[2]) for key in wanted[id]}
    return found


def true_labels(session: Session, run: tables.Run, keys: Collection[Key]) -> dict[Key, str]:
    """The label of each checkpoint of a live run, tried in a copy of its world; {} for other runs and worlds."""
    if run.kind != RunKind.LIVE or not keys:
        return {}
    tasks = _tasks(session, run)
    seen = checkpoints_of(session, [key for key in keys if key[0] in tasks])
    return {key: str(true_label(tasks[key[0]], checkpoint)) for key, checkpoint in seen.items()}


def adjudicated(session: Session, run: tables.Run) -> dict[str, str]:
    """The latest settled label of each checkpoint, by its unit: TASK/STEP/KIND, in later trials with `/trial N`."""
    settled = tables.Adjudication
    statement = select(settled.unit, settled.label).where(settled_in(run)).order_by(col(settled.revision))
    return dict(session.exec(statement).all())


def any_settled(session: Session, run: tables.Run) -> bool:
    """Whether any checkpoint of the run has a settled label."""
    return session.exec(select(tables.Adjudication.id).where(settled_in(run)).limit(1)).first() is not None


def settled_in(run: tables.Run) -> Any:
    """The condition that an adjudication is of this run, or of the study that it belongs to."""
    settled = tables.Adjudication
    own = col(settled.run_id) == run.id
    return own if run.study_id is None else or_(own, col(settled.study_id) == run.study_id)


def _tasks(session: Session, run: tables.Run) -> dict[int, TaskSpec]:
    """The tasks whose gold is known, in environments with an embedded edition, by trajectory."""
    record, task = tables.Trajectory, tables.Task
    playable = [name for name, environment in ENVIRONMENTS.items() if environment.start]
    statement = (
        select(record.id, task)
        .join(task, col(task.id) == col(record.task_id))
        .where(record.run_id == run.id, col(task.environment).in_(playable), task.gold != "{}")
    )
    return {id or 0: task_spec(asked) for id, asked in session.exec(statement)}


_COLUMNS = (
    "detector",
    "trial",
    "trajectory_id",
    "task_key",
    "step",
    "kind",
    "score",
    "probability",
    "flagged",
    "label",
)


def _judged(session: Session, run: tables.Run) -> pd.DataFrame:
    verdict, record, task = tables.Verdict, tables.Trajectory, tables.Task
    columns = (
        col(verdict.detector),
        col(record.trial),
        col(record.id).label("trajectory_id"),
        col(task.task_key),
        *(col(column) for column in (verdict.step, verdict.kind, verdict.score, verdict.probability, verdict.flagged)),
        col(record.label),
    )
    place = func.row_number().over(
        partition_by=(col(verdict.detector), col(verdict.trajectory_id)),
        order_by=(col(verdict.flagged).desc(), col(verdict.step), col(verdict.id)),
    )
    ranked = (
        sa_select(*columns, place.label("place"))
        .join(record, col(record.id) == col(verdict.trajectory_id))
        .join(task, col(task.id) == col(record.task_id))
        .where(col(verdict.run_id) == run.id, col(record.carried_over).is_(False))
        .where(col(record.recorded_outcome) != Outcome.HALTED)
        .subquery()
    )
    statement = (
        sa_select(*(ranked.c[name] for name in _COLUMNS))
        .where(ranked.c.place == 1)
        .order_by(ranked.c.detector, ranked.c.trajectory_id)
    )
    rows: list[Any] = [tuple(row) for row in session.execute(statement)]
    kinds = {"flagged": bool, "label": object, "score": float, "probability": float}
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(kinds)


def _labels(session: Session, run: tables.Run, rows: pd.DataFrame, labels: str) -> pd.Series[Any]:
    """Flagged actions of a live run by what they would have led to, as most never ran; the source's own label, else."""
    tried = true_labels(session, run, _keys(rows[rows["flagged"] | rows["label"].isna()]))
    own = _instead(rows["label"], _keyed(rows), tried)
    if labels != "adjudicated":
        return own
    units = rows["task_key"] + "/" + rows["step"].astype(str) + "/" + rows["kind"]
    units = units.where(rows["trial"] == 0, units + "/trial " + rows["trial"].astype(str))
    return _instead(own, units, adjudicated(session, run))


def _instead(labels: pd.Series[Any], keys: pd.Series[Any], better: Mapping[Any, str]) -> pd.Series[Any]:
    """The labels, with better ones by key where there are any."""
    found = [better.get(key, label) for key, label in zip(keys, labels, strict=True)]
    return pd.Series(found, index=labels.index, dtype=object)


def _expected_costs(session: Session, run: tables.Run, rows: pd.DataFrame) -> pd.Series[float]:
    """The probability, or the score where there is none, times what the action costs if it is wrong."""
    worth = rows["probability"].fillna(rows["score"])
    stated = run_options(run).costs
    if not stated or rows.empty:
        return worth
    seen = checkpoints_of(session, _keys(rows[rows["flagged"]]))
    amounts = {key: costs.cost(stated, checkpoint) for key, checkpoint in seen.items()}
    return worth.mul(pd.Series([amounts.get(key, 1.0) for key in _keyed(rows)], index=rows.index))


def _keys(rows: pd.DataFrame) -> set[Key]:
    return set(_keyed(rows))


def _keyed(rows: pd.DataFrame) -> pd.Series[Any]:
    keys = list(zip(rows["trajectory_id"].tolist(), rows["step"].tolist(), rows["kind"].tolist(), strict=True))
    return pd.Series(keys, index=rows.index, dtype=object)
