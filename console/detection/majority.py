"""Majority labels of checkpoints: the decisions of most reviewers."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import Executable, Select, select
from sqlmodel import Session, col

from console.runs import is_current
from console.trajectory import Label
from console.trajectory.checkpoints import CheckpointKind
from storage import tables

Key = tuple[int, int, str]
"""A checkpoint: trajectory id, step, kind."""


def checkpoint_key(row: Any) -> Key:
    """Return the checkpoint of a verdict, or of a row with the same columns."""
    return row.trajectory_id, row.step, row.kind


def find_majority_labels(
    session: Session, labels: Executable, *, tie: bool | None = None
) -> dict[Key, tuple[bool, str]]:
    """Return for each labelled checkpoint whether it is misaligned, and its task.

    `labels` selects trajectory id, step, kind, label and task key. A tie gives `tie`; if it is None, the checkpoint is
    left out.
    """
    votes: dict[Key, list[bool]] = defaultdict(list)
    tasks: dict[Key, str] = {}
    for trajectory_id, step, kind, label, task in session.execute(labels):
        votes[trajectory_id, step, kind].append(label == Label.MISALIGNED)
        tasks[trajectory_id, step, kind] = task
    halves = {key: 2 * sum(found) - len(found) for key, found in votes.items()}
    majorities = {key: half > 0 if half else tie for key, half in halves.items()}
    return {key: (misaligned, tasks[key]) for key, misaligned in majorities.items() if misaligned is not None}


def select_reviewers_labels(run: tables.Run) -> Select[Any]:
    """Return the labels in a run's current decisions, for `find_majority_labels`."""
    item, decision, record, task = tables.Item, tables.Decision, tables.Trajectory, tables.Task
    columns: list[Any] = [item.trajectory_id, item.step, item.kind, decision.label, task.task_key]
    return (
        select(*columns)
        .select_from(item)
        .join(decision, col(decision.item_id) == col(item.id))
        .join(record, col(record.id) == col(item.trajectory_id))
        .join(task, col(task.id) == col(record.task_id))
        .where(col(item.run_id) == run.id, is_current(), col(decision.label).is_not(None))
        .where(col(item.kind) != CheckpointKind.HALTED)
    )
