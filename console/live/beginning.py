"""New rows of a live run: its tasks once, then one trajectory per task and trial."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from sqlalchemy import insert
from sqlmodel import Session, col

from console.environments.environment import TaskSpec
from console.runs.ingest import prepare
from console.trajectory import Outcome, Trajectory
from console.trajectory.checkpoints import digest
from storage import tables


def insert_tasks(session: Session, run: tables.Run, tasks: Sequence[TaskSpec]) -> list[int]:
    """Stores what is to be done, with all that an environment needs to set it up; returns the ids in order."""
    rows = [
        {
            "run_id": run.id,
            "task_key": task.task_id,
            "environment": task.environment,
            "instruction": task.instruction,
            "instruction_digest": digest(task.instruction),
            "gold": orjson.dumps(dict(task.gold)).decode(),
            "options": orjson.dumps(dict(task.options)).decode(),
        }
        for task in tasks
    ]
    statement = insert(tables.Task).returning(col(tables.Task.id), sort_by_parameter_order=True)
    return list(session.execute(statement, rows).scalars())


def fresh(task: TaskSpec, trial: int, memory: Sequence[str] = ()) -> Trajectory:
    """A trial that has not begun."""
    return Trajectory(
        task.task_id, task.environment, task.instruction, trial=trial, outcome=Outcome.RUNNING, memory=tuple(memory)
    )


def insert_trials(
    session: Session, run: tables.Run, trials: Sequence[tuple[int, Trajectory]], at_ms: int, **more: object
) -> list[int]:
    """Stores trajectories with their tasks' ids; returns their own in order. `more` are further columns of them all.

    The digest says task and trial, not what was done: a run holds one trajectory of each, or the insert fails.
    """
    if not trials:
        return []
    rows = [_row(run, task_id, record, at_ms) | more for task_id, record in trials]
    statement = insert(tables.Trajectory).returning(col(tables.Trajectory.id), sort_by_parameter_order=True)
    ids = list(session.execute(statement, rows).scalars())
    bodies = [{"trajectory_id": id, "body": record.to_json()} for id, (_, record) in zip(ids, trials, strict=True)]
    session.execute(insert(tables.TrajectoryBody), bodies)
    return ids


def _row(run: tables.Run, task_id: int, record: Trajectory, at_ms: int) -> dict[str, object]:
    identity = {"run_id": run.id, "task_id": task_id, "digest": digest(f"live {task_id} {record.trial}")}
    return prepare(record, ()).row | identity | {"created_ms": at_ms}
