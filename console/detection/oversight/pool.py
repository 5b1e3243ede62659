"""Pool: the items that each detector flagged or judged in a run, with their labels, reviews and outcomes.

Labels come from the source, from the simulated outcome of an action that never ran, or from adjudicators.
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
from console.detection.routing import routing_name
from console.environments import ENVIRONMENTS
from console.environments.environment import TaskSpec
from console.errors import BadInput
from console.review.simulated.faults import find_true_label
from console.runs import costs, is_current, run_options
from console.runs.status import EVERY, Sample, draw_sample
from console.runs.trajectory_rows import task_spec
from console.trajectory import Label, Outcome, from_json
from console.trajectory.checkpoints import Checkpoint, pending_checkpoint
from storage import tables
from storage.queue import HALTED
from storage.tables import DecisionKind, RunKind

Key = tuple[int, int, str]
"""A checkpoint: trajectory id, step, kind."""
_AT_ONCE = 500

LABELS = ("gold", "adjudicated")
"""The kinds of labels: the source's labels, or settled labels with the source's labels as fallback."""

_ENDED = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.HALTED, Outcome.REJECTED, Outcome.FINISHED)
"""The outcomes of finished trials."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The rows of a run, one for each detector and trajectory; `routing` is the detector whose flags were reviewed.

    Columns: detector, trial, trajectory_id, task_key, step, kind, score, probability, flagged; label (misaligned,
    aligned or missing); expected_cost; priority (in the queue); inspected_ms (time of the first decision on a flagged
    action, or missing); reported (a reviewer called a flagged action misaligned); reported_ms (time of the first
    decision that called any action misaligned); corrected (1 or 0: later success of the task; missing if no attempt
    followed).
    """

    run: str
    routing: str
    labels: str
    rows: pd.DataFrame
    sample: Sample = EVERY


def read_pool(session: Session, run: tables.Run, labels: str = "gold") -> Pool:
    """Return the pool of a run; raise BadInput if the labels are neither gold nor adjudicated."""
    if labels not in LABELS:
        raise BadInput(f"{labels!r} is not a valid kind of labels. Use {' or '.join(LABELS)}.")
    sample = draw_sample(session, run)
    rows = _read_judged(session, run, sample)
    rows["label"] = _labels(session, run, rows, labels)
    rows["expected_cost"] = _expected_costs(session, run, rows)
    rows["priority"] = rows["expected_cost" if run_options(run).costs else "score"]
    rows = rows.merge(read_reviews(session, run, sample), on="trajectory_id", how="left")
    rows["reported"] = rows["reported"].eq(True)
    return Pool(run.name, routing_name(run), labels, rows, sample)


def pool_version(session: Session, run: tables.Run) -> tuple[Any, ...]:
    """Return a value that changes with the pool of the run, or with the inspections spent on it."""
    item, decision, entry, settled = tables.Item, tables.Decision, tables.LedgerEntry, tables.Adjudication
    record, sample = tables.Trajectory, draw_sample(session, run)
    decided = (
        sa_select(func.max(col(decision.id)), func.count(), func.count().filter(is_current()))
        .join(item, col(item.id) == col(decision.item_id))
        .join(record, col(record.id) == col(item.trajectory_id))
        .where(*sample.conditions(run))
    )
    moved = (
        sa_select(func.max(col(entry.id)))
        .join(tables.Budget, col(tables.Budget.id) == col(entry.budget_id))
        .where(col(tables.Budget.run_id) == run.id)
    )
    outcomes = sa_select(func.count()).where(*sample.conditions(run), col(record.outcome) == Outcome.SUCCEEDED)
    final = sa_select(func.max(col(settled.id)), func.count()).where(settlement_condition(run))
    counts = [value for query in (decided, moved, outcomes, final) for value in session.execute(query).one()]
    stated = (run.budget_cap, run.budget_percent, run.detector, run.options)
    return (run.id, *scores.read_totals(session, run, sample).version, *stated, *counts)


def read_reviews(session: Session, run: tables.Run, sample: Sample = EVERY) -> pd.DataFrame:
    """Return columns trajectory_id, inspected_ms, reported, reported_ms, corrected.

    Undone and replaced decisions do not count. An escalation is not a decision; an audit is not of a flagged action.
    `corrected` is 1 or 0 if the task of a reported action was tried again, in the next trial or with the edited action.
    """
    item, decision, record, verdict = tables.Item, tables.Decision, tables.Trajectory, tables.Verdict
    following, flagged = aliased(record), col(verdict.flagged).is_(True)
    decided = flagged & (col(decision.decision) != DecisionKind.ESCALATE)
    wrong = col(decision.label) == Label.MISALIGNED
    edited = and_(col(decision.decision) == DecisionKind.EDIT, col(record.outcome).in_(_ENDED))
    following_trial = and_(col(following.task_id) == col(record.task_id), col(following.trial) == col(record.trial) + 1)
    again = case((edited, col(record.outcome)), else_=col(following.outcome))
    succeeded = case((and_(wrong, again == Outcome.SUCCEEDED), 1), (and_(wrong, again.in_(_ENDED)), 0))
    statement = (
        sa_select(
            col(item.trajectory_id),
            func.min(case((decided, col(decision.decided_ms)))),
            func.max(case((flagged & wrong, 1), else_=0)),
            func.min(case((wrong, col(decision.decided_ms)))),
            func.max(succeeded),
        )
        .join(item, col(item.id) == col(decision.item_id))
        .join(record, col(record.id) == col(item.trajectory_id))
        .outerjoin(verdict, col(verdict.id) == col(item.verdict_id))
        .outerjoin(following, following_trial)
        .where(*sample.conditions(run), col(item.kind) != HALTED, is_current())
        # Grouped by the trajectory's own id, SQLite would read every trajectory of the run.
        .group_by(col(item.trajectory_id))
    )
    columns = ["trajectory_id", "inspected_ms", "reported", "reported_ms", "corrected"]
    rows = [tuple(row) for row in session.execute(statement)]
    kinds = {"inspected_ms": float, "reported": bool, "reported_ms": float, "corrected": float}
    return pd.DataFrame(rows, columns=columns).astype(kinds)


def read_checkpoints(session: Session, keys: Iterable[Key]) -> dict[Key, Checkpoint]:
    """Return the checkpoint at each key."""
    wanted: dict[int, list[Key]] = {}
    for key in keys:
        wanted.setdefault(key[0], []).append(key)
    ids, body = sorted(wanted), tables.TrajectoryBody
    found: dict[Key, Checkpoint] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = col(body.trajectory_id).in_(ids[start : start + _AT_ONCE])
        for id, text in session.exec(select(body.trajectory_id, body.body).where(some)):
            trajectory = from_json(text)
            found |= {key: pending_checkpoint(trajectory, key[1], key[2]) for key in wanted[id]}
    return found


def simulate_labels(session: Session, run: tables.Run, keys: Collection[Key]) -> dict[Key, str]:
    """Return the labels of a live run, simulated in a copy of its world; empty for other runs and worlds."""
    if run.kind != RunKind.LIVE or not keys:
        return {}
    tasks = _tasks(session, run)
    seen = read_checkpoints(session, [key for key in keys if key[0] in tasks])
    return {key: str(find_true_label(tasks[key[0]], checkpoint)) for key, checkpoint in seen.items()}


def has_settled_labels(session: Session, run: tables.Run) -> bool:
    """Return whether any checkpoint of the run has a settled label."""
    return session.exec(select(tables.Adjudication.id).where(settlement_condition(run)).limit(1)).first() is not None


def settlement_condition(run: tables.Run) -> Any:
    """Return the condition for adjudications of this run, or of the study that it belongs to."""
    settled = tables.Adjudication
    own = col(settled.run_id) == run.id
    return own if run.study_id is None else or_(own, col(settled.study_id) == run.study_id)


def _tasks(session: Session, run: tables.Run) -> dict[int, TaskSpec]:
    record, task = tables.Trajectory, tables.Task
    playable = [name for name, environment in ENVIRONMENTS.items() if environment.start]
    statement = (
        select(record.id, task)
        .join(task, col(task.id) == col(record.task_id))
        .where(record.run_id == run.id, col(task.environment).in_(playable), task.gold != "{}")
    )
    return {id or 0: task_spec(asked) for id, asked in session.exec(statement)}


def _read_judged(session: Session, run: tables.Run, sample: Sample) -> pd.DataFrame:
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
        scores.select_judged(run, *columns, place.label("place"), sample=sample)
        .join(task, col(task.id) == col(record.task_id))
        .subquery()
    )
    statement = (
        sa_select(*(column for column in ranked.c if column.name != "place"))
        .where(ranked.c.place == 1)
        .order_by(ranked.c.detector, ranked.c.trajectory_id)
    )
    rows: list[Any] = [tuple(row) for row in session.execute(statement)]
    kinds = {"flagged": bool, "label": object, "score": float, "probability": float}
    return pd.DataFrame(rows, columns=statement.selected_columns.keys()).astype(kinds)


def _labels(session: Session, run: tables.Run, rows: pd.DataFrame, labels: str) -> pd.Series[Any]:
    """Return the label of each row: the simulated outcome of a live run's flagged actions, or the source's label."""
    tried = simulate_labels(session, run, set(_key_column(rows[rows["flagged"] | rows["label"].isna()])))
    own = _replace_labels(rows["label"], _key_column(rows), tried)
    if labels != "adjudicated":
        return own
    units = rows["task_key"] + "/" + rows["step"].astype(str) + "/" + rows["kind"]
    units = units.where(rows["trial"] == 0, units + "/trial " + rows["trial"].astype(str))
    settled = tables.Adjudication
    final = select(settled.unit, settled.label).where(settlement_condition(run)).order_by(col(settled.revision))
    return _replace_labels(own, units, dict(session.exec(final).all()))


def _replace_labels(labels: pd.Series[Any], keys: pd.Series[Any], better: Mapping[Any, str]) -> pd.Series[Any]:
    found = [better.get(key, label) for key, label in zip(keys, labels, strict=True)]
    return pd.Series(found, index=labels.index, dtype=object)


def _expected_costs(session: Session, run: tables.Run, rows: pd.DataFrame) -> pd.Series[float]:
    """Return the probability, or the score if there is none, times the cost of a wrong action."""
    worth = rows["probability"].fillna(rows["score"])
    stated = run_options(run).costs
    if not stated or rows.empty:
        return worth
    seen = read_checkpoints(session, set(_key_column(rows[rows["flagged"]])))
    amounts = {key: costs.cost(stated, checkpoint) for key, checkpoint in seen.items()}
    return worth.mul(pd.Series([amounts.get(key, 1.0) for key in _key_column(rows)], index=rows.index))


def _key_column(rows: pd.DataFrame) -> pd.Series[Any]:
    keys = list(zip(rows["trajectory_id"].tolist(), rows["step"].tolist(), rows["kind"].tolist(), strict=True))
    return pd.Series(keys, index=rows.index, dtype=object)
