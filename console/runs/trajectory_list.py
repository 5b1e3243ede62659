"""Trajectories out: load one, list a run's, filter and page through them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import func, select
from sqlmodel import Session, col

from console.errors import Unknown
from console.trajectory import Trajectory, from_json
from storage import tables


def load(session: Session, trajectory_id: int) -> Trajectory:
    """The whole record of a trajectory; raises Unknown."""
    body = session.get(tables.TrajectoryBody, trajectory_id)
    if body is None:
        raise Unknown("trajectory", trajectory_id)
    return from_json(body.body)


def rows(session: Session, run: tables.Run) -> Iterator[dict[str, Any]]:
    """One dict per trajectory of the run in import order, as `trajectory list --json` prints them."""
    record, task = tables.Trajectory, tables.Task
    statement = (
        select(record, task.task_key, task.instruction)  # type: ignore[call-overload]
        .join(task, task.id == record.task_id)
        .where(record.run_id == run.id)
        .order_by(record.id)
        .execution_options(yield_per=1_000)
    )
    for found, task_key, instruction in session.execute(statement):
        yield _listed(found, task_key, instruction)


def _listed(found: tables.Trajectory, task_key: str, instruction: str) -> dict[str, Any]:
    return {
        "trajectory_id": found.id,
        "task_id": task_key,
        "trial": found.trial,
        "environment": found.environment,
        "instruction": instruction,
        "outcome": found.outcome,
        "n_steps": found.n_steps,
        "n_critical_actions": found.n_critical,
        "label": found.label,
        "carried_over": found.carried_over,
        "source": orjson.loads(found.source),
    }


@dataclass(frozen=True, slots=True)
class Filter:
    """What the list of trajectories is narrowed to; empty means any."""

    text: str = ""
    outcomes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    trial: int | None = None


def count(session: Session, run: tables.Run, wanted: Filter) -> int:
    """How many trajectories of the run match."""
    statement = select(func.count()).select_from(tables.Trajectory).join(tables.Task, _same_task())
    return int(session.execute(statement.where(*_conditions(run, wanted))).scalar_one())


def page(session: Session, run: tables.Run, wanted: Filter, *, offset: int, limit: int) -> list[dict[str, Any]]:
    """One page of matching trajectories in import order."""
    record, task = tables.Trajectory, tables.Task
    statement = (
        select(record, task.task_key, task.instruction)  # type: ignore[call-overload]
        .join(task, _same_task())
        .where(*_conditions(run, wanted))
        .order_by(record.id)
        .offset(offset)
        .limit(limit)
    )
    columns = ("trajectory_id", "task_id", "trial", "outcome", "label", "n_steps", "instruction", "carried_over")
    rows = [_listed(*row) for row in session.execute(statement)]
    return [{column: row[column] for column in columns} for row in rows]


def task_of(session: Session, trajectory_id: int) -> int:
    """The row id of a trajectory's task; raises Unknown."""
    row = session.get(tables.Trajectory, trajectory_id)
    if row is None:
        raise Unknown("trajectory", trajectory_id)
    return row.task_id


def previous(session: Session, trajectory_id: int) -> Trajectory | None:
    """The record of the same task's trial before, or None."""
    row = session.get(tables.Trajectory, trajectory_id)
    if row is None:
        raise Unknown("trajectory", trajectory_id)
    record = tables.Trajectory
    statement = (
        select(col(record.id))
        .where(col(record.task_id) == row.task_id, col(record.trial) < row.trial)
        .order_by(col(record.trial).desc())
        .limit(1)
    )
    found = session.execute(statement).scalar()
    return load(session, found) if found else None


def _same_task() -> Any:
    return col(tables.Task.id) == col(tables.Trajectory.task_id)


def _conditions(run: tables.Run, wanted: Filter) -> list[Any]:
    record, task = tables.Trajectory, tables.Task
    found: list[Any] = [col(record.run_id) == run.id]
    for word in wanted.text.split():
        found.append(col(task.instruction).icontains(word, autoescape=True) | (col(task.task_key) == word))
    if wanted.outcomes:
        found.append(col(record.outcome).in_(wanted.outcomes))
    if wanted.labels:
        named = col(record.label).in_([label for label in wanted.labels if label != "none"])
        found.append(named | col(record.label).is_(None) if "none" in wanted.labels else named)
    if wanted.trial is not None:
        found.append(col(record.trial) == wanted.trial)
    return found
