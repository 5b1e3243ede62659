"""Decisions reach their trials: what was approved may run, what was not ends the trial and never runs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session, col, select

from console.database import now_ms, review_queue, writing
from console.review.resolution import RUNS_ACTION, current_answers
from console.trajectory import Outcome
from console.trajectory.checkpoints import digest
from console.trials import store
from console.trials.play import Approved
from console.trials.round import Advance
from storage import tables
from storage.queue import HALTED
from storage.tables import DecisionKind, ItemStatus

_ENDED = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.HALTED, Outcome.REJECTED, Outcome.ERROR)


def cut_off_unknown(run: tables.Run, done: Advance) -> None:
    """Ends every trial whose critical action was about to run when its engine died: nobody knows whether it ran."""
    intent, record = tables.Intent, tables.Trajectory
    statement = (
        select(record.id)
        .join(intent, col(intent.trajectory_id) == col(record.id))
        .where(record.run_id == run.id, col(intent.finished_ms).is_(None), col(record.outcome).not_in(_ENDED))
    )
    with writing() as session:
        ids = [id for id in session.exec(statement) if id is not None]
        for trial in store.load(session, ids):
            store.stop(session, run, trial, Outcome.ERROR, store.UNKNOWN_EXECUTION, now_ms())
            done.unknown += 1


def deliver(run: tables.Run, done: Advance) -> None:
    """Hands over the decisions that can no longer be taken back."""
    queue = review_queue()
    due = queue.due(run_id=run.id or 0, now_ms=now_ms())
    if due:
        done.delivered += queue.mark_delivered(decision_ids=due, now_ms=now_ms())


def settle(run: tables.Run, done: Advance) -> list[tuple[int, Approved]]:
    """The held trials whose action may run now; those that were refused end here. Safe to repeat."""
    approved = []
    with writing() as session:
        for item in _delivered(session, run):
            answers = current_answers(session, item.id)
            if not answers:
                continue
            trial = store.load(session, [item.trajectory_id])[0]
            go = _agreed(answers, trial.record.critical_action or "")
            if isinstance(go, Approved):
                approved.append((trial.id, go))
                done.approved += 1
            else:
                store.stop(session, run, trial, Outcome.REJECTED, go, now_ms())
                done.rejected += 1
    return approved


def _delivered(session: Session, run: tables.Run) -> Sequence[tables.Item]:
    """Items of the action at which their trial is held now, all reviews of them delivered."""
    item, record = tables.Item, tables.Trajectory
    statement = (
        select(item)
        .join(record, col(record.id) == item.trajectory_id)
        .where(item.run_id == run.id, item.status == ItemStatus.DELIVERED, item.kind != HALTED)
        .where(record.outcome == Outcome.PAUSED, col(item.step) == col(record.n_steps))
        .order_by(col(item.id))
    )
    return session.exec(statement).all()


def _agreed(answers: Sequence[tables.Decision], pending: str) -> Approved | str:
    """The one action that every reviewer lets run, or why none may."""
    if any(answer.decision not in RUNS_ACTION for answer in answers):
        return "a reviewer did not approve it"
    actions = {answer.edited_action or pending for answer in answers}
    if len(actions) > 1:
        return "the reviewers approved different actions"
    action = actions.pop()
    if any(answer.action_digest != digest(action) for answer in answers):
        return "the decision was made for another action"
    edits = [answer for answer in answers if answer.decision == DecisionKind.EDIT]
    return Approved(action, (edits or list(answers))[-1].id, bool(edits))
