"""Joining a study: arrival by link or from a platform, taking a place, consent, questions and instructions."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count as count_from
from typing import Any

import orjson
from sqlmodel import Session, col, select

from console.auth import audit_log
from console.auth.kept_secrets import load_secret, new_token, token_hash
from console.database import now_ms, writing
from console.errors import BadInput, Refused
from console.language import _, ngettext
from console.studies.design import Design
from console.studies.design.model import IntakeQuestion
from console.studies.design.platforms import PLATFORMS
from console.studies.design.recruiting import outside_id_in
from console.studies.sessions.answering import check_answer
from console.studies.sessions.lifecycle import design_of, get, refuse_beyond_pilot
from console.studies.sessions.stages import (
    NOT_IN,
    ORDER,
    TURNED_AWAY,
    WITHIN,
    ParticipantStage,
    first_stage,
    lock_participant,
    next_stage,
    refuse_unless_open,
)
from storage import tables
from storage.tables import ParticipantKind


@dataclass(frozen=True, slots=True)
class Joined:
    """A person who has just taken a place, with the `secret` of the link, of which the database stores only a hash."""

    id: int
    study_id: int
    number: int
    code: str
    kind: str
    secret: str


def join(code: str, arrival: Arrival | None = None) -> Joined:
    """Give a person the next free place; the new `secret` identifies the person.

    `arrival` holds the invitation and platform parameters in addition to the study's code. Raise BadInput if the code
    is unknown. Raise Refused if the study is full or not open, or the person already has a place. Also raise Refused if
    the design does not allow this way of joining.
    """
    participant, coming = tables.Participant, arrival or Arrival(code)
    with writing() as session:
        study, invited = find_study(session, coming)
        refuse_unless_open(study, newcomer=True)
        outside_id = admit(session, study, coming, invited)
        refuse_beyond_pilot(session, study, design_of(study))
        free = (participant.study_id == study.id, participant.kind == ParticipantKind.HUMAN)
        statement = select(participant).where(*free, participant.stage == ParticipantStage.FREE)
        place = session.exec(
            statement.order_by(col(participant.number), col(participant.id)).limit(1).with_for_update(skip_locked=True)
        ).first()
        if place is None:
            raise Refused(
                _("Every place in this study is taken. Thank you for your interest. You can close this page.")
            )
        secret = take_place(place, design_of(study))
        place.outside_id = outside_id
        session.add(place)
        if invited is not None:
            invited.participant_id = place.id
            session.add(invited)
        session.flush()
        return Joined(place.id or 0, place.study_id, place.number, place.code, place.kind, secret)


def take_place(place: tables.Participant, design: Design) -> str:
    """Assign a free place to a person; return the secret of the person's link."""
    secret = new_token()
    place.secret, place.joined_ms, place.stage = token_hash(secret), now_ms(), first_stage(design)
    return secret


def find_participant(session: Session, secret: str) -> tables.Participant | None:
    """Return the participant with this secret, or None."""
    return session.exec(select(tables.Participant).where(tables.Participant.secret == token_hash(secret))).first()


def find_place(session: Session, secret: str, arrival: Arrival) -> tables.Participant | None:
    """Return the participant with this secret if they have not declined and the arrival leads to their own place."""
    participant = find_participant(session, secret)
    study = session.get(tables.Study, participant.study_id) if participant else None
    if participant is None or study is None or participant.stage == ParticipantStage.DECLINED:
        return None
    if arrival.invitation:
        invitation = tables.StudyInvitation
        mine = (invitation.token == token_hash(arrival.invitation), invitation.participant_id == participant.id)
        return participant if session.exec(select(invitation).where(*mine)).first() else None
    pseudonym, own = pseudonym_of(study, arrival.given), participant.outside_id
    # On shared computers, the address may identify another person.
    is_other = pseudonym is not None and own is not None and pseudonym != own
    return None if is_other or not is_code_of(study, arrival.code) else participant


def is_code_of(study: tables.Study, code: str) -> bool:
    """Return whether this is the study's code, ignoring case and spaces."""
    return study.join_code == normalize_code(code)


