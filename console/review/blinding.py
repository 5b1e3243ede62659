"""Blinded review views: everything that one reviewer may see of one item.

Only this module removes the information that a blind run or a study condition hides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson
from sqlmodel import Session, col, select

from console.environments.environment import Brief, brief_of
from console.errors import Refused
from console.language import _
from console.review import decision_details
from console.review.decision_details import Escalation
from console.review.decisions import name_decision
from console.review.presentation import Block, Flag, Presentation, ShownStep, checkpoint_presentation
from console.review.resolution import feedback_to_agent, get_action_status, has_begun_undecided
from console.runs import current_decisions, run_checkpoints, run_options
from console.trajectory import Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, pending_checkpoint
from console.trajectory.requirements import RequirementTable
from storage import tables
from storage.queue import Claim, KeptDraft, Queue
from storage.tables import RunKind

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
    """The parts of a page shown besides the checkpoint; the defaults apply to a run outside any study.

    `alias` replaces the name of the detector if detectors are compared.
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
    """The view of one item, limited to what its reviewer may see."""

    claim: Claim
    checkpoint: Checkpoint
    presentation: Presentation
    earlier: tuple[EarlierTrial, ...]
    draft: KeptDraft
    notes: tuple[tables.Note, ...] = ()
    escalation: Escalation | None = None


PLAIN = Visibility(score=False, explanation=False, detector=False, highlights=False, earlier=False)
"""The visibility of a checkpoint without any addition."""


def build_review_view(
    session: Session,
    queue: Queue,
    run: tables.Run,
    claim: Claim,
    reviewer: str,
    *,
    unblinded: bool,
    visibility: Visibility | None = None,
) -> ReviewView:
    """Build the view of a claimed item for this reviewer; `visibility` defaults to the run's own visibility.

    `unblinded` is true for researchers and in open runs.
    """
    record, visibility = from_json(claim.body), visibility or get_visibility(run)
    verdict = session.get(tables.Verdict, claim.verdict_id) if claim.verdict_id else None
    checkpoint = pending_checkpoint(record, claim.step, claim.kind)
    flag = _flag(verdict, visibility)
    if flag is not None and not run.blind:
        flag = replace(flag, also=_others(session, verdict, visibility))
    presentation = checkpoint_presentation(
        checkpoint,
        flag=flag,
        belief=verdict.inferred_task if verdict and visibility.explanation else None,
        brief=_brief(session, claim, record) if visibility.brief else (),
        highlights=visibility.highlights,
        status=get_action_status(
            run, claim.kind, has_begun=has_begun_undecided(session, claim.trajectory_id, claim.step)
        ),
    )
    is_shown = visibility.explanation and visibility.highlights
    table = RequirementTable.from_json(verdict.requirements) if verdict and is_shown else None
    if table is not None:
        corrected = _list_corrected(session, claim.item_id, reviewer)
        presentation = replace(presentation, requirements=table, corrected=corrected)
    open_ = unblinded or not run.blind
    earlier = _earlier(session, run, claim, reviewer, unblinded=open_) if visibility.earlier else []
    draft = queue.draft(item_id=claim.item_id, reviewer=reviewer) or KeptDraft()
    return ReviewView(
        claim, checkpoint, presentation, tuple(earlier), draft, *_notes(session, run, claim, reviewer, open_)
    )


def _list_corrected(session: Session, item_id: int, reviewer: str) -> frozenset[str]:
    """Return the keys of the lines of this item that the reviewer has corrected."""
    correction = tables.LineCorrection
    statement = select(correction.line_key).where(
        correction.item_id == item_id, correction.reviewer == reviewer, col(correction.withdrawn_ms).is_(None)
    )
    return frozenset(session.exec(statement))


def build_bare_view(run: tables.Run, claim: Claim, draft: KeptDraft) -> ReviewView:
    """Build a view with only the task, the pending action and the steps, as a fallback if `build_review_view` fails."""
    checkpoint = pending_checkpoint(from_json(claim.body), claim.step, claim.kind)
    steps = tuple(
        ShownStep(number, step.action, thought=step.thought, observation=step.observation)
        for number, step in enumerate(checkpoint.steps, start=1)
    )
    presentation = Presentation(
        task=checkpoint.instruction,
        terms=(),
        found=(),
        missing=(),
        heading=Block.STUCK if checkpoint.kind is CheckpointKind.HALTED else Block.CRITICAL,
        action=checkpoint.action,
        stamp=get_action_status(run, claim.kind) or "",
        last_seen=(),
        steps=steps,
        opening=checkpoint.opening,
    )
    return ReviewView(claim, checkpoint, presentation, (), draft)


