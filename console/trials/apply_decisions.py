"""The application of decisions to trials: an approved action may run; any other decision ends the trial."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, update
from sqlmodel import Session, col, func, select

from console.database import now_ms, reading, review_queue, writing
from console.review.resolution import ResolutionReason, list_current_decisions, resolve_decisions
from console.runs import is_current, run_options
from console.trajectory import Outcome
from console.trajectory.checkpoints import CheckpointKind
from console.trials import store
from console.trials.play import Approved
from console.trials.round import Advance
from console.trials.start import ActorAndEnvironments
from storage import tables
from storage.queue import HALTED
from storage.tables import UNREVIEWED, ItemStatus

_REFUSED = {
    ResolutionReason.REJECTED: "a reviewer did not approve it",
    ResolutionReason.RESPONDED: "a reviewer did not approve it",
    ResolutionReason.CONFLICTING: "the reviewers approved different actions",
    ResolutionReason.OTHER_ACTION: "the decision was made for another action",
}
"""The stored reasons for which a held action never runs."""

_ENDED = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.HALTED, Outcome.REJECTED, Outcome.ERROR)


def settle_unfinished_actions(run: tables.Run, cast: ActorAndEnvironments, done: Advance) -> None:
    """End every trial whose engine crashed during a critical action, because the action may have run.

    If the world existed only in the crashed process, the crash has undone the action, so the trial is held before it.
    """
    intent, record = tables.Intent, tables.Trajectory
    statement = (
        select(record.id)
        .join(intent, col(intent.trajectory_id) == col(record.id))
        .where(record.run_id == run.id, col(intent.finished_ms).is_(None), col(record.outcome).not_in(_ENDED))
    )
    with writing() as session:
        ids = [id for id in session.exec(statement) if id is not None]
        for trial in store.load_trials(session, ids):
            if cast.environment(trial.task.environment).is_in_process(trial.task) and store.undo_begun_action(
                session, run, trial, now_ms()
            ):
                continue
            store.store_end(session, run, trial, Outcome.ERROR, store.UNKNOWN_EXECUTION, now_ms())
            done.unknown += 1


def deliver_decisions(run: tables.Run, done: Advance) -> None:
    """Deliver the decisions that can no longer be undone, and count the decisions that can still be undone."""
    queue, at_ms = review_queue(), now_ms()
    due = queue.due(run_id=run.id or 0, now_ms=at_ms)
    if due:
        done.delivered += queue.mark_delivered(decision_ids=due, now_ms=at_ms)
    with reading() as session:
        done.undoable, done.due_ms = _undoable(session, run, at_ms)


def settle_trials(run: tables.Run, done: Advance) -> list[tuple[int, Approved]]:
    """Return held trials whose action may run now; end those with a rejected action. Repeated calls change nothing."""
    approved, record = [], tables.Trajectory
    with writing() as session:
        held = col(record.outcome) == Outcome.PAUSED, col(tables.Item.step) == col(record.n_steps)
        for item in _delivered(session, run, *held):
            answers = list_current_decisions(session, item.id)
            if not answers:
                continue
            trial = store.load_trials(session, [item.trajectory_id])[0]
            found = resolve_decisions(answers, trial.record.critical_action or "")
            if found.action is not None:
                approved.append((trial.id, Approved(found.action, found.decision_id, found.edited)))
                done.approved += 1
            else:
                store.store_end(session, run, trial, Outcome.REJECTED, _REFUSED[found.reason], now_ms())
                done.rejected += 1
    return approved


def undo_rejected(run: tables.Run, done: Advance) -> None:
    """End each trial whose action ran first and was then rejected, if the run's protocol undoes such actions."""
    if run_options(run).protocol != "undo":
        return
    record = tables.Trajectory
    ended = col(record.outcome).in_([Outcome.SUCCEEDED, Outcome.FAILED, Outcome.HALTED])
    with writing() as session:
        for item in _delivered(session, run, ended, col(tables.Item.kind) == CheckpointKind.ACTION):
            trial = store.load_trials(session, [item.trajectory_id])[0]
            answers = list_current_decisions(session, item.id)
            if not answers or resolve_decisions(answers, trial.record.steps[item.step].action).action is not None:
                continue
            store.store_end(session, run, trial, Outcome.REJECTED, "a reviewer undid its action", now_ms())
            copies = (col(record.task_id) == trial.task_id, col(record.trial) > item.trial, col(record.carried_over))
            session.execute(update(record).where(*copies).values(outcome=Outcome.REJECTED))
            done.rejected += 1


def _delivered(session: Session, run: tables.Run, *conditions: ColumnElement[bool]) -> Sequence[tables.Item]:
    item, record = tables.Item, tables.Trajectory
    statement = (
        select(item)
        .join(record, col(record.id) == item.trajectory_id)
        .where(item.run_id == run.id, item.status == ItemStatus.DELIVERED, item.kind != HALTED)
        .where(record.run_id == run.id, *conditions)
        .order_by(col(item.id))
    )
    return session.exec(statement).all()


def _undoable(session: Session, run: tables.Run, at_ms: int) -> tuple[int, int | None]:
    """Return the number of decisions not due at `at_ms`, and the time at which the first is due (ms since 1970)."""
    decision, item = tables.Decision, tables.Item
    statement = (
        select(func.count(), func.min(decision.deliverable_ms))
        .select_from(decision)
        .join(item, col(item.id) == decision.item_id)
        .where(item.run_id == run.id, decision.deliverable_ms > at_ms)
        .where(is_current(), col(decision.delivered_ms).is_(None))
        .where(col(item.status).in_([*UNREVIEWED, ItemStatus.DECIDED]))
    )
    undoable, due_ms = session.exec(statement).one()
    return undoable, due_ms