def consent(participant_id: int, accepted: bool) -> None:
    """Store the answer to the consent; declining frees the place. Raise Refused if consent is not the next step."""
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        if not _is_at(participant, study, ParticipantStage.CONSENT):
            return
        if accepted:
            design = design_of(study)
            participant.consented_ms, participant.consent_version = now_ms(), consent_version(design)
            participant.stage = next_stage(design, ParticipantStage.CONSENT)
        else:
            forget_arrival(session, participant)
            free_again(session, participant, ParticipantStage.DECLINED)
        session.add(participant)


def consent_version(design: Design) -> str:
    """Return the version of the consent text: the researcher's name for it, and the first digits of its SHA-256."""
    mark = sha256(design.consent.text.strip().encode()).hexdigest()[:12]
    return f"{design.consent.version} ({mark})" if design.consent.version else mark


def store_intake_answers(participant_id: int, answers: Mapping[str, str]) -> None:
    """Store the intake answers; raise BadInput with the question, or Refused if another step comes next."""
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        if not _is_at(participant, study, ParticipantStage.QUESTIONS):
            return
        design = design_of(study)
        given = {one.key: _checked(one, str(answers.get(one.key) or "").strip()) for one in design.demographics}
        kept = {key: answer for key, answer in given.items() if answer}
        if any(kept.get(one.key) in one.screens_out for one in design.demographics):
            # The answers are no longer needed; the platform id is kept, so that a second attempt is refused.
            free_again(session, participant, ParticipantStage.SCREENED_OUT)
        elif _is_quota_full(session, study, design, kept):
            free_again(session, participant, ParticipantStage.OVER_QUOTA)
        else:
            participant.answers = orjson.dumps(kept).decode()
            participant.stage = next_stage(design, ParticipantStage.QUESTIONS)
        session.add(participant)


def _is_quota_full(session: Session, study: tables.Study, design: Design, given: Mapping[str, str]) -> bool:
    """Return whether the quota of any of these answers is full."""
    limits = {one.key: one.quotas[given[one.key]] for one in design.demographics if given.get(one.key) in one.quotas}
    if not limits:
        return False
    # Two people who answer at the same time must not both take the last place of a quota.
    session.exec(select(tables.Study.id).where(tables.Study.id == study.id).with_for_update()).one()
    participant = tables.Participant
    gone = (*NOT_IN, ParticipantStage.WITHDRAWN, ParticipantStage.FREE)
    inside = (participant.study_id == study.id, col(participant.stage).not_in(gone))
    others = [orjson.loads(text) for text in session.exec(select(participant.answers).where(*inside))]
    return any(sum(one.get(key) == given[key] for one in others) >= most for key, most in limits.items())


def take_quiz(participant_id: int, answers: Mapping[str, str]) -> None:
    """Store a try of the quiz; move on if all answers are right, and turn the person away after the last try.

    Raise BadInput with a question that has no answer or, if tries are left, with the number of wrong answers. Raise
    Refused if the quiz is not the next step.
    """
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        if not _is_at(participant, study, ParticipantStage.QUIZ):
            return
        quiz = design_of(study).quiz
        given = {one.key: str(answers.get(one.key) or "").strip() for one in quiz.questions}
        for one in quiz.questions:
            if given[one.key] not in one.choices:
                raise BadInput(_("Please answer: {question}").format(question=one.question))
        left = quiz.tries - count_tries(session, participant) - 1
        whose: dict[str, Any] = {"study_id": study.id or 0, "participant_id": participant_id, "at_ms": now_ms()}
        whose |= {"moment": QUIZ, "instrument": f"{QUIZ} {quiz.tries - left}"}
        session.add_all(tables.QuestionnaireAnswer(**whose, item=key, answer=said) for key, said in given.items())
        wrong = sum(given[one.key] != one.right for one in quiz.questions)
        if not wrong:
            participant.stage = next_stage(design_of(study), ParticipantStage.QUIZ)
        elif left <= 0:
            free_again(session, participant, ParticipantStage.FAILED_QUIZ)
        session.add(participant)
    if wrong and left > 0:
        said = ngettext("{count} answer is not correct.", "{count} answers are not correct.", wrong)
        raise BadInput(said.format(count=wrong))


