"""What there is to do in a run: trials under way, actions that nobody judged yet, ends that nobody looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session, col, or_, select

from console.trajectory import Outcome
from console.trajectory.checkpoints import CheckpointKind
from storage import tables


def under_way(session: Session, run: tables.Run) -> list[int]:
    """Trials to play on: running, held with no item (so not judged, or not flagged), or released."""
    item, record = tables.Item, tables.Trajectory
    judged = select(item.id).where(item.trajectory_id == col(record.id), col(item.step) == col(record.n_steps)).exists()
    held = (col(record.outcome) == Outcome.PAUSED) & or_(~judged, col(record.released_by).is_not(None))
    return _ids(session, run, or_(col(record.outcome) == Outcome.RUNNING, held))


def unseen_ends(session: Session, run: tables.Run) -> list[int]:
    """Trials that ended, with neither an item nor a verdict at their end."""
    item, verdict, record = tables.Item, tables.Verdict, tables.Trajectory
    queued = select(item.id).where(
        item.trajectory_id == col(record.id), col(item.kind).in_([CheckpointKind.HALTED, CheckpointKind.END])
    )
    judged = select(verdict.id).where(verdict.trajectory_id == col(record.id), verdict.kind == str(CheckpointKind.END))
    ended = col(record.outcome).in_([Outcome.HALTED, Outcome.SUCCEEDED, Outcome.FAILED])
    own = col(record.carried_over).is_(False) & col(record.released_by).is_(None)
    return _ids(session, run, ended & own & ~queued.exists() & ~judged.exists())


def latest(session: Session, run: tables.Run) -> Sequence[tables.Trajectory]:
    """The last trial of each task, in the order of the tasks."""
    record = tables.Trajectory
    last: dict[int, tables.Trajectory] = {}
    for row in session.exec(select(record).where(record.run_id == run.id).order_by(col(record.trial))):
        last[row.task_id] = row
    return [last[task_id] for task_id in sorted(last)]


def _ids(session: Session, run: tables.Run, wanted: Any) -> list[int]:
    record = tables.Trajectory
    statement = select(record.id).where(record.run_id == run.id, wanted).order_by(col(record.id))
    return [id for id in session.exec(statement) if id is not None]
