"""The position of a participant, read from the database; an item to decide is already claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from sqlmodel import Session, col, func, select

from console.database import reading
from console.language import _, gettext_noop
from console.review import decisions
from console.studies.design import Design
from console.studies.design.instruments import Instrument
from console.studies.design.part import Moment
from console.studies.sessions import answering, next_item
from console.studies.sessions.condition_run import is_attended, is_busy, is_playing
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.stages import NOT_IN, ParticipantStage, explain_closed, is_open, list_assignments
from storage import tables
from storage.queue import Claim
from storage.tables import AssignmentStatus, ParticipantKind

_MINUTE_MS = 60_000
TOO_EARLY = gettext_noop(
    "The next part starts later, so that you remember less of this part. You can close this page and come back."
)
OVER = (ParticipantStage.FINISHED, *NOT_IN, ParticipantStage.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The position of a participant who withdrew, or whose place was given to another person."""

    design: Design | None = None
    kind: Literal["withdrawn"] = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class _InStudy:
    participant: tables.Participant
    study: tables.Study
    design: Design


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnboarding(_InStudy):
    """The consent page, the intake questions, the instructions page, or the quiz on the instructions."""

    kind: ParticipantStage


@dataclass(frozen=True, slots=True, kw_only=True)
class AtPause(_InStudy):
    """A study that is not open; `sentence` gives the reason."""

    sentence: str
    kind: Literal["paused"] = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtEnd(_InStudy):
    """The end of the study."""

    completion_code: str | None
    kind: Literal["finished"] = "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedAway(_InStudy):
    """The end for a participant who declined or was screened out."""

    kind: ParticipantStage


@dataclass(frozen=True, slots=True, kw_only=True)
class _InPractice(_InStudy):
    """A practice item with its number `item`, out of `items` practice items."""

    run: tables.Run
    probe: tables.Probe
    claim: Claim
    item: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AtPracticeItem(_InPractice):
    """A claimed practice item."""

    kind: Literal["practice"] = "practice"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtPracticeAnswer(_InPractice):
    """The explanation after the participant's decision on a practice item."""

    answer: tables.Decision
    kind: Literal["practice_answer"] = "practice_answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class InPart(_InStudy):
    """A part of the study; `condition` is a number from 1 to `conditions`, or 0 before the first condition."""

    condition: int
    conditions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AtQuestionnaire(InPart):
    """A questionnaire; between conditions, `condition` is the number of the condition before the questionnaire."""

    instrument: Instrument | None
    kind: Literal["questionnaire"] = "questionnaire"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtIntroduction(InPart):
    """The page that introduces a condition."""

    assignment: tables.Assignment
    kind: Literal["introduction"] = "introduction"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtBreak(InPart):
    """A break until `until_ms` (ms since 1970); `sentence` is the reason why it cannot end earlier."""

    until_ms: int
    sentence: str
    kind: Literal["break"] = "break"


@dataclass(frozen=True, slots=True, kw_only=True)
class InRound(InPart):
    """A round of a condition; `trial` is a number from 1 to `trials`, or 0 after all conditions."""

    assignment: tables.Assignment | None = None
    run: tables.Run | None = None
    trial: int = 0
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AtWaiting(InRound):
    """The position of a participant who waits for the agents."""

    kind: Literal["agents_working"] = "agents_working"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRoundEnd(InRound):
    """The end of a round, or of all conditions that the participant reviews."""

    kind: Literal["round_over"] = "round_over"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtConfidence(InRound):
    """The question about the participant's confidence in a decision."""

    assignment: tables.Assignment
    answer: tables.Decision
    kind: Literal["confidence"] = "confidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtItem(InRound):
    """A claimed item with its number in the condition, `meter` as (cap, used), and the kind `probe` of a known item."""

    assignment: tables.Assignment
    run: tables.Run
    claim: Claim
    probe: tables.Probe | None
    item: int
    meter: tuple[int, int] | None
    kind: Literal["review", "probe"]


Position = (
    Withdrawn
    | AtOnboarding
    | AtPause
    | AtEnd
    | TurnedAway
    | AtPracticeItem
    | AtPracticeAnswer
    | AtQuestionnaire
    | AtIntroduction
    | AtBreak
    | AtWaiting
    | AtRoundEnd
    | AtConfidence
    | AtItem
)
"""The current position of a participant."""


class _Known(TypedDict):
    participant: tables.Participant
    study: tables.Study
    design: Design


def read_position(session: Session, participant_id: int, at_ms: int) -> Position | None:
    """Return the participant's position, or None if practice items do not exist yet or the practice is done."""
    participant = session.get(tables.Participant, participant_id)
    if participant is None or participant.stage == ParticipantStage.FREE:
        return Withdrawn()
    study = session.get_one(tables.Study, participant.study_id)
    known = _Known(participant=participant, study=study, design=design_of(study))
    if participant.stage in OVER:
        return _after_study(known)
    if sentence := explain_closed(study):
        return AtPause(**known, sentence=sentence)
    match participant.stage:
        case (
            ParticipantStage.CONSENT
            | ParticipantStage.QUESTIONS
            | ParticipantStage.INSTRUCTIONS
            | ParticipantStage.QUIZ
        ):
            return AtOnboarding(**known, kind=ParticipantStage(participant.stage))
        case ParticipantStage.PRACTICE:
            return _in_practice(session, known, at_ms)
        case ParticipantStage.BEFORE | ParticipantStage.BETWEEN | ParticipantStage.AFTER:
            return _at_questionnaire(session, known)
    return _in_conditions(session, known, at_ms)


