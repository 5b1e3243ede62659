"""Sheets: all that one reviewer may see of one item. What a blind run hides is left out here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from console.critical import Checkpoint, CheckpointKind, checkpoint_at
from console.detection import run_checkpoints
from console.exhibit import Flag
from console.trajectory import Trajectory, from_json
from storage import tables
from storage.queue import Claim, Queue


@dataclass(frozen=True, slots=True)
class EarlierTrial:
    """An earlier trial of the same task; the last four fields are None for a reviewer of a blind run."""

    trial: int
    actions: tuple[str, ...]
    own_words: str = ""
    decision: str | None = None
    feedback: str | None = None
    outcome: str | None = None
    memory: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sheet:
    """One item as its reviewer may see it."""

    claim: Claim
    checkpoint: Checkpoint
    verdict: tables.Verdict | None
    earlier: tuple[EarlierTrial, ...]
    draft: str


def sheet(session: Session, queue: Queue, run: tables.Run, claim: Claim, reviewer: str, *, unblinded: bool) -> Sheet:
    """What the reviewer may see of a claimed item; `unblinded` is a researcher, or anybody where a run is open."""
    record = from_json(claim.body)
    verdict = session.get(tables.Verdict, claim.verdict_id) if claim.verdict_id else None
    return Sheet(
        claim=claim,
        checkpoint=checkpoint_at(record, claim.step, CheckpointKind(claim.kind)),
        verdict=verdict,
        earlier=tuple(_earlier(session, run, claim, reviewer, unblinded=unblinded or not run.blind)),
        draft=queue.draft(item_id=claim.item_id, reviewer=reviewer) or "",
    )


def flag(verdict: tables.Verdict | None) -> Flag | None:
    """Why the item is in the queue, or None for a halted trial."""
    if verdict is None:
        return None
    return Flag(verdict.detector, verdict.score, verdict.threshold, tuple(verdict.rationale.splitlines()))


def belief(verdict: tables.Verdict | None) -> str | None:
    """The task that the agent seems to believe it has, where the detector infers one."""
    return verdict.inferred_task if verdict else None


def actions(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Every action up to the checkpoint, the one that waits included."""
    return (*(step.action for step in checkpoint.steps), *([checkpoint.action] if checkpoint.action else []))


def _earlier(session: Session, run: tables.Run, claim: Claim, reviewer: str, *, unblinded: bool) -> list[EarlierTrial]:
    if claim.trial == 0:
        return []
    record, body = tables.Trajectory, tables.TrajectoryBody
    current = session.get(record, claim.trajectory_id)
    if current is None:
        return []
    statement = (
        select(record, body.body)
        .join(body, col(body.trajectory_id) == col(record.id))
        .where(record.run_id == run.id, record.task_id == current.task_id, record.trial < claim.trial)
        .order_by(col(record.trial), col(record.id))
    )
    return [
        _earlier_trial(session, run, row, from_json(text), reviewer, unblinded) for row, text in session.exec(statement)
    ]


def _earlier_trial(
    session: Session, run: tables.Run, row: tables.Trajectory, record: Trajectory, reviewer: str, unblinded: bool
) -> EarlierTrial:
    item = session.exec(select(tables.Item).where(tables.Item.trajectory_id == row.id)).first()
    answers = _answers(session, item)
    own = " / ".join(answer.feedback_text for answer in answers if answer.reviewer == reviewer and answer.feedback_text)
    did = _actions_up_to_checkpoint(run, record, item)
    if not unblinded:
        return EarlierTrial(row.trial, did, own)
    words = " / ".join(answer.feedback_text for answer in answers if answer.feedback_text)
    decisions = ", ".join(f"{answer.decision} by {answer.reviewer}" for answer in answers)
    return EarlierTrial(row.trial, did, own, decisions or None, words or None, row.outcome, record.memory)


def _actions_up_to_checkpoint(run: tables.Run, record: Trajectory, item: tables.Item | None) -> tuple[str, ...]:
    if item is not None:
        seen = checkpoint_at(record, item.step, CheckpointKind(item.kind))
    else:
        found = run_checkpoints(run, record)
        if not found:
            return tuple(step.action for step in record.steps)
        seen = found[0]
    return actions(seen)


def _answers(session: Session, item: tables.Item | None) -> Sequence[tables.Decision]:
    if item is None:
        return []
    decision = tables.Decision
    statement = select(decision).where(decision.item_id == item.id, col(decision.superseded).is_(False))
    return session.exec(statement.order_by(col(decision.id))).all()
