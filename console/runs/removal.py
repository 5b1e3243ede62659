"""Removal of items that are no longer critical, of trajectories without reviews, and of whole runs.

Each function runs in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import delete, func
from sqlmodel import Session, col, select

from console.errors import Refused
from console.language import counted
from console.runs import outbox
from console.trajectory import from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at, is_critical
from storage import tables
from storage.queue.claims import withdraw_items
from storage.queue.transaction import Transaction
from storage.run_counts import forget_reviewers
from storage.tables import TAKEN, UNREVIEWED, ItemStatus, SlotStatus

_AT_ONCE = 500


def withdraw_uncritical(session: Session, run: tables.Run, patterns: Sequence[str], now_ms: int) -> list[int]:
    """Withdraw the pending items that no longer match a pattern, with their claims, and return their ids.

    Keep decided items and items of a waiting agent's check.
    """
    item, record, body = tables.Item, tables.Trajectory, tables.TrajectoryBody
    answered = select(tables.Slot.item_id).where(tables.Slot.status == SlotStatus.DECIDED)
    statement = (
        select(item.id, item.step, body.body)
        .join(record, col(record.id) == item.trajectory_id)
        .join(body, col(body.trajectory_id) == item.trajectory_id)
        .where(item.run_id == run.id, item.kind == str(CheckpointKind.ACTION), item.step < record.n_steps)
        .where(col(item.status).in_(UNREVIEWED), col(item.id).not_in(answered))
    )
    gone = [
        item_id
        for item_id, step, text in session.exec(statement)
        if item_id is not None
        and not is_critical(checkpoint_at(from_json(text), step, CheckpointKind.ACTION).action, patterns)
    ]
    withdraw_items(Transaction.joined(session), gone, ItemStatus.CANCELLED, now_ms)
    session.expire_all()
    return gone


def refuse_reviewed(session: Session, ids: Sequence[int], what: str) -> None:
    """Raise Refused if a reviewer claimed or decided an item of these trajectories; ignore imported decisions."""
    item, slot = tables.Item, tables.Slot
    held = 0
    for chosen in _chunks(ids):
        statement = select(func.count(func.distinct(item.trajectory_id))).join(slot, col(slot.item_id) == item.id)
        held += session.exec(statement.where(col(item.trajectory_id).in_(chosen), col(slot.status).in_(TAKEN))).one()
    if held:
        reviewed = f"reviewers claimed or decided items of {counted(held, 'trajectory')}"
        raise Refused(f"{what} is not possible: {reviewed}. Keep these trajectories in the run.")


def remove_trajectories(session: Session, ids: Sequence[int]) -> None:
    """Delete trajectories with their items, verdicts and texts, and tasks without remaining trajectories."""
    record, item = tables.Trajectory, tables.Item
    for chosen in _chunks(ids):
        tasks = list(session.exec(select(record.task_id).where(col(record.id).in_(chosen)).distinct()))
        remove_items(session, select(item.id).where(col(item.trajectory_id).in_(chosen)))
        for table in (tables.Ask, tables.Intent, tables.AuditDraw, tables.Verdict, tables.TrajectoryBody):
            session.execute(delete(table).where(col(table.trajectory_id).in_(chosen)))
        session.execute(delete(record).where(col(record.id).in_(chosen)))
        remove_empty_tasks(session, tasks)


def remove_items(session: Session, items: Any) -> None:
    """Delete items with their slots and decisions, and their entries in the budget ledger."""
    session.execute(delete(tables.Ask).where(col(tables.Ask.item_id).in_(items)))
    remove_answers(session, items)
    outbox.remove_messages(session, outbox.ITEM_EVENTS, items)
    for table in (tables.LedgerEntry, tables.Slot, tables.SeededItem):
        session.execute(delete(table).where(col(table.item_id).in_(items)))
    session.execute(delete(tables.Item).where(col(tables.Item.id).in_(items)))


def remove_answers(session: Session, items: Any) -> None:
    """Delete the decisions, notes and corrected lines of items, and the memories, outbox messages and intents that
    follow from the decisions.
    """
    decision = tables.Decision
    answers = select(decision.id).where(col(decision.item_id).in_(items))
    outbox.remove_messages(session, [outbox.DECISION_MADE], answers)
    for consequence in (tables.Memory, tables.Intent):
        session.execute(delete(consequence).where(col(consequence.decision_id).in_(answers)))
    for table in (tables.Draft, tables.Note, tables.LineCorrection, tables.ItemReviewer, decision):
        session.execute(delete(table).where(col(table.item_id).in_(items)))


def remove_empty_tasks(session: Session, tasks: Sequence[int]) -> None:
    """Delete the tasks among these that have no trajectories."""
    task, record = tables.Task, tables.Trajectory
    for chosen in _chunks(tasks):
        kept = select(record.task_id).where(col(record.task_id).in_(chosen))
        session.execute(delete(task).where(col(task.id).in_(chosen), col(task.id).not_in(kept)))


_OF_RUN = "verdict task budget allowed allowed_check limit_use live_span policy adjudication run_access"


def remove_run(session: Session, run: tables.Run) -> None:
    """Delete the run with all its records; the caller must have erased its events already."""
    record = tables.Trajectory
    seeded = select(tables.SeededItem.trajectory_id).join(tables.Item, col(tables.Item.id) == tables.SeededItem.item_id)
    own = select(record.id).where(record.run_id == run.id)
    ids = [*session.exec(own), *session.exec(seeded.where(tables.Item.run_id == run.id))]
    remove_trajectories(session, [found for found in ids if found is not None])
    forget_reviewers(session.connection())
    for table in map(tables.Table.metadata.tables.__getitem__, _OF_RUN.split()):
        session.execute(delete(table).where(table.c.run_id == run.id))
    for carried in (tables.CarriedCheck, tables.ReplacedPolicy):
        session.execute(delete(carried).where(col(carried.run) == run.name))
    session.execute(delete(tables.LogImport).where(col(tables.LogImport.run_id) == run.id))
    session.execute(delete(tables.Run).where(col(tables.Run.id) == run.id))


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]
