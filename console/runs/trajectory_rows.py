"""Tasks and trajectories as rows: made ready, inserted, brought up to their record, and the intents to run actions.

Each function is part of the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
from sqlalchemy import Connection, Executable, bindparam, insert, select, update
from sqlmodel import Session, col

from console.environments import environment
from console.environments.environment import TaskSpec
from console.trajectory import Trajectory, checkpoints
from storage import tables
from storage.queue.transaction import Transaction

# Written for every step of every trial, so they are put together once.
_TRAJECTORY, _TEXT = tables.Trajectory, tables.TrajectoryBody
_ROW = (
    update(_TRAJECTORY)
    .where(col(_TRAJECTORY.id) == bindparam("trajectory"))
    .values(
        {
            name: bindparam(name)
            for name in ("outcome", "recorded_outcome", "label", "critical_action", "n_steps", "n_critical")
        }
    )
)
_BODY = update(_TEXT).where(col(_TEXT.trajectory_id) == bindparam("trajectory")).values(body=bindparam("body"))

_INSERT_TASK = """
INSERT INTO task (run_id, task_key, environment, instruction, instruction_digest)
VALUES (:run_id, :task_key, :environment, :instruction, :instruction_digest)
ON CONFLICT (run_id, task_key, instruction_digest) DO NOTHING"""

_INSERT_TRAJECTORY = """
INSERT INTO trajectory (run_id, task_id, trial, environment, outcome, recorded_outcome, label, carried_over,
                        critical_action, n_steps, n_critical, digest, source, created_ms, import_id)
VALUES (:run_id,
        (SELECT id FROM task
         WHERE run_id = :run_id AND task_key = :task_key AND instruction_digest = :instruction_digest),
        :trial, :environment, :outcome, :recorded_outcome, :label, :carried_over, :critical_action, :n_steps,
        :n_critical, :digest, :source, :created_ms, :import_id)"""

_INSERT_BODY = """
INSERT INTO trajectory_body (trajectory_id, body)
VALUES ((SELECT id FROM trajectory WHERE run_id = :run_id AND digest = :digest), :body)"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A trajectory as rows: its task, its own row, and its canonical JSON."""

    task: dict[str, Any]
    row: dict[str, Any]
    body: str


def prepare(record: Trajectory, patterns: Sequence[str]) -> Prepared:
    """The row, the task and the body of a trajectory, ready to insert."""
    task = {
        "task_key": record.task_id,
        "environment": record.environment,
        "instruction": record.instruction,
        "instruction_digest": checkpoints.digest(record.instruction),
    }
    row = {
        "trial": record.trial,
        "environment": record.environment,
        "outcome": str(record.outcome),
        "recorded_outcome": str(record.outcome),
        "label": record.label,
        "carried_over": record.carried_over,
        "critical_action": record.critical_action,
        "n_steps": len(record.steps),
        "n_critical": count_critical(record, patterns),
        "digest": record.content_digest(),
        "source": orjson.dumps(dict(record.source)).decode(),
    }
    return Prepared(task, row, record.to_json())


def insert_rows(
    session: Session, run: tables.Run, records: Sequence[Prepared], now_ms: int, import_id: int | None = None
) -> None:
    """Inserts trajectories with their tasks and bodies, none of which the run may hold; tasks that are there are kept.

    A task or trajectory is found by what identifies it, so that no id travels back and forth.
    """
    if not records:
        return
    common = {"run_id": run.id, "created_ms": now_ms, "import_id": import_id}
    rows = [{**one.task, **one.row, **common, "body": one.body} for one in records]
    db = Transaction.joined(session)
    for statement in (_INSERT_TASK, _INSERT_TRAJECTORY, _INSERT_BODY):
        db.run_many(statement, rows)


def insert_task(session: Session, run: tables.Run, task: tables.Task) -> int:
    """The id of the run's own row of a task that another run has; a task that is there is kept."""
    row = {"run_id": run.id, **{name: getattr(task, name) for name in _OF_TASK}}
    db = Transaction.joined(session)
    db.run(_INSERT_TASK, **row)
    table = tables.Task
    same = col(table.task_key) == task.task_key, col(table.instruction_digest) == task.instruction_digest
    return int(session.execute(select(col(table.id)).where(col(table.run_id) == run.id, *same)).scalar_one())


_OF_TASK = ("task_key", "environment", "instruction", "instruction_digest")


def count_critical(record: Trajectory, patterns: Sequence[str]) -> int:
    """Critical actions that were executed, failed ones included."""
    refused = environment(record.environment).not_executed
    found = ((step, checkpoints.count_critical(step.action, patterns)) for step in record.steps)
    return sum(count for step, count in found if count and not step.observation.lstrip().startswith(refused or ("\0",)))


def task_spec(task: tables.Task) -> TaskSpec:
    """The environment's task of a row of `task`, with its gold and its options."""
    gold, options = orjson.loads(task.gold), orjson.loads(task.options)
    return TaskSpec(task.task_key, task.environment, task.instruction, gold, options)


def write(session: Session, trajectory_id: int, record: Trajectory, patterns: Sequence[str]) -> None:
    """Brings the trajectory's row and body up to the record."""
    row = {
        "trajectory": trajectory_id,
        "outcome": str(record.outcome),
        "recorded_outcome": str(record.outcome),
        "label": record.label,
        "critical_action": record.critical_action,
        "n_steps": len(record.steps),
        "n_critical": count_critical(record, patterns),
    }
    connection = session.connection()
    connection.execute(_ROW, row)
    connection.execute(_BODY, {"trajectory": trajectory_id, "body": record.to_json()})


def intend(session: Session, trajectory_id: int, step: int, action: str, decision_id: int | None, at_ms: int) -> int:
    """Writes, before it does, the intent that the critical action runs as that step; returns the intent's id.

    Raises IntegrityError where the step has an intent already.
    """
    row = {
        "trajectory_id": trajectory_id,
        "step": step,
        "action": action,
        "action_digest": checkpoints.digest(action),
        "decision_id": decision_id,
        "started_ms": at_ms,
    }
    return insert_row(session.connection(), "intent", row)


def insert_row(connection: Connection, table: str, row: Mapping[str, Any]) -> int:
    """The id of the row just inserted, past the ORM, whose price would be most of an unflagged check."""
    inserted: int = connection.execute(_insertion(table), row).scalar_one()
    return inserted


@cache
def _insertion(table: str) -> Executable:
    columns = tables.Table.metadata.tables[table]
    return insert(columns).returning(*columns.primary_key)
