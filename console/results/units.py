"""Units: checkpoints by names that every participant's own copy of a task shares."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select
from sqlmodel import col

from console.trajectory import Label
from storage import tables


def unit_of(task_key: str, step: int, kind: str, trial: int = 0) -> str:
    """The name of a checkpoint within its study or run; that of trial 0 is the same for every participant."""
    name = f"{task_key}/{step}/{kind}"
    return name if trial == 0 else f"{name}/trial {trial}"


def labelled(study_id: int | None, run_id: int | None, reviewer: str | None = None) -> Any:
    """The select of labelled checkpoints: task key, step, kind, trial, an item, labels aligned, labels misaligned.

    Of a study those are trial 0 of its participants' own items, of a run all its items.
    """
    item, decision, record, task = tables.Item, tables.Decision, tables.Trajectory, tables.Task
    place = task.task_key, item.step, item.kind, item.trial
    counted = [func.count().filter(col(decision.label) == label) for label in (Label.ALIGNED, Label.MISALIGNED)]
    statement = (
        select(*map(col, place), func.min(item.id), *counted)
        .select_from(item)
        .join(decision, col(decision.item_id) == col(item.id))
        .join(record, col(record.id) == item.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(col(decision.superseded).is_(False), col(decision.label).is_not(None))
        .group_by(*map(col, place))
    )
    if reviewer is not None:
        statement = statement.where(col(decision.reviewer) == reviewer)
    if study_id is None:
        return statement.where(col(item.run_id) == run_id)
    arms = select(col(tables.Assignment.run_id)).where(col(tables.Assignment.study_id) == study_id)
    return statement.where(col(item.run_id).in_(arms), col(item.trial) == 0)