def _notes(
    session: Session, run: tables.Run, claim: Claim, reviewer: str, everything: bool
) -> tuple[tuple[tables.Note, ...], Escalation | None]:
    """Return the notes and the escalation that the reviewer may see; in a study, return no notes and no escalation."""
    if run.study_id is not None:
        return (), None
    found = decision_details.list_notes(session, claim.item_id, reviewer, everything=everything)
    return tuple(found), decision_details.list_escalations(session, [claim.item_id], reviewer).get(claim.item_id)


def get_visibility(run: tables.Run) -> Visibility:
    """Return the visibility that the run's option `view` sets."""
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
    """Return the visible part of the detector's verdict, or None if the verdict is missing or completely hidden."""
    if verdict is None or not (visibility.detector or visibility.score or visibility.explanation):
        return None
    return Flag(
        (visibility.alias or verdict.detector) if visibility.detector else None,
        verdict.score if visibility.score else None,
        verdict.threshold if visibility.score else None,
        tuple(filter(None, map(str.strip, verdict.rationale.splitlines()))) if visibility.explanation else (),
        flagged=verdict.flagged,
    )


def _others(session: Session, routing: tables.Verdict | None, visibility: Visibility) -> tuple[Flag, ...]:
    """Return the visible parts of the other detectors' verdicts on the checkpoint of the routing verdict."""
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


def list_actions(checkpoint: Checkpoint) -> tuple[str, ...]:
    """List every action up to the checkpoint, including the pending action."""
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
    own = " / ".join(
        words for answer in answers if answer.reviewer == reviewer and (words := feedback_to_agent(answer))
    )
    done = list_actions_to_checkpoint(run, record, item)
    if not unblinded:
        return EarlierTrial(row.trial, done, own)
    words = " / ".join(said for answer in answers if (said := feedback_to_agent(answer)))
    given, recorded = _("{decision} by {reviewer}"), run.kind == RunKind.ARCHIVE
    decisions = ", ".join(
        given.format(decision=name_decision(answer.decision, recorded=recorded), reviewer=answer.reviewer)
        for answer in answers
    )
    return EarlierTrial(row.trial, done, own, decisions or None, words or None, row.outcome, record.memory)


def list_actions_to_checkpoint(run: tables.Run, record: Trajectory, item: tables.Item | None) -> tuple[str, ...]:
    """List the actions of a trial up to the reviewed checkpoint, or up to the first checkpoint if none was reviewed."""
    if item is not None:
        checkpoint = checkpoint_at(record, item.step, CheckpointKind(item.kind))
    else:
        stops = run_checkpoints(run, record)
        if not stops:
            return tuple(step.action for step in record.steps)
        checkpoint = stops[0]
    return list_actions(checkpoint)


def _answers(session: Session, item: tables.Item | None) -> Sequence[tables.Decision]:
    if item is None:
        return []
    decision = tables.Decision
    statement = current_decisions().where(decision.item_id == item.id).order_by(col(decision.id))
    return session.exec(statement).all()


PENDING = "pending_extra"
"""The key of a trajectory's `extra` with the data that the Actor stored with its pending move."""


def list_remedies(claim: Claim) -> tuple[str, ...]:
    """List the Actor's own alternatives to the pending action, the best first; empty if the Actor has none."""
    record = from_json(claim.body)
    kept = record.extra.get(PENDING)
    here = claim.kind == CheckpointKind.ACTION and claim.step == len(record.steps)
    if not here or not isinstance(kept, dict):
        return ()
    found = kept.get("remedies")
    given = [one for one in found if isinstance(one, str) and one.strip()] if isinstance(found, list) else []
    return tuple(one for one in dict.fromkeys(given) if one != record.critical_action)


def get_remedy(claim: Claim, number: int) -> str:
    """Return the remedy with this number, counted from 1; raise Refused if it does not exist."""
    found = list_remedies(claim)
    if not 0 < number <= len(found):
        none = _(
            "Alternative {number} does not exist. The agent offers {count} alternatives. Choose an offered "
            "alternative, or edit the action."
        )
        raise Refused(none.format(count=len(found), number=number))
    return found[number - 1]
