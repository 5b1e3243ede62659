"""What lies before a participant, read from the database; an item that is theirs to decide comes claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlmodel import Session, col, func, select

from console.database import review_queue
from console.language import _, gettext_noop
from console.review import decisions
from console.studies.design import Design
from console.studies.design.asking import Moment
from console.studies.design.instruments import Instrument
from console.studies.sessions import answering, next_item
from console.studies.sessions.condition_run import is_attended, is_busy, is_playing
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.next_item import AUDIT
from console.studies.sessions.stages import NOT_IN, ParticipantStage, assignments, is_open, not_open
from storage import tables
from storage.queue import Claim
from storage.tables import AssignmentStatus, ParticipantKind, SlotStatus

_MINUTE_MS = 60_000
_BEFORE = (ParticipantStage.CONSENT, ParticipantStage.QUESTIONS, ParticipantStage.INSTRUCTIONS)
TOO_EARLY = gettext_noop(
    "The next part comes later, so that this one has faded by then. You may close this page and come back."
)
OVER = (ParticipantStage.FINISHED, *NOT_IN, ParticipantStage.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a participant is and what lies before them; numbers count from 1, what does not apply is None or 0.

    `kind` is a stage (consent, questions, instructions, finished, declined, screened_out, withdrawn), paused, practice,
    practice_answer, introduction, review, probe, confidence, round_over, agents_working, questionnaire or break. `item`
    of `items` counts practice; elsewhere `item` is the number of the item within the condition. `sentence` says why
    nobody can go on.
    """

    kind: str
    participant: tables.Participant | None = None
    study: tables.Study | None = None
    design: Design | None = None
    assignment: tables.Assignment | None = None
    condition: int = 0
    conditions: int = 0
    trial: int = 0
    trials: int = 0
    item: int = 0
    items: int = 0
    claim: Claim | None = None
    run: tables.Run | None = None
    probe: tables.Probe | None = None
    answer: tables.Decision | None = None
    budget_cap: int | None = None
    budget_left: int | None = None
    instrument: Instrument | None = None
    until_ms: int | None = None
    completion_code: str | None = None
    sentence: str = ""


def current_position(session: Session, participant_id: int, at_ms: int) -> Position | None:
    """The participant's place; None where their practice is still to be made, or over and not left."""
    participant = session.get(tables.Participant, participant_id)
    if participant is None or participant.stage == ParticipantStage.FREE:
        return Position(ParticipantStage.WITHDRAWN)
    study = session.get_one(tables.Study, participant.study_id)
    base = Position(participant.stage, participant, study, design_of(study))
    if participant.stage in OVER:
        return replace(base, completion_code=participant.completion_code)
    if sentence := not_open(study):
        return replace(base, kind="paused", sentence=sentence)
    if participant.stage in _BEFORE:
        return base
    if participant.stage in tuple(Moment):
        return _asked(session, base, participant)
    if participant.stage == ParticipantStage.PRACTICE:
        return _practising(session, base, participant, at_ms)
    return _working(session, base, participant, at_ms)


def current_assignment(rows: Sequence[tables.Assignment]) -> tables.Assignment | None:
    """The condition that comes now: the first open one that is attended, else one whose agents go on alone."""
    ahead = [row for row in rows if is_open(row)]
    return next((row for row in ahead if is_attended(row)), ahead[0] if ahead else None)


def break_end(design: Design, rows: Sequence[tables.Assignment], filled_in_ms: int = 0) -> int:
    """When the break after the latest condition, and the questionnaires that followed it, ends (ms since 1970)."""
    return max(_last_ended(rows), filled_in_ms) + round(design.break_minutes * _MINUTE_MS)


def washout_end(design: Design, participant: tables.Participant, rows: Sequence[tables.Assignment]) -> int:
    """Until when a person must wait after the latest condition (ms since 1970); 0 for simulated reviewers."""
    waits = participant.kind == ParticipantKind.HUMAN and design.washout_hours
    return _last_ended(rows) + round(design.washout_hours * 60 * _MINUTE_MS) if waits else 0


def _last_ended(rows: Sequence[tables.Assignment]) -> int:
    return max((row.ended_ms or 0 for row in rows if is_attended(row)), default=0)


