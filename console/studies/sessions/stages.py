"""Where a participant stands before, between and after their conditions, in the order in which it goes."""

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
"""Without those that look alike."""


class ParticipantStage(StrEnum):
    """`participant.stage`; `working` covers all conditions, whose own rows say more.

    Before, between and after hold the questionnaires of that moment; after holds the last question in words too.
    """

    FREE = "free"
    CONSENT = "consent"
    QUESTIONS = "questions"
    BEFORE = "before"
    INSTRUCTIONS = "instructions"
    PRACTICE = "practice"
    WORKING = "working"
    BETWEEN = "between"
    BREAK = "break"
    AFTER = "after"
    FINISHED = "finished"
    DECLINED = "declined"
    SCREENED_OUT = "screened_out"
    WITHDRAWN = "withdrawn"


ORDER = (
    ParticipantStage.CONSENT,
    ParticipantStage.QUESTIONS,
    ParticipantStage.BEFORE,
    ParticipantStage.INSTRUCTIONS,
    ParticipantStage.PRACTICE,
    ParticipantStage.WORKING,
    ParticipantStage.AFTER,
    ParticipantStage.FINISHED,
)
WITHIN = (ParticipantStage.BETWEEN, ParticipantStage.BREAK)
"""Between two conditions."""
NOT_IN = (ParticipantStage.DECLINED, ParticipantStage.SCREENED_OUT)
"""Whose place went to a free row of its own, so that theirs counts as none."""

_NOT_OPEN = {
    StudyStatus.DRAFT: gettext_noop("The study has not begun yet; come back when you are told that it is open."),
    StudyStatus.PAUSED: gettext_noop("The study is paused; what you have done is kept, come back later."),
    StudyStatus.CLOSED: gettext_noop("The study is closed; what you have done is kept, thank you."),
}


def first(design: Design) -> ParticipantStage:
    """Where somebody begins who has just joined."""
    return ParticipantStage.CONSENT if design.consent.text.strip() else after(design, ParticipantStage.CONSENT)


def after(design: Design, stage: ParticipantStage) -> ParticipantStage:
    """The next stage that the design has."""
    has = {
        ParticipantStage.QUESTIONS: bool(design.demographics),
        ParticipantStage.BEFORE: bool(design.questionnaires.before),
        ParticipantStage.PRACTICE: bool(design.practice),
        ParticipantStage.AFTER: bool(design.questionnaires.after or design.debriefing.question.strip()),
    }
    later = ORDER[ORDER.index(stage) + 1 :]
    return next(one for one in later if has.get(one, True))


def not_open(study: tables.Study) -> str:
    """Why nobody can go on in the study, as a sentence; empty where they can."""
    return _(_NOT_OPEN.get(StudyStatus(study.status), ""))


def locked(session: Session, participant_id: int) -> tuple[tables.Participant, tables.Study]:
    """The participant, locked until the transaction ends, and their study; raises Unknown."""
    statement = select(tables.Participant).where(tables.Participant.id == participant_id).with_for_update()
    participant = session.exec(statement).first()
    if participant is None:
        raise Unknown("participant", participant_id)
    return participant, session.get_one(tables.Study, participant.study_id)


def refuse_unless_open(study: tables.Study) -> None:
    """Raises Refused, in words for the participant, while the study is not open."""
    if sentence := not_open(study):
        raise Refused(sentence)


def assignments(session: Session, participant_id: int | None) -> Sequence[tables.Assignment]:
    """The participant's conditions in their order."""
    assignment = tables.Assignment
    statement = select(assignment).where(assignment.participant_id == participant_id)
    return session.exec(statement.order_by(col(assignment.position))).all()


def is_open(assignment: tables.Assignment) -> bool:
    """Whether the condition is not done yet."""
    return assignment.status != AssignmentStatus.DONE


def letters(count: int) -> str:
    """That many random letters and digits, none of which looks like another."""
    return "".join(secrets.choice(_LETTERS) for _ in range(count))
