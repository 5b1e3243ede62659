"""Trials as stored: loaded to be played, held, stopped; each function is part of the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import update
from sqlmodel import Session, col, select

from console.actors import Move
from console.environments.environment import TaskSpec
from console.runs import audit_log
from console.runs.trajectory_rows import task_spec, write
from console.trajectory import Outcome, Trajectory, from_json
from storage import tables

RELEASED = "simulation"
"""`released_by` of a trajectory whose undecided action an experiment let run."""

UNKNOWN_EXECUTION = "execution unknown"
"""The reason of an end after a go-ahead whose result never came."""

_THOUGHT, _EXTRA = "pending_thought", "pending_extra"


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


def fulfil(session: Session, trial_id: int, step: int, at_ms: int) -> None:
    """Says that the action of that step has run and what came of it is written."""
    intent = tables.Intent
    session.execute(
        update(intent).where(col(intent.trajectory_id) == trial_id, col(intent.step) == step).values(finished_ms=at_ms)
    )


def held(record: Trajectory, move: Move) -> Trajectory:
    """The trajectory stopped before a critical action."""
    extra = {**record.extra, _THOUGHT: move.thought} | ({_EXTRA: dict(move.extra)} if move.extra else {})
    return replace(record, outcome=Outcome.PAUSED, critical_action=move.action, extra=extra)


def pending_move(record: Trajectory) -> Move | None:
    """The move that is held, as the Actor made it; None where none is."""
    if record.outcome is not Outcome.PAUSED or record.critical_action is None:
        return None
    extra = record.extra.get(_EXTRA)
    thought = str(record.extra.get(_THOUGHT, ""))
    return Move(thought, record.critical_action, extra if isinstance(extra, dict) else {})


def moving(record: Trajectory, **changes: Any) -> Trajectory:
    """The trajectory under way again, nothing pending."""
    extra = {name: value for name, value in record.extra.items() if name not in (_THOUGHT, _EXTRA)}
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


def storable_extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    """The same for everything that an Actor keeps with a step; raises TypeError where JSON has no form for it."""
    kept: dict[str, Any] = json.loads(storable(json.dumps(dict(extra), ensure_ascii=False)))
    return kept
