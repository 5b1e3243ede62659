"""Trials as rows: loaded to be played, written step by step; each function is part of the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import orjson
from sqlalchemy import Executable, bindparam, insert, update
from sqlmodel import Session, col, select

from console.environments.environment import TaskSpec
from console.runs import audit_log
from console.runs.ingest import count_critical
from console.runs.tasks import task_spec
from console.trajectory import Outcome, Trajectory, from_json
from console.trajectory.checkpoints import digest
from storage import tables

RELEASED = "simulation"
"""`released_by` of a trajectory whose undecided action an experiment let run."""

UNKNOWN_EXECUTION = "execution unknown"
"""The reason of an end after a go-ahead whose result never came."""

_THOUGHT = "pending_thought"

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


@dataclass(slots=True)
class Trial:
    """A trial under way; `record` is what of it is written."""

    id: int
    task_id: int
    task: TaskSpec
    record: Trajectory
    released: bool = False

    @property
    def name(self) -> str:
        """What an event or a sentence calls it."""
        return f"{self.record.task_id}, trial {self.record.trial}"


def load(session: Session, ids: Sequence[int]) -> list[Trial]:
    """The trials of these trajectory ids, in their order."""
    record, task, body = tables.Trajectory, tables.Task, tables.TrajectoryBody
    statement = (
        select(record, task, body.body)
        .join(task, col(task.id) == record.task_id)
        .join(body, col(body.trajectory_id) == col(record.id))
        .where(col(record.id).in_(ids))
        .order_by(col(record.id))
    )
    return [
        Trial(row.id or 0, row.task_id, task_spec(asked), from_json(text), row.released_by is not None)
        for row, asked, text in session.exec(statement)
    ]


def write(session: Session, trial_id: int, record: Trajectory, patterns: Sequence[str]) -> None:
    """Brings the trajectory's row and body up to the record."""
    row = {
        "trajectory": trial_id,
        "outcome": str(record.outcome),
        "recorded_outcome": str(record.outcome),
        "label": record.label,
        "critical_action": record.critical_action,
        "n_steps": len(record.steps),
        "n_critical": count_critical(record, patterns),
    }
    connection = session.connection()
    connection.execute(_ROW, row)
    connection.execute(_BODY, {"trajectory": trial_id, "body": record.to_json()})


def intend(session: Session, trajectory_id: int, step: int, action: str, decision_id: int | None, at_ms: int) -> int:
    """Writes, before it does, the intent that the critical action runs as that step; returns the intent's id.

    Raises IntegrityError where the step has an intent already.
    """
    row = {
        "trajectory_id": trajectory_id,
        "step": step,
        "action": action,
        "action_digest": digest(action),
        "decision_id": decision_id,
        "started_ms": at_ms,
    }
    return insert_row(session, "intent", row)


def insert_row(session: Session, table: str, row: Mapping[str, Any]) -> int:
    """The id of the row just inserted, past the ORM, whose price would be most of an unflagged check."""
    inserted: int = session.connection().execute(_insertion(table), row).scalar_one()
    return inserted


@cache
def _insertion(table: str) -> Executable:
    columns = tables.Table.metadata.tables[table]
    return insert(columns).returning(*columns.primary_key)


def fulfil(session: Session, trial_id: int, step: int, at_ms: int) -> None:
    """Says that the action of that step has run and what came of it is written."""
    intent = tables.Intent
    session.execute(
        update(intent).where(col(intent.trajectory_id) == trial_id, col(intent.step) == step).values(finished_ms=at_ms)
    )


def held(record: Trajectory, thought: str, action: str) -> Trajectory:
    """The trajectory stopped before a critical action."""
    extra = {**record.extra, _THOUGHT: thought}
    return replace(record, outcome=Outcome.PAUSED, critical_action=action, extra=extra)


def pending_thought(record: Trajectory) -> str:
    """What the Actor thought when it chose the action that is held."""
    return str(record.extra.get(_THOUGHT, ""))


def moving(record: Trajectory, **changes: Any) -> Trajectory:
    """The trajectory under way again, nothing pending."""
    extra = {name: value for name, value in record.extra.items() if name != _THOUGHT}
    return replace(record, **{"critical_action": None, "outcome": Outcome.RUNNING, "extra": extra, **changes})


def stopped(record: Trajectory, outcome: Outcome, reason: str) -> Trajectory:
    """The trajectory ended by us, with the reason; a pending action stays to be seen and never runs."""
    return replace(record, outcome=outcome, extra={**record.extra, "reason": reason})


def stop(session: Session, run: tables.Run, trial: Trial, outcome: Outcome, reason: str, at_ms: int) -> None:
    """Writes the end of a trial that we stop, with an event that says why."""
    trial.record = stopped(trial.record, outcome, reason)
    write(session, trial.id, trial.record, orjson.loads(run.critical))
    detail = {"trajectory_id": trial.id, "reason": reason}
    audit_log.record(session, run, f"trial {outcome}", at_ms, actor="engine", subject=trial.name, detail=detail)


def storable(text: str) -> str:
    """The text without what a database cannot hold."""
    # Half of a surrogate pair is no UTF-8, and PostgreSQL refuses a NUL.
    return text.encode("utf-8", "replace").decode().replace("\0", " ")
