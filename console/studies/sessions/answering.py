"""Answers in addition to decisions: questionnaires, the final open question, and confidence in a decision."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import delete
from sqlmodel import Session, col, select

from console.database import now_ms, writing
from console.errors import BadInput, Refused
from console.language import _, digits, gettext_noop
from console.runs import is_current
from console.studies.design import Design
from console.studies.design.instruments import MOST_CHARACTERS, Instrument, InstrumentItem, answers_to
from console.studies.design.model import IntakeQuestion, instruments_of
from console.studies.design.part import Moment
from console.studies.sessions.condition_run import is_attended
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.stages import (
    ParticipantStage,
    is_open,
    list_assignments,
    lock_participant,
    next_stage,
    random_letters,
    refuse_unless_open,
)
from storage import tables
from storage.tables import ParticipantKind

DEBRIEFING = "debriefing"
"""The instrument and item under which the answer to the final open question is stored."""


def find_pending_instrument(session: Session, participant: tables.Participant, design: Design) -> Instrument | None:
    """Return the participant's next questionnaire at this moment, or None if all are filled in."""
    moment = _moment(participant)
    if moment is None:
        return None
    answer, follows = tables.QuestionnaireAnswer, _follows(session, participant, moment)
    mine = (answer.participant_id == participant.id, answer.moment == moment, answer.assignment_id == follows)
    done = set(session.exec(select(answer.instrument).where(*mine).distinct()))
    asked = [instruments_of(design)[name] for name in design.questionnaires.at(moment)]
    asked = [one.worded_ahead() for one in asked] if moment is Moment.BEFORE else asked
    if moment is Moment.AFTER and design.debriefing.question.strip():
        words = InstrumentItem(key=DEBRIEFING, question=design.debriefing.question, kind="text", required=False)
        asked.append(Instrument(name=DEBRIEFING, title=gettext_noop("One last question"), items=(words,)))
    return next((one for one in asked if one.name not in done), None)


def fill_in(participant_id: int, instrument: str, answers: Mapping[str, str]) -> None:
    """Store the answers to the pending instrument and move the participant on; ignore another instrument.

    Raise BadInput with the item if an answer is invalid, and Refused if the study is not open.
    """
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        refuse_unless_open(study)
        design, moment = design_of(study), _moment(participant)
        asked = find_pending_instrument(session, participant, design)
        if asked is None or asked.name != instrument or moment is None:
            return
        offered = {one.key: None if one.kind == "text" else answers_to(asked, one) for one in asked.items}
        given = {
            one.key: check_answer(one, (answers.get(one.key) or "").strip(), offered[one.key]) for one in asked.items
        }
        follows = _follows(session, participant, moment)
        whose: dict[str, Any] = {"study_id": study.id or 0, "participant_id": participant_id, "assignment_id": follows}
        whose |= {"moment": moment, "instrument": instrument, "at_ms": now_ms()}
        session.add_all(tables.QuestionnaireAnswer(**whose, item=key, answer=said) for key, said in given.items())
        session.flush()
        if find_pending_instrument(session, participant, design) is None:
            _leave_moment(session, participant, design, moment)
        session.add(participant)


def end_part(session: Session, participant: tables.Participant, design: Design) -> None:
    """Move a person to the questionnaires after a condition, or to the next step if no questionnaire follows."""
    if design.questionnaires.between and participant.kind == ParticipantKind.HUMAN:
        participant.stage = ParticipantStage.BETWEEN
    else:
        leave_part(session, participant, design)


def leave_part(session: Session, participant: tables.Participant, design: Design) -> None:
    """Move on to a break or the next condition; after the last condition, to the final questionnaires or the end."""
    left = [row for row in list_assignments(session, participant.id) if is_open(row)]
    if left:
        pauses = design.break_minutes or design.washout_hours
        rests = pauses and any(is_attended(row) for row in left)
        participant.stage = ParticipantStage.BREAK if rests else ParticipantStage.WORKING
        return
    asked_after = next_stage(design, ParticipantStage.WORKING) is ParticipantStage.AFTER
    if asked_after and participant.kind == ParticipantKind.HUMAN:
        participant.stage = ParticipantStage.AFTER
    else:
        _finish(participant)


