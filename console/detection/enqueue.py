"""The review queue after a detection: what its routing detector flags, what is halted, and what is flagged no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sqlmodel import Session, col, select

from console import runs
from console.database import now_ms, reading, review_queue
from console.detection.verdicts import flagged_item, halted_item
from console.trajectory import Outcome, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at
from storage import tables
from storage.queue import NewItem
from storage.tables import ItemStatus


def enqueue(run: tables.Run) -> int:
    """Queues what is flagged or halted, withdraws what waits and is neither; returns how many items are new."""
    queue = review_queue()
    with reading() as session:
        wanted = runs.cap(session, run)
        items = [*_flagged_items(session, run), *_halted_items(session, run)]
        withdrawn = _no_longer_flagged(session, run, items)
    if withdrawn:
        queue.cancel(item_ids=withdrawn, now_ms=now_ms())
    runs.open_budgets(queue, _id(run), sorted({item.trial for item in items}), wanted)
    return queue.put(items)


def _flagged_items(session: Session, run: tables.Run) -> Iterator[NewItem]:
    """The first flagged checkpoint of each trajectory."""
    verdict, record = tables.Verdict, tables.Trajectory
    statement = (
        select(verdict, record.trial)
        .join(record, col(record.id) == verdict.trajectory_id)
        .where(verdict.run_id == run.id, verdict.detector == run.detector, col(verdict.flagged).is_(True))
        .order_by(col(verdict.trajectory_id), col(verdict.step))
    )
    previous, at_ms = None, now_ms()
    for found, trial in session.exec(statement):
        if found.trajectory_id != previous:
            previous = found.trajectory_id
            yield flagged_item(run, trial, found, partial(_checkpoint, session, found), at_ms)


def _checkpoint(session: Session, verdict: tables.Verdict) -> Checkpoint:
    body = session.get_one(tables.TrajectoryBody, verdict.trajectory_id).body
    return checkpoint_at(from_json(body), verdict.step, CheckpointKind(verdict.kind))


def _halted_items(session: Session, run: tables.Run) -> Iterator[NewItem]:
    record = tables.Trajectory
    statement = select(record.id, record.trial, record.n_steps).where(
        record.run_id == run.id, col(record.carried_over).is_(False), record.recorded_outcome == Outcome.HALTED
    )
    at_ms = now_ms()
    for trajectory_id, trial, n_steps in session.exec(statement.order_by(col(record.id))):
        yield halted_item(run, trial, trajectory_id or 0, n_steps, at_ms)


def _no_longer_flagged(session: Session, run: tables.Run, items: Sequence[NewItem]) -> list[int]:
    wanted = {(item.trajectory_id, item.step, item.kind) for item in items}
    item = tables.Item
    statement = select(item).where(item.run_id == run.id, item.status == ItemStatus.PENDING)
    return [row.id or 0 for row in session.exec(statement) if (row.trajectory_id, row.step, row.kind) not in wanted]


def _id(run: tables.Run) -> int:
    return run.id or 0
