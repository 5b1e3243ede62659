"""Arrivals: by a study's code, by a link that opens one place, or from a platform whose id stays a keyed pseudonym."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlmodel import Session, col, select

from console.auth.kept_secrets import kept_secret
from console.auth.tokens import new_token, token_hash
from console.database import now_ms, writing
from console.errors import BadInput, Refused
from console.language import _
from console.runs import audit_log
from console.studies.design.platforms import PLATFORMS
from console.studies.design.recruiting import outside_id_in
from console.studies.sessions.lifecycle import design_of, get
from console.studies.sessions.stages import ParticipantStage
from storage import tables

MOST_LINKS = 1_000
PARAMETERS = tuple(dict.fromkeys(name for one in PLATFORMS.values() for name in (one.person, *one.beside)))
"""What platforms put into the address; all else of it is left alone."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What the address of somebody who comes holds: a study's code or an invitation, and a platform's parameters."""

    code: str = ""
    invitation: str = ""
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_anywhere(self) -> bool:
        """Whether it leads to any study."""
        return bool(self.code or self.invitation)


def written(code: str) -> str:
    """A study's code however it was typed."""
    return "".join(code.split()).upper()


def study_of(session: Session, arrival: Arrival) -> tuple[tables.Study, tables.StudyInvitation | None]:
    """The study that it leads to, with the invitation, locked, where one does; raises BadInput."""
    if arrival.invitation:
        invitation = tables.StudyInvitation
        statement = select(invitation).where(invitation.token == token_hash(arrival.invitation)).with_for_update()
        invited = session.exec(statement).first()
        if invited is None:
            raise BadInput(_("This link opens no place in a study; look whether you have all of it."))
        return session.get_one(tables.Study, invited.study_id), invited
    study = session.exec(select(tables.Study).where(tables.Study.join_code == written(arrival.code))).first()
    if study is None:
        raise BadInput(_("No study has this code; look at the link or the code that you were given once more."))
    return study, None


def admitted(
    session: Session, study: tables.Study, arrival: Arrival, invited: tables.StudyInvitation | None
) -> str | None:
    """The pseudonym of the person's outside id, None without one; raises Refused for who may not have a place (too)."""
    recruiting = design_of(study).recruiting
    platform, pseudonym = recruiting.of_platform, pseudonym_of(study, arrival.given)
    if invited is not None:
        if invited.participant_id is not None:
            raise Refused(_("This link has opened its place already; go on in the browser in which it was opened."))
    elif platform is not None and pseudonym is None:
        if set(arrival.given.values()) & {*platform.preview}:
            preview = _("This is only a preview on {platform}; accept the task there, then open its link again.")
            raise Refused(preview.format(platform=platform.title))
        elsewhere = _("This study takes people from {platform}; open its link there, so that your id comes along.")
        raise Refused(elsewhere.format(platform=platform.title))
    elif recruiting.by_invitation and platform is None:
        raise Refused(_("This study takes people by personal links alone; open the one that you were sent."))
    if pseudonym is not None:
        _refuse_second_place(session, study, pseudonym)
    return pseudonym


def pseudonym_of(study: tables.Study, given: Mapping[str, str]) -> str | None:
    """The keyed digest under which the platform's id among those parameters is kept; None where there is none."""
    outside = _outside_id(study, given)
    return keyed(study, outside) if outside else None


def outside_id_of(session: Session, arrival: Arrival) -> str:
    """The platform's id of whoever comes, empty where their study takes none; raises BadInput."""
    return _outside_id(study_of(session, arrival)[0], arrival.given)


def _outside_id(study: tables.Study, given: Mapping[str, str]) -> str:
    platform = design_of(study).recruiting.of_platform
    return outside_id_in(platform, given) if platform else ""


def keyed(study: tables.Study, outside_id: str) -> str:
    """HMAC-SHA256 of the id under this console's own key, another one in each study; leads back to nobody."""
    key = kept_secret("outside_ids.secret").encode()
    return hmac.new(key, f"{study.id} {outside_id}".encode(), hashlib.sha256).hexdigest()[:32]


def is_somebody_else(study: tables.Study, participant: tables.Participant, arrival: Arrival) -> bool:
    """Whether the address names another person than the one whom this browser knows, as in a shared room."""
    pseudonym = pseudonym_of(study, arrival.given)
    return pseudonym is not None and participant.outside_id is not None and pseudonym != participant.outside_id


def invite(study_name: str, count: int) -> list[str]:
    """Tokens of new links to the study, each for one place; raises Unknown, BadInput for none or too many."""
    if not 1 <= count <= MOST_LINKS:
        raise BadInput(f"Make 1 to {MOST_LINKS:,} links at a time, not {count:,}.")
    tokens = [new_token() for _ in range(count)]
    with writing() as session:
        study, at_ms = get(session, study_name), now_ms()
        made = [
            tables.StudyInvitation(study_id=study.id or 0, token=token_hash(one), created_ms=at_ms) for one in tokens
        ]
        session.add_all(made)
        audit_log.record(session, None, "study invitations", at_ms, subject=study.name, after=count)
    return tokens


def forget_arrival(session: Session, participant: tables.Participant) -> None:
    """Gives the invitation of somebody who declines back, and forgets the outside id, so that nothing of it is kept."""
    invitation = tables.StudyInvitation
    for row in session.exec(select(invitation).where(invitation.participant_id == participant.id)):
        row.participant_id = None
        session.add(row)
    participant.outside_id = None


def _refuse_second_place(session: Session, study: tables.Study, pseudonym: str) -> None:
    participant = tables.Participant
    mine = (participant.study_id == study.id, col(participant.outside_id) == pseudonym)
    found = session.exec(select(participant).where(*mine)).first()
    if found is None:
        return
    if found.stage in (ParticipantStage.FINISHED, ParticipantStage.SCREENED_OUT):
        raise Refused(_("You have come to this study before; each person has one place in it."))
    raise Refused(_("You have a place in this study already; go on in the browser in which you began."))


def invitations(session: Session, study: tables.Study) -> tuple[int, int]:
    """How many links were made, and how many of them have opened their place."""
    invitation = tables.StudyInvitation
    made = session.exec(select(invitation).where(invitation.study_id == study.id)).all()
    return len(made), sum(one.participant_id is not None for one in made)
