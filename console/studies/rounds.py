"""Rounds: decisions reach the agents, what the budget left open is released, the next trial comes."""

from __future__ import annotations

from sqlalchemy import update
from sqlmodel import Session, col, select

from console.database import now_ms, reading, review_queue, writing
from console.review import decisions
from console.studies import arms
from console.studies.arms import Progress
from console.trials import engine, release
from console.trials.start import actor_and_environments
from storage import tables
from storage.queue import HALTED, Claim
from storage.tables import ItemStatus, RunKind


def next_claim(session: Session, run: tables.Run, code: str, at_ms: int) -> Claim | None:
    """The participant's next item of the condition, claimed; None once the round is over."""
    found = decisions.next_item(review_queue(), session, run, code, at_ms, settles=False)
    return found if isinstance(found, Claim) else None


def hand_over(
    run: tables.Run, known_id: int | None, code: str, progress: Progress | None = None, at_ms: int | None = None
) -> None:
    """Delivers the round's decisions, plays what follows from them, and closes what the budget left undecided.

    Answers to known items, of the run `known_id`, become final with the others: what can still be undone would tell.
    Safe to repeat where it was cut off. Raises Refused, in words for the participant.
    """
    arms.mark(run, playing=True)
    for run_id in (run.id, known_id):
        _settle(run_id, code)
    if known_id is not None:
        final = review_queue().due(run_id=known_id, now_ms=now_ms())
        review_queue().mark_delivered(decision_ids=final, now_ms=now_ms())
    arms.play(run, engine.advance, progress)
    if run.kind == RunKind.LIVE:
        for trial in _spent(run, code, at_ms or now_ms()):
            _close(run, trial, progress)
    arms.mark(run, playing=False)


def _settle(run_id: int | None, code: str) -> None:
    """Nothing of the round can be taken back any more."""
    decision, item = tables.Decision, tables.Item
    of_run = select(item.id).where(item.run_id == run_id)
    mine = (col(decision.reviewer) == code, col(decision.item_id).in_(of_run), col(decision.delivered_ms).is_(None))
    with writing() as session:
        session.execute(
            update(decision)
            .where(*mine, col(decision.superseded).is_(False), col(decision.deliverable_ms) > now_ms())
            .values(deliverable_ms=now_ms())
        )


def _spent(run: tables.Run, code: str, at_ms: int) -> list[int]:
    """The trials in which items wait that the participant can have no more."""
    with reading() as session:
        waiting = decisions.waiting_trials(session, run)
        claim = next_claim(session, run, code, at_ms)
    return [trial for trial in waiting if claim is None or trial < claim.trial]


def _close(run: tables.Run, trial: int, progress: Progress | None) -> None:
    """Lets the trial's undecided actions run where they can be taken back, as the paper assumes (InferAct, 4.4)."""
    if all(actor_and_environments(run).environment(name).replayable for name in run.environment.split(",")):
        arms.play(run, lambda name, progress: release.release(name, trial=trial, progress=progress), progress)
    item = tables.Item
    halted = (item.run_id == run.id, item.trial == trial, item.kind == HALTED, item.status == ItemStatus.PENDING)
    with reading() as session:
        left = [id for id in session.exec(select(item.id).where(*halted)) if id is not None]
    review_queue().cancel(item_ids=left, now_ms=now_ms())
