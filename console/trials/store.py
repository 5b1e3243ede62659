"""Stored trials: functions that load, hold and end trials in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import delete, update
from sqlmodel import Session, col, or_, select

from console.actors import Move
from console.auth import audit_log
from console.environments.environment import TaskSpec
from console.runs.trajectory_rows import task_spec, write
from console.trajectory import Outcome, Trajectory, from_json
from console.trajectory.checkpoints import CheckpointKind, to_storable_text
from storage import tables

RELEASED = "simulation"
"""The value of `released_by` if an experiment ran the undecided action of a trajectory."""

UNKNOWN_EXECUTION = "execution unknown"
"""The reason of a trial that ended because the result of its approved action was never stored."""

_THOUGHT, _EXTRA, _ACTION = "pending_thought", "pending_extra", "pending_action"


@dataclass(slots=True)
class Trial:
    """An open trial; `record` is its stored trajectory."""

    id: int
    task_id: int
    task: TaskSpec
    record: Trajectory
    released: bool = False

    @property
    def name(self) -> str:
        """The trial's name in events and messages."""
        return f"{self.record.task_id}, trial {self.record.trial}"


def load_trials(session: Session, ids: Sequence[int]) -> list[Trial]:
    """Return the trials with these trajectory ids, ordered by id."""
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


def finish_intent(session: Session, trial_id: int, step: int, at_ms: int) -> None:
    """Mark the intent of this step as finished: its action has run and the result is stored."""
    intent = tables.Intent
    session.execute(
        update(intent).where(col(intent.trajectory_id) == trial_id, col(intent.step) == step).values(finished_ms=at_ms)
    )


def withdraw_intent(session: Session, trial_id: int, step: int) -> None:
    """Delete the unfinished intent of this step, because its action certainly never ran."""
    intent = tables.Intent
    of_step = (col(intent.trajectory_id) == trial_id, col(intent.step) == step, col(intent.finished_ms).is_(None))
    session.execute(delete(intent).where(*of_step))


def hold_trial(record: Trajectory, move: Move) -> Trajectory:
    """Return the trajectory, stopped before the critical action of the move."""
    extra = {**record.extra, _THOUGHT: move.thought} | ({_EXTRA: dict(move.extra)} if move.extra else {})
    return replace(record, outcome=Outcome.PAUSED, critical_action=move.action, extra=extra)


def begin_action(record: Trajectory, move: Move, action: str) -> Trajectory:
    """Return the held trajectory as running, with the held move and the action, which reviewers may have edited."""
    held = hold_trial(record, move)
    return replace(held, outcome=Outcome.RUNNING, critical_action=action, extra={**held.extra, _ACTION: move.action})


def undo_begun_action(session: Session, run: tables.Run, trial: Trial, at_ms: int) -> bool:
    """Hold a trial before its begun action, which a crash undid, and record this; return False without a move."""
    record = trial.record
    action = record.extra.get(_ACTION)
    if action is None:
        return False
    extra = {name: value for name, value in record.extra.items() if name != _ACTION}
    trial.record = replace(record, outcome=Outcome.PAUSED, critical_action=action, extra=extra)
    withdraw_intent(session, trial.id, len(record.steps))
    write(session, trial.id, trial.record, orjson.loads(run.critical))
    detail = {"trajectory_id": trial.id, "action": record.critical_action}
    audit_log.record(session, run, "action undone by a crash", at_ms, by="engine", subject=trial.name, detail=detail)
    return True


def get_pending_move(record: Trajectory) -> Move | None:
    """Return the held move as the Actor made it, or None if the trial holds no move."""
    if record.outcome is not Outcome.PAUSED or record.critical_action is None:
        return None
    extra = record.extra.get(_EXTRA)
    thought = str(record.extra.get(_THOUGHT, ""))
    return Move(thought, record.critical_action, extra if isinstance(extra, dict) else {})


def resume_trial(record: Trajectory, **changes: Any) -> Trajectory:
    """Return the trajectory as running, without a pending action."""
    extra = {name: value for name, value in record.extra.items() if name not in (_THOUGHT, _EXTRA, _ACTION)}
    return replace(record, **{"critical_action": None, "outcome": Outcome.RUNNING, "extra": extra, **changes})


def end_trial(record: Trajectory, outcome: Outcome, reason: str) -> Trajectory:
    """Return the trajectory as ended by the console, with the reason; a pending action stays but never runs."""
    return replace(record, outcome=outcome, extra={**record.extra, "reason": reason})


def store_end(session: Session, run: tables.Run, trial: Trial, outcome: Outcome, reason: str, at_ms: int) -> None:
    """Store that the console ended the trial, and record the reason in the audit log."""
    trial.record = end_trial(trial.record, outcome, reason)
    write(session, trial.id, trial.record, orjson.loads(run.critical))
    detail = {"trajectory_id": trial.id, "reason": reason}
    audit_log.record(session, run, f"trial {outcome}", at_ms, by="engine", subject=trial.name, detail=detail)


def to_storable_extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the characters that a database cannot store in an Actor's data; raise TypeError if it is not JSON."""
    kept: dict[str, Any] = json.loads(to_storable_text(json.dumps(dict(extra), ensure_ascii=False)))
    return kept


def list_open_trials(session: Session, run: tables.Run) -> list[int]:
    """List the trials to continue: running, held without an item (not judged or not flagged), or released."""
    item, record = tables.Item, tables.Trajectory
    judged = select(item.id).where(item.trajectory_id == col(record.id), col(item.step) == col(record.n_steps)).exists()
    held = (col(record.outcome) == Outcome.PAUSED) & or_(~judged, col(record.released_by).is_not(None))
    return _ids(session, run, or_(col(record.outcome) == Outcome.RUNNING, held))


def list_unjudged_ends(session: Session, run: tables.Run) -> list[int]:
    """List the ended trials whose end has neither an item nor a verdict."""
    item, verdict, record = tables.Item, tables.Verdict, tables.Trajectory
    queued = select(item.id).where(
        item.trajectory_id == col(record.id), col(item.kind).in_([CheckpointKind.HALTED, CheckpointKind.END])
    )
    judged = select(verdict.id).where(verdict.trajectory_id == col(record.id), verdict.kind == str(CheckpointKind.END))
    ended = col(record.outcome).in_([Outcome.HALTED, Outcome.SUCCEEDED, Outcome.FAILED])
    own = col(record.carried_over).is_(False) & col(record.released_by).is_(None)
    return _ids(session, run, ended & own & ~queued.exists() & ~judged.exists())


def list_latest_trials(session: Session, run: tables.Run) -> Sequence[tables.Trajectory]:
    """List the last trial of each task, in the order of the tasks."""
    record = tables.Trajectory
    last: dict[int, tables.Trajectory] = {}
    for row in session.exec(select(record).where(record.run_id == run.id).order_by(col(record.trial))):
        last[row.task_id] = row
    return [last[task_id] for task_id in sorted(last)]


def _ids(session: Session, run: tables.Run, wanted: Any) -> list[int]:
    record = tables.Trajectory
    statement = select(record.id).where(record.run_id == run.id, wanted).order_by(col(record.id))
    return [id for id in session.exec(statement) if id is not None]