QUIZ = "quiz"
"""The moment of the quiz in stored answers, and the first word of the name of a try."""


def count_tries(session: Session, participant: tables.Participant) -> int:
    """Count the tries of the quiz that a participant has used."""
    answer = tables.QuestionnaireAnswer
    mine = (answer.participant_id == participant.id, answer.moment == QUIZ)
    return len(session.exec(select(answer.instrument).where(*mine).distinct()).all())


def finish_instructions(participant_id: int) -> None:
    """Move on from the instructions; raise Refused if they are not the participant's next step."""
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        if _is_at(participant, study, ParticipantStage.INSTRUCTIONS):
            participant.stage = next_stage(design_of(study), ParticipantStage.INSTRUCTIONS)
            session.add(participant)


def free_again(session: Session, left: tables.Participant, stage: ParticipantStage) -> tables.Participant:
    """Replace the place of a person who leaves; return the free place, with a new code and the same conditions."""
    participant, assignment = tables.Participant, tables.Assignment
    known = set(session.exec(select(participant.code).where(participant.study_id == left.study_id)))
    code = next(code for number in count_from(len(known) + 1) if (code := f"P{number:02d}") not in known)
    place = participant(study_id=left.study_id, number=left.number, code=code, kind=left.kind, rule=left.rule)
    session.add(place)
    left.stage = stage
    session.flush()
    for row in session.exec(select(assignment).where(assignment.participant_id == left.id)):
        row.participant_id = place.id or 0
        session.add(row)
    return place


def _is_at(participant: tables.Participant, study: tables.Study, stage: ParticipantStage) -> bool:
    """Return True if this step is next, or False if it is done; raise Refused if an earlier step is not done."""
    refuse_unless_open(study)
    now = ParticipantStage(participant.stage)
    if now is stage:
        return True
    if now not in (*ORDER, *WITHIN):
        raise Refused(_("You have left the study. You can close this page."))
    if now not in WITHIN and ORDER.index(now) < ORDER.index(stage):
        raise Refused(_("Another step of the study comes first. Reload the page to see this step."))
    return False


def _checked(question: IntakeQuestion, answer: str) -> str:
    said = check_answer(question, answer, question.choices if question.kind == "choice" else None)
    if said and question.kind == "number":
        try:
            finite = math.isfinite(float(said))
        except ValueError:
            finite = False
        if not finite:
            raise BadInput(_("Enter a number: {question}").format(question=question.question))
    return said


MOST_LINKS = 1_000
PARAMETERS = tuple(dict.fromkeys(name for one in PLATFORMS.values() for name in (one.person, *one.beside)))
"""The parameters that platforms add to an address; other parameters are ignored."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The parameters of the address with which a person arrives: study code or invitation, and platform parameters."""

    code: str = ""
    invitation: str = ""
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_anywhere(self) -> bool:
        """Whether the arrival has a study code or an invitation."""
        return bool(self.code or self.invitation)


def normalize_code(code: str) -> str:
    """Return a typed study code without spaces and in capitals."""
    return "".join(code.split()).upper()


def find_study(session: Session, arrival: Arrival) -> tuple[tables.Study, tables.StudyInvitation | None]:
    """Return the study of the code, and the locked invitation if given; raise BadInput if either is unknown."""
    if arrival.invitation:
        invitation = tables.StudyInvitation
        statement = select(invitation).where(invitation.token == token_hash(arrival.invitation)).with_for_update()
        invited = session.exec(statement).first()
        if invited is None:
            raise BadInput(_("This link is not valid. Check that the link is complete."))
        return session.get_one(tables.Study, invited.study_id), invited
    study = session.exec(select(tables.Study).where(tables.Study.join_code == normalize_code(arrival.code))).first()
    if study is None:
        raise BadInput(_("No study has this code. Check the link or code that you received."))
    return study, None