def current_assignment(rows: Sequence[tables.Assignment]) -> tables.Assignment | None:
    """Return the first open condition, preferably one with a reviewer, or None if no condition is open."""
    ahead = [row for row in rows if is_open(row)]
    return next((row for row in ahead if is_attended(row)), ahead[0] if ahead else None)


def washout_end(design: Design, participant: tables.Participant, rows: Sequence[tables.Assignment]) -> int:
    """Return the end of the wash-out after the latest condition (ms since 1970), or 0 for simulated reviewers."""
    waits = participant.kind == ParticipantKind.HUMAN and design.washout_hours
    return _last_ended(rows) + round(design.washout_hours * 60 * _MINUTE_MS) if waits else 0


def _last_ended(rows: Sequence[tables.Assignment]) -> int:
    return max((row.ended_ms or 0 for row in rows if is_attended(row)), default=0)


def _after_study(known: _Known) -> Position:
    participant = known["participant"]
    if participant.stage == ParticipantStage.FINISHED:
        return AtEnd(**known, completion_code=participant.completion_code)
    if participant.stage in NOT_IN:
        return TurnedAway(**known, kind=ParticipantStage(participant.stage))
    return Withdrawn(known["design"])


def _in_practice(session: Session, known: _Known, at_ms: int) -> Position | None:
    participant = known["participant"]
    if participant.practice_run_id is None:
        return None
    probes = next_item.practice_probes(session, participant)
    run = session.get_one(tables.Run, participant.practice_run_id)
    for number, probe in enumerate(probes, 1):
        answer = decisions.find_decision_on_item(session, probe.item_id, participant.code)
        if answer is None:
            if claim := next_item.claim_item(session, participant, probe.item_id, at_ms):
                return AtPracticeItem(**known, run=run, probe=probe, claim=claim, item=number, items=len(probes))
        elif answer.delivered_ms is None:
            claim = decisions.get_claim(session, probe.item_id, participant.code)
            return AtPracticeAnswer(
                **known, run=run, probe=probe, claim=claim, item=number, items=len(probes), answer=answer
            )
    return None


def _at_questionnaire(session: Session, known: _Known) -> Position:
    participant = known["participant"]
    attended = [row for row in list_assignments(session, participant.id) if is_attended(row)]
    done = sum(not is_open(row) for row in attended) if participant.stage == Moment.BETWEEN else 0
    asked = answering.find_pending_instrument(session, participant, known["design"])
    return AtQuestionnaire(**known, instrument=asked, condition=done, conditions=len(attended))


def _in_conditions(session: Session, known: _Known, at_ms: int) -> Position:
    participant, design = known["participant"], known["design"]
    rows = list_assignments(session, participant.id)
    now, attended = current_assignment(rows), [row for row in rows if is_attended(row)]
    if now is None or not is_attended(now):
        return AtRoundEnd(**known, condition=len(attended), conditions=len(attended), trials=design.trials)
    part = _PartNumbers(condition=attended.index(now) + 1, conditions=len(attended))
    if participant.stage == ParticipantStage.BREAK:
        washed_out = washout_end(design, participant, rows)
        latest_ms = max(_last_ended(rows), answering.last_answered_ms(session, participant.id))
        rested = latest_ms + round(design.break_minutes * _MINUTE_MS)
        if (until := max(rested, washed_out)) > at_ms:
            return AtBreak(**known, **part, until_ms=until, sentence=_(TOO_EARLY) if washed_out > at_ms else "")
    if now.status == AssignmentStatus.WAITING or now.run_id is None:
        return AtIntroduction(**known, **part, assignment=now)
    return _in_condition(session, known, part, now, at_ms)


class _PartNumbers(TypedDict):
    condition: int
    conditions: int


def _in_condition(session: Session, known: _Known, part: _PartNumbers, now: tables.Assignment, at_ms: int) -> Position:
    participant, design = known["participant"], known["design"]
    arm = session.get_one(tables.Run, now.run_id)
    reached = select(func.max(tables.Trajectory.trial)).where(col(tables.Trajectory.run_id) == arm.id)
    trial = (session.exec(reached).one() or 0) + 1
    answers = next_item.count_decided(session, arm.id, participant.code)
    if is_playing(arm):
        if is_busy(arm):
            return AtWaiting(**known, **part, assignment=now, run=arm, trial=trial, trials=arm.trials)
        if not answers:
            return AtIntroduction(**known, **part, assignment=now)
        return AtRoundEnd(**known, **part, assignment=now, run=arm, trial=trial, trials=arm.trials)
    if design.confidence and participant.kind == ParticipantKind.HUMAN:
        # Ask before the next item is claimed, so that the rating does not add to the time of that decision.
        desks = (arm.id, now.checks_run_id)
        if unrated := answering.find_unrated_decision(session, participant, desks):
            return AtConfidence(
                **known, **part, assignment=now, run=arm, trial=trial, trials=arm.trials, answer=unrated
            )
    before = next_item.claim_next_item(session, participant, now, arm, at_ms)
    if before is None:
        return AtRoundEnd(**known, **part, assignment=now, run=arm, trial=trial, trials=arm.trials)
    with reading() as after_claim:
        # This session may still read the database as it was before the claim.
        meter = next_item.read_meter(after_claim, participant.code, now, arm, before.claim.trial)
    return AtItem(
        **known,
        **part,
        kind="probe" if before.probe else "review",
        assignment=now,
        run=before.run,
        trial=before.claim.trial + 1,
        trials=arm.trials,
        claim=before.claim,
        probe=before.probe,
        item=answers + next_item.count_decided(session, now.checks_run_id, participant.code) + 1,
        meter=meter,
    )