def find_unrated_decision(
    session: Session, participant: tables.Participant, desks: Sequence[int | None]
) -> tables.Decision | None:
    """Return the participant's latest labelled decision in these runs that has no confidence rating, or None."""
    decision, item, confidence = tables.Decision, tables.Item, tables.Confidence
    statement = (
        select(decision)
        .join(item, col(item.id) == decision.item_id)
        .outerjoin(confidence, col(confidence.decision_id) == decision.id)
        .where(col(item.run_id).in_(desks), decision.reviewer == participant.code, is_current())
        .where(col(decision.label).is_not(None), col(confidence.decision_id).is_(None))
    )
    return session.exec(statement.order_by(col(decision.id).desc()).limit(1)).first()


def store_confidence(participant_id: int, decision_id: int, level: int) -> None:
    """Store the confidence in a decision once.

    Raise BadInput if the level is not on the scale, and Refused if another participant made the decision.
    """
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        refuse_unless_open(study)
        points = design_of(study).confidence
        if not 1 <= level <= points:
            raise BadInput(_("Choose a number from 1 to {most}.").format(most=points))
        decision = session.get(tables.Decision, decision_id)
        item = session.get(tables.Item, decision.item_id) if decision else None
        run = session.get(tables.Run, item.run_id) if item else None
        if decision is None or run is None or (run.study_id, decision.reviewer) != (study.id, participant.code):
            raise Refused(_("You did not make this decision, so you cannot change it. Reload the page."))
        if session.get(tables.Confidence, decision_id) is None:
            kept = {"participant_id": participant_id, "level": level, "at_ms": now_ms()}
            session.add(tables.Confidence(decision_id=decision_id, **kept))


def delete_answers(session: Session, participant_id: int) -> None:
    """Delete the participant's questionnaire answers, confidence ratings, page events and invitation."""
    for table in (tables.QuestionnaireAnswer, tables.Confidence, tables.PageEvent, tables.StudyInvitation):
        session.execute(delete(table).where(col(table.participant_id) == participant_id))


def last_answered_ms(session: Session, participant_id: int | None) -> int:
    """Return the time of the participant's last questionnaire (ms since 1970), or 0 if there is none."""
    answer = tables.QuestionnaireAnswer
    statement = select(answer.at_ms).where(answer.participant_id == participant_id)
    return session.exec(statement.order_by(col(answer.at_ms).desc()).limit(1)).first() or 0


def _moment(participant: tables.Participant) -> Moment | None:
    return Moment(participant.stage) if participant.stage in tuple(Moment) else None


def _follows(session: Session, participant: tables.Participant, moment: Moment) -> int | None:
    """Return the id of the condition that ended last, before this questionnaire; return None outside `between`."""
    if moment is not Moment.BETWEEN:
        return None
    ended = [row for row in list_assignments(session, participant.id) if row.ended_ms is not None and is_attended(row)]
    return max(ended, key=lambda row: (row.ended_ms or 0, row.position)).id if ended else None


def _leave_moment(session: Session, participant: tables.Participant, design: Design, moment: Moment) -> None:
    if moment is Moment.BETWEEN:
        leave_part(session, participant, design)
    elif moment is Moment.BEFORE:
        participant.stage = next_stage(design, ParticipantStage.BEFORE)
    else:
        _finish(participant)


def _finish(participant: tables.Participant) -> None:
    participant.stage, participant.finished_ms = ParticipantStage.FINISHED, now_ms()
    participant.completion_code = random_letters(8)


def check_answer(asked: IntakeQuestion | InstrumentItem, answer: str, offered: Collection[str] | None) -> str:
    """Return the answer if it is allowed (any text if `offered` is None), else raise BadInput with the question."""
    if not answer:
        if asked.required:
            raise BadInput(_("Please answer: {question}").format(question=asked.question))
        return ""
    if len(answer) > MOST_CHARACTERS:
        keep = _("Shorten the answer to at most {most} characters: {question}")
        raise BadInput(keep.format(most=digits(MOST_CHARACTERS), question=asked.question))
    if offered is not None and answer not in offered:
        raise BadInput(_("Choose one of the answers offered: {question}").format(question=asked.question))
    return answer