def admit(
    session: Session, study: tables.Study, arrival: Arrival, invited: tables.StudyInvitation | None
) -> str | None:
    """Return the pseudonym of the person's platform id, if any; raise Refused if the person may not join."""
    recruiting = design_of(study).recruiting
    platform, pseudonym = recruiting.of_platform, pseudonym_of(study, arrival.given)
    if invited is not None:
        if invited.participant_id is not None:
            raise Refused(_("This link has already been used. Continue in the browser in which you opened the link."))
    elif platform is not None and pseudonym is None:
        if set(arrival.given.values()) & {*platform.preview}:
            preview = _(
                "This is a preview on {platform}. Accept the task on {platform}, then open the study link again."
            )
            raise Refused(preview.format(platform=platform.title))
        elsewhere = _(
            "This study is for participants from {platform}. Open the study link on {platform}, so that the link "
            "contains your {platform} ID."
        )
        raise Refused(elsewhere.format(platform=platform.title))
    elif recruiting.by_invitation and platform is None:
        raise Refused(_("This study needs a personal link. Open the link that you received."))
    if pseudonym is not None:
        _refuse_second_place(session, study, pseudonym)
    return pseudonym


def pseudonym_of(study: tables.Study, given: Mapping[str, str]) -> str | None:
    """Return the stored pseudonym of the platform id in those parameters, or None if the id is missing."""
    outside = _outside_id(study, given)
    return pseudonymize(study, outside) if outside else None


def outside_id_of(session: Session, arrival: Arrival) -> str:
    """Return the arriving person's platform id, empty if missing; raise BadInput if the study is unknown."""
    return _outside_id(find_study(session, arrival)[0], arrival.given)


def _outside_id(study: tables.Study, given: Mapping[str, str]) -> str:
    platform = design_of(study).recruiting.of_platform
    return outside_id_in(platform, given) if platform else ""


def pseudonymize(study: tables.Study, outside_id: str) -> str:
    """Return the HMAC-SHA256 of the id under this console's key; it differs between studies and is irreversible."""
    key = load_secret("outside_ids.secret").encode()
    return hmac.new(key, f"{study.id} {outside_id}".encode(), hashlib.sha256).hexdigest()[:32]


def invite(study_name: str, count: int) -> list[str]:
    """Return the tokens of new links, each for one place; raise Unknown, or BadInput if the count is invalid."""
    if not 1 <= count <= MOST_LINKS:
        raise BadInput(f"Make 1 to {MOST_LINKS:,} links at a time, not {count:,}.")
    tokens = [new_token() for _ in range(count)]
    with writing() as session:
        study, at_ms = get(session, study_name), now_ms()
        fields: dict[str, Any] = {"study_id": study.id or 0, "created_ms": at_ms}
        session.add_all(tables.StudyInvitation(token=token_hash(one), **fields) for one in tokens)
        audit_log.record(session, None, "study invitations", at_ms, subject=study.name, after=count)
    return tokens


def forget_arrival(session: Session, participant: tables.Participant) -> None:
    """Free the invitation of a person who declines, and delete the person's platform id."""
    invitation = tables.StudyInvitation
    for row in session.exec(select(invitation).where(invitation.participant_id == participant.id)):
        row.participant_id = None
        session.add(row)
    participant.outside_id = None


def _refuse_second_place(session: Session, study: tables.Study, pseudonym: str) -> None:
    participant = tables.Participant
    mine = (participant.study_id == study.id, col(participant.outside_id) == pseudonym)
    found = session.exec(select(participant).where(*mine)).first()
    if found and found.stage in (ParticipantStage.FINISHED, *TURNED_AWAY):
        raise Refused(_("You have been in this study before. Each person can take part once. You can close this page."))
    if found:
        raise Refused(_("You already have a place in this study. Continue in the browser that you used before."))


def invitations(session: Session, study: tables.Study) -> tuple[int, int]:
    """Return the number of links created and the number of links used."""
    invitation = tables.StudyInvitation
    made = session.exec(select(invitation).where(invitation.study_id == study.id)).all()
    return len(made), sum(one.participant_id is not None for one in made)