def _practising(session: Session, base: Position, participant: tables.Participant, at_ms: int) -> Position | None:
    if participant.practice_run_id is None:
        return None
    probes = next_item.practice_probes(session, participant)
    run = session.get_one(tables.Run, participant.practice_run_id)
    for number, probe in enumerate(probes, 1):
        here = replace(base, run=run, probe=probe, item=number, items=len(probes))
        answer = decisions.last_answer(session, probe.item_id, participant.code)
        if answer is None:
            return replace(here, kind="practice", claim=next_item.claimed(session, participant, probe.item_id, at_ms))
        if answer.delivered_ms is None:
            claim = decisions.claim_of(session, probe.item_id, participant.code)
            return replace(here, kind="practice_answer", claim=claim, answer=answer)
    return None


def _asked(session: Session, base: Position, participant: tables.Participant) -> Position:
    """A questionnaire; between two conditions `condition` is the number of the one that it follows."""
    attended = [row for row in assignments(session, participant.id) if is_attended(row)]
    done = sum(not is_open(row) for row in attended) if participant.stage == Moment.BETWEEN else 0
    asked = answering.pending_instrument(session, participant, base.design) if base.design else None
    return replace(base, kind="questionnaire", instrument=asked, condition=done, conditions=len(attended))


def _working(session: Session, base: Position, participant: tables.Participant, at_ms: int) -> Position:
    rows = assignments(session, participant.id)
    now, attended = current_assignment(rows), [row for row in rows if is_attended(row)]
    base = replace(base, conditions=len(attended), trials=base.design.trials if base.design else 0)
    if now is None or not is_attended(now):
        return replace(base, kind="round_over", condition=len(attended))
    base = replace(base, assignment=now, condition=attended.index(now) + 1)
    if participant.stage == ParticipantStage.BREAK and base.design:
        washed_out = washout_end(base.design, participant, rows)
        rested = break_end(base.design, rows, answering.latest_ms(session, participant.id))
        if (until := max(rested, washed_out)) > at_ms:
            return replace(base, kind="break", until_ms=until, sentence=_(TOO_EARLY) if washed_out > at_ms else "")
    if now.status == AssignmentStatus.WAITING or now.run_id is None:
        return replace(base, kind="introduction")
    return _in_condition(session, base, participant, now, at_ms)


def _in_condition(
    session: Session, base: Position, participant: tables.Participant, now: tables.Assignment, at_ms: int
) -> Position:
    arm = session.get_one(tables.Run, now.run_id)
    base = replace(base, run=arm, trials=arm.trials, trial=_reached(session, arm) + 1)
    answers = next_item.count_decided(session, arm.id, participant.code)
    if is_playing(arm):
        cut_off = "round_over" if answers else "introduction"
        return replace(base, kind="agents_working" if is_busy(arm) else cut_off)
    if base.design and base.design.confidence and participant.kind == ParticipantKind.HUMAN:
        # Before the next item is claimed, so that nothing of it is in the time of that decision.
        desks = (arm.id, now.checks_run_id)
        if unrated := answering.unrated(session, participant, desks):
            return replace(base, kind="confidence", answer=unrated)
    before = next_item.current_item(session, participant, now, arm, at_ms)
    if before is None:
        return _with_budget(session, replace(base, kind="round_over"))
    number = answers + next_item.count_decided(session, now.checks_run_id, participant.code) + 1
    here = _with_budget(session, replace(base, trial=before.claim.trial + 1))
    kind = "probe" if before.probe else "review"
    return replace(here, kind=kind, claim=before.claim, run=before.run, probe=before.probe, item=number)


def _with_budget(session: Session, place: Position) -> Position:
    """The place with what is left in its round: the cap grows by what comes beside, which uses it as others do.

    So the meter moves alike, whatever an item is.
    """
    now, who, trial, queue = place.assignment, place.participant, place.trial - 1, review_queue()
    if now is None or who is None:
        return place
    arm = session.get_one(tables.Run, now.run_id)
    budget = queue.budget(run_id=arm.id or 0, trial=trial)
    if budget is None or budget.cap is None:
        return place
    aside = [queue.budget(run_id=arm.id or 0, trial=trial, scope=AUDIT)]
    aside.append(queue.budget(run_id=now.checks_run_id or 0, trial=trial))
    ahead = next_item.items_ahead(session, who.code, now, arm)
    beside = sum(one.is_beside and one.slot != SlotStatus.CLAIMED and one.item.trial == trial for one in ahead)
    used = sum(one.used for one in aside if one)
    return replace(place, budget_cap=budget.cap + used + beside, budget_left=budget.cap - budget.used + beside)


def _reached(session: Session, arm: tables.Run) -> int:
    """The latest trial that the run has reached."""
    trial = tables.Trajectory.trial
    return session.exec(select(func.max(trial)).where(col(tables.Trajectory.run_id) == arm.id)).one() or 0
