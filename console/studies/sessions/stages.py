"""The stages of a participant before, between and after their conditions, in their order."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from enum import StrEnum

from sqlmodel import Session, col, select

from console.errors import Refused, Unknown
from console.language import _, gettext_noop
from console.studies.design import Design
from storage import tables
from storage.tables import AssignmentStatus, StudyStatus

_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""The letters and digits of codes, without characters that look alike."""


class ParticipantStage(StrEnum):
    """The stage of a participant, as stored in `participant.stage`.

    `working` covers all conditions; the rows of the conditions hold the details. `before`, `between` and `after` are
    the questionnaires at that moment; `after` includes the final open question.
    """

    FREE = "free"
    CONSENT = "consent"
    QUESTIONS = "questions"
    BEFORE = "before"
    INSTRUCTIONS = "instructions"
    QUIZ = "quiz"
    PRACTICE = "practice"
    WORKING = "working"
    BETWEEN = "between"
    BREAK = "break"
    AFTER = "after"
    FINISHED = "finished"
    DECLINED = "declined"
    SCREENED_OUT = "screened_out"
    OVER_QUOTA = "over_quota"
    FAILED_QUIZ = "failed_quiz"
    WITHDRAWN = "withdrawn"


_IN_ORDER = "consent questions before instructions quiz practice working after finished"
ORDER = tuple(map(ParticipantStage, _IN_ORDER.split()))
WITHIN = (ParticipantStage.BETWEEN, ParticipantStage.BREAK)
"""The stages between two conditions."""
TURNED_AWAY = (ParticipantStage.SCREENED_OUT, ParticipantStage.OVER_QUOTA, ParticipantStage.FAILED_QUIZ)
"""The stages of people who are screened out: by an answer, by a full quota, or by the quiz."""
NOT_IN = (ParticipantStage.DECLINED, *TURNED_AWAY)
"""The stages of people who do not count as participants, because their place was given to a new free row."""

_NOT_OPEN = {
    StudyStatus.DRAFT: gettext_noop(
        "The study has not started yet. Come back when the researchers announce the start."
    ),
    StudyStatus.PAUSED: gettext_noop("The study is paused. Everything you have done is saved. Come back later."),
    StudyStatus.CLOSED: gettext_noop("The study is closed. Everything you have done is saved. Thank you."),
}

_NOT_OPEN_TO_NEWCOMERS = _NOT_OPEN | {
    StudyStatus.PAUSED: gettext_noop("This study is paused. Please try again later."),
    StudyStatus.CLOSED: gettext_noop("This study is closed. Thank you for your interest."),
}


def first_stage(design: Design) -> ParticipantStage:
    """Return the first stage of a person who has just joined."""
    return ParticipantStage.CONSENT if design.consent.text.strip() else next_stage(design, ParticipantStage.CONSENT)


def next_stage(design: Design, stage: ParticipantStage) -> ParticipantStage:
    """Return the next stage that the design includes."""
    has = {
        ParticipantStage.QUESTIONS: bool(design.demographics),
        ParticipantStage.BEFORE: bool(design.questionnaires.before),
        ParticipantStage.QUIZ: bool(design.quiz.questions),
        ParticipantStage.PRACTICE: bool(design.practice),
        ParticipantStage.AFTER: bool(design.questionnaires.after or design.debriefing.question.strip()),
    }
    later = ORDER[ORDER.index(stage) + 1 :]
    return next(one for one in later if has.get(one, True))


def explain_closed(study: tables.Study) -> str:
    """Return the reason why the study cannot continue, or an empty string if the study is open."""
    return _(_NOT_OPEN.get(StudyStatus(study.status), ""))


def lock_participant(session: Session, participant_id: int) -> tuple[tables.Participant, tables.Study]:
    """Return the participant, locked until the transaction ends, and their study; raise Unknown if missing."""
    statement = select(tables.Participant).where(tables.Participant.id == participant_id).with_for_update()
    participant = session.exec(statement).first()
    if participant is None:
        raise Unknown("participant", participant_id)
    return participant, session.get_one(tables.Study, participant.study_id)


def refuse_unless_open(study: tables.Study, *, newcomer: bool = False) -> None:
    """Raise Refused, worded for the participant, if the study is not open."""
    if sentence := (_NOT_OPEN_TO_NEWCOMERS if newcomer else _NOT_OPEN).get(StudyStatus(study.status)):
        raise Refused(_(sentence))


def list_assignments(session: Session, participant_id: int | None) -> Sequence[tables.Assignment]:
    """Return the participant's conditions in order."""
    assignment = tables.Assignment
    statement = select(assignment).where(assignment.participant_id == participant_id)
    return session.exec(statement.order_by(col(assignment.position))).all()


def is_open(assignment: tables.Assignment) -> bool:
    """Return whether the condition is not done yet."""
    return assignment.status != AssignmentStatus.DONE


def random_letters(count: int) -> str:
    """Return random letters and digits that are easy to distinguish."""
    return "".join(secrets.choice(_LETTERS) for _ in range(count))
