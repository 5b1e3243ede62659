"""Blinded review views: all that one reviewer may see of one item.

What a blind run or the condition of a study hides is left out here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson
from sqlmodel import Session, col, select

from console.environments.task_briefing import Brief, brief_of
from console.language import _
from console.review import notes
from console.review.consequences import standing
from console.review.notes import Escalation
from console.review.presentation import Flag, Presentation, checkpoint_presentation, reasons
from console.review.reasons import words_to_agent
from console.runs import run_checkpoints
from console.runs.current_decisions import current_decisions
from console.runs.options import run_options
from console.trajectory import Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at
from storage import tables
from storage.queue import Claim, KeptDraft, Queue

HIDDEN, TARGET = "hidden", "target"


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
class Visibility:
    """What a page shows beside the checkpoint itself; the defaults are those of a run outside any study.

    `alias` is what a detector is called where detectors are compared.
    """

    score: bool = True
    explanation: bool = True
    detector: bool = True
    highlights: bool = True
    earlier: bool = True
    brief: bool = False
    alias: str = ""


@dataclass(frozen=True, slots=True)
class ReviewView:
    """One item as its reviewer may see it."""

    claim: Claim
    checkpoint: Checkpoint
    presentation: Presentation
    earlier: tuple[EarlierTrial, ...]
    draft: KeptDraft
    notes: tuple[tables.Note, ...] = ()
    escalation: Escalation | None = None


PLAIN = Visibility(score=False, explanation=False, detector=False, highlights=False, earlier=False)
"""The checkpoint alone."""


def review_view(
    session: Session,
    queue: Queue,
    run: tables.Run,
    claim: Claim,
    reviewer: str,
    *,
    unblinded: bool,
    visibility: Visibility | None = None,
) -> ReviewView:
    """What the reviewer may see of a claimed item, by default with the run's own visibility.

    `unblinded` is a researcher, or anybody where a run is open.
    """
    record, visibility = from_json(claim.body), visibility or visibility_of(run)
    verdict = session.get(tables.Verdict, claim.verdict_id) if claim.verdict_id else None
    checkpoint = checkpoint_at(record, claim.step, CheckpointKind(claim.kind))
    flag = _flag(verdict, visibility)
    if flag is not None and not run.blind:
        flag = replace(flag, also=_others(session, verdict, visibility))
    presentation = checkpoint_presentation(
        checkpoint,
        flag=flag,
        belief=verdict.inferred_task if verdict and visibility.explanation else None,
        brief=_brief(session, claim, record) if visibility.brief else (),
        highlights=visibility.highlights,
        standing=standing(run, claim.kind),
    )
    open_ = unblinded or not run.blind
    earlier = _earlier(session, run, claim, reviewer, unblinded=open_) if visibility.earlier else []
    draft = queue.draft(item_id=claim.item_id, reviewer=reviewer) or KeptDraft()
    return ReviewView(
        claim, checkpoint, presentation, tuple(earlier), draft, *_notes(session, run, claim, reviewer, open_)
    )


def _notes(
    session: Session, run: tables.Run, claim: Claim, reviewer: str, everything: bool
) -> tuple[tuple[tables.Note, ...], Escalation | None]:
    """Notes to colleagues and the hand-over; a study has neither."""
    if run.study_id is not None:
        return (), None
    found = notes.notes_for(session, claim.item_id, reviewer, everything=everything)
    return tuple(found), notes.escalations(session, [claim.item_id]).get(claim.item_id)


def visibility_of(run: tables.Run) -> Visibility:
    """What the run's pages show, from its option `view`."""
    shown = run_options(run).view
    return Visibility(
        score=shown.get("score") != HIDDEN,
        explanation=shown.get("explanation") != HIDDEN,
        detector=HIDDEN not in (shown.get("detector"), shown.get("detector_name")),
        highlights=shown.get("highlights") != HIDDEN,
        earlier=shown.get("earlier") != HIDDEN,
        brief=shown.get("brief") == TARGET,
        alias=shown.get("alias", ""),
    )


def _flag(verdict: tables.Verdict | None, visibility: Visibility) -> Flag | None:
    """What the detector says of the item; None for a halted trial, and where all of it is hidden."""
    if verdict is None or not (visibility.detector or visibility.score or visibility.explanation):
        return None
    return Flag(
        (visibility.alias or verdict.detector) if visibility.detector else None,
        verdict.score if visibility.score else None,
        verdict.threshold if visibility.score else None,
        reasons(verdict.rationale) if visibility.explanation else (),
        flagged=verdict.flagged,
    )


def _others(session: Session, routing: tables.Verdict | None, visibility: Visibility) -> tuple[Flag, ...]:
    """What the other detectors say of the same checkpoint, as far as the routing one's is shown."""
    if routing is None or not visibility.detector:
        return ()
    verdict = tables.Verdict
    statement = (
        select(verdict)
        .where(verdict.trajectory_id == routing.trajectory_id, verdict.step == routing.step)
        .where(verdict.kind == routing.kind, verdict.id != routing.id)
        .order_by(col(verdict.detector))
    )
    shown = (_flag(other, visibility) for other in session.exec(statement))
    return tuple(flag for flag in shown if flag is not None)


def _brief(session: Session, claim: Claim, record: Trajectory) -> Brief:
    row = session.get(tables.Trajectory, claim.trajectory_id)
    task = session.get(tables.Task, row.task_id) if row else None
    gold = {**record.gold, **orjson.loads(task.gold if task else "{}")}
    return brief_of(record.environment, gold)


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
    own = " / ".join(words for answer in answers if answer.reviewer == reviewer and (words := words_to_agent(answer)))
    done = actions_up_to_checkpoint(run, record, item)
    if not unblinded:
        return EarlierTrial(row.trial, done, own)
    words = " / ".join(said for answer in answers if (said := words_to_agent(answer)))
    given = _("{decision} by {reviewer}")
    decisions = ", ".join(given.format(decision=_(row.decision), reviewer=row.reviewer) for row in answers)
    return EarlierTrial(row.trial, done, own, decisions or None, words or None, row.outcome, record.memory)


def actions_up_to_checkpoint(run: tables.Run, record: Trajectory, item: tables.Item | None) -> tuple[str, ...]:
    """Every action of a trial up to the one that was reviewed, or that would have been first."""
    if item is not None:
        checkpoint = checkpoint_at(record, item.step, CheckpointKind(item.kind))
    else:
        stops = run_checkpoints(run, record)
        if not stops:
            return tuple(step.action for step in record.steps)
        checkpoint = stops[0]
    return actions(checkpoint)


def _answers(session: Session, item: tables.Item | None) -> Sequence[tables.Decision]:
    if item is None:
        return []
    decision = tables.Decision
    statement = current_decisions().where(decision.item_id == item.id).order_by(col(decision.id))
    return session.exec(statement).all()
