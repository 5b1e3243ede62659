"""Labels beside the source's own: what an action that never ran would have led to, and what adjudicators settled."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlmodel import Session, col, or_, select

from console.environments import ENVIRONMENTS
from console.environments.environment import TaskSpec
from console.oversight.checkpoints import Key, checkpoints_of
from console.review.simulated.ground_truth import spec_of, true_label
from storage import tables
from storage.tables import RunKind


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
    return {id or 0: spec_of(asked) for id, asked in session.exec(statement)}
