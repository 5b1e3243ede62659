"""Coming in: a place for whoever has the code, consent, questions, instructions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import orjson
from sqlmodel import Session, col, func, select

from console.auth.tokens import new_token, token_hash
from console.database import now_ms, writing
from console.errors import BadInput, Refused
from console.language import _
from console.studies.design import Design
from console.studies.design.model import IntakeQuestion
from console.studies.sessions.answering import checked_answer
from console.studies.sessions.arrivals import Arrival, admitted, forget_arrival, is_somebody_else, study_of, written
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.stages import ORDER, WITHIN, ParticipantStage, after, first, locked, refuse_unless_open
from storage import tables
from storage.tables import ParticipantKind


@dataclass(frozen=True, slots=True)
class Joined:
    """Somebody who has just taken a place; the secret of their own link is told here and kept nowhere."""

    id: int
    study_id: int
    number: int
    code: str
    kind: str
    secret: str


def join(code: str, arrival: Arrival | None = None) -> Joined:
    """The next free place for a person, theirs from now on by its `secret`; an `arrival` says more than its code.

    Raises BadInput for a code that no study has, Refused where the study is full or not open, and for who comes by
    another way than its design says, or has a place already.
    """
    participant, coming = tables.Participant, arrival or Arrival(code)
    with writing() as session:
        study, invited = study_of(session, coming)
        refuse_unless_open(study)
        outside_id = admitted(session, study, coming, invited)
        free = (participant.study_id == study.id, participant.kind == ParticipantKind.HUMAN)
        statement = select(participant).where(*free, participant.stage == ParticipantStage.FREE)
        place = session.exec(
            statement.order_by(col(participant.number), col(participant.id)).limit(1).with_for_update(skip_locked=True)
        ).first()
        if place is None:
            raise Refused(_("Every place in this study is taken; thank you for your interest."))
        secret = take(place, design_of(study))
        place.outside_id = outside_id
        session.add(place)
        if invited is not None:
            invited.participant_id = place.id
            session.add(invited)
        session.flush()
        return Joined(place.id or 0, place.study_id, place.number, place.code, place.kind, secret)


def take(place: tables.Participant, design: Design) -> str:
    """Makes a free place somebody's own; returns the secret of their link."""
    secret = new_token()
    place.secret, place.joined_ms, place.stage = token_hash(secret), now_ms(), first(design)
    return secret


def found(session: Session, secret: str) -> tables.Participant | None:
    """Whose secret that is, or None."""
    return session.exec(select(tables.Participant).where(tables.Participant.secret == token_hash(secret))).first()


def place_in(session: Session, secret: str, arrival: Arrival) -> tables.Participant | None:
    """Whose secret that is, where the arrival leads to their place, which they have not declined, and is theirs."""
    participant = found(session, secret)
    study = session.get(tables.Study, participant.study_id) if participant else None
    if participant is None or study is None or participant.stage == ParticipantStage.DECLINED:
        return None
    if arrival.invitation:
        invitation = tables.StudyInvitation
        mine = (invitation.token == token_hash(arrival.invitation), invitation.participant_id == participant.id)
        return participant if session.exec(select(invitation).where(*mine)).first() else None
    return None if not is_code_of(study, arrival.code) or is_somebody_else(study, participant, arrival) else participant


def is_code_of(study: tables.Study, code: str) -> bool:
    """Whether that is the study's code, however it was typed."""
    return study.join_code == written(code)


def consent(participant_id: int, accepted: bool) -> None:
    """Takes the answer to the consent; who declines frees the place for somebody else. Raises Refused out of order."""
    with writing() as session:
        participant, study = locked(session, participant_id)
        if not _is_at(participant, study, ParticipantStage.CONSENT):
            return
        if accepted:
            design = design_of(study)
            participant.consented_ms, participant.consent_version = now_ms(), consent_version(design)
            participant.stage = after(design, ParticipantStage.CONSENT)
        else:
            forget_arrival(session, participant)
            free_again(session, participant, ParticipantStage.DECLINED)
        session.add(participant)


def consent_version(design: Design) -> str:
    """Which text the consent is to: the researcher's own name of it, and the first digits of its SHA-256."""
    mark = sha256(design.consent.text.strip().encode()).hexdigest()[:12]
    return f"{design.consent.version} ({mark})" if design.consent.version else mark


def tell(participant_id: int, answers: Mapping[str, str]) -> None:
    """Keeps what the participant was asked; raises BadInput naming the question, Refused out of order."""
    with writing() as session:
        participant, study = locked(session, participant_id)
        if not _is_at(participant, study, ParticipantStage.QUESTIONS):
            return
        design = design_of(study)
        given = {one.key: _checked(one, str(answers.get(one.key) or "").strip()) for one in design.demographics}
        kept = {key: answer for key, answer in given.items() if answer}
        if any(kept.get(one.key) in one.screens_out for one in design.demographics):
            # The answers are not needed any more; the outside id stays, so that nobody tries another answer.
            free_again(session, participant, ParticipantStage.SCREENED_OUT)
        else:
            participant.answers = orjson.dumps(kept).decode()
            participant.stage = after(design, ParticipantStage.QUESTIONS)
        session.add(participant)


def instructed(participant_id: int) -> None:
    """Goes on from the instructions; raises Refused out of order."""
    with writing() as session:
        participant, study = locked(session, participant_id)
        if _is_at(participant, study, ParticipantStage.INSTRUCTIONS):
            participant.stage = after(design_of(study), ParticipantStage.INSTRUCTIONS)
            session.add(participant)


def free_again(session: Session, left: tables.Participant, stage: ParticipantStage) -> tables.Participant:
    """Gives the place of somebody who leaves to a new, free row of a new code, their open conditions with it."""
    participant, assignment = tables.Participant, tables.Assignment
    highest = select(func.count()).select_from(participant).where(participant.study_id == left.study_id)
    place = participant(
        study_id=left.study_id,
        number=left.number,
        code=_unused(session, left.study_id, session.exec(highest).one()),
        kind=left.kind,
        rule=left.rule,
    )
    session.add(place)
    left.stage = stage
    session.flush()
    for row in session.exec(select(assignment).where(assignment.participant_id == left.id)):
        row.participant_id = place.id or 0
        session.add(row)
    return place


def _unused(session: Session, study_id: int, number: int) -> str:
    participant = tables.Participant
    known = set(session.exec(select(participant.code).where(participant.study_id == study_id)))
    while (code := f"P{number + 1:02d}") in known:
        number += 1
    return code


def _is_at(participant: tables.Participant, study: tables.Study, stage: ParticipantStage) -> bool:
    """Whether this step is the next one; False where it is done already. Raises Refused where it is not its turn."""
    refuse_unless_open(study)
    now = ParticipantStage(participant.stage)
    if now is stage:
        return True
    if now not in (*ORDER, *WITHIN):
        raise Refused(_("You have left the study, so there is nothing more to do here."))
    if now not in WITHIN and ORDER.index(now) < ORDER.index(stage):
        raise Refused(_("Something comes before this; reload the page to see what."))
    return False


def _checked(question: IntakeQuestion, answer: str) -> str:
    said = checked_answer(question, answer, question.choices if question.kind == "choice" else None)
    if said and question.kind == "number":
        _number(question, said)
    return said


def _number(question: IntakeQuestion, answer: str) -> None:
    try:
        finite = math.isfinite(float(answer))
    except ValueError:
        finite = False
    if not finite:
        raise BadInput(_("Give a number: {question}").format(question=question.question))
