"""Invitations: links that open once, for somebody known or for somebody who chooses a name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlmodel import Session, col, select, update

from console.auth.identity import Role, as_roles, roles_of, roles_text
from console.auth.people import add_person, name_key, person_named, refuse_disabled
from console.auth.tokens import new_token, token_hash
from console.errors import Refused
from console.language import _
from storage import tables

_DAY_MS = 86_400_000
DAYS = 7


class UnusableInvitation(Refused):
    """The invitation was used before, has expired, or was never given out; which of these is not said."""

    def __init__(self) -> None:
        super().__init__(_("This invitation cannot be used: it was used before, has expired, or was never given out."))


@dataclass(frozen=True, slots=True)
class Invited:
    """What an invitation that can be used says: whose it is, or None where a name is to be chosen, and its roles."""

    name: str | None
    roles: frozenset[Role]


def invite(
    session: Session,
    name: str | None,
    roles: Iterable[Role] | None,
    invited_by: str,
    now_ms: int,
    *,
    days: float = DAYS,
) -> str:
    """The token of a new invitation: for that person, who is made or enabled again, or for a name of their choice.

    Without roles a person keeps theirs, and somebody new may review.
    """
    person = person_named(session, name) if name is not None else None
    given = as_roles(map(str, roles)) if roles is not None else None
    if name is not None and person is None:
        person = add_person(session, name, given or [Role.REVIEWER], now_ms)
    if person is not None:
        person.roles = roles_text(given or roles_of(person.roles))
        person.disabled_ms = None
        session.add(person)
    token = new_token()
    session.add(
        tables.Invitation(
            token_hash=token_hash(token),
            person_id=person.id if person else None,
            roles=person.roles if person else roles_text(given or [Role.REVIEWER]),
            invited_by=invited_by,
            created_ms=now_ms,
            expires_ms=now_ms + int(days * _DAY_MS),
        )
    )
    return token


def invited(session: Session, token: str, now_ms: int) -> Invited:
    """What that invitation says; raises UnusableInvitation."""
    row = _usable(session, token, now_ms)
    person = session.get(tables.Person, row.person_id) if row.person_id is not None else None
    return Invited(person.name if person else None, roles_of(person.roles if person else row.roles))


def accept(session: Session, token: str, name: str, now_ms: int) -> tables.Person:
    """Uses the invitation up and returns whom it lets in; `name` counts where the invitation has none.

    Raises UnusableInvitation, Refused where the name is taken or an address, by which an organisation may let somebody
    else in, BadInput for a name that is none; the invitation then stays.
    """
    row = _usable(session, token, now_ms)
    person = session.get(tables.Person, row.person_id) if row.person_id is not None else None
    if person is None:
        _refuse_address(name)
        person = add_person(session, name, roles_of(row.roles), now_ms)
    refuse_disabled(person)
    used = update(tables.Invitation).where(
        col(tables.Invitation.id) == row.id, col(tables.Invitation.used_ms).is_(None)
    )
    # On a server two requests can come at once; one of them gets no row.
    if session.connection().execute(used.values(used_ms=now_ms, person_id=person.id)).rowcount != 1:
        raise UnusableInvitation
    return person


def _refuse_address(name: str) -> None:
    if "@" in name_key(name):
        raise Refused(_("An e-mail address is a name only for whoever is invited under it; choose another name."))


def _usable(session: Session, token: str, now_ms: int) -> tables.Invitation:
    statement = select(tables.Invitation).where(tables.Invitation.token_hash == token_hash(token))
    row = session.exec(statement).first()
    if row is None or row.used_ms is not None or row.expires_ms <= now_ms:
        raise UnusableInvitation
    return row
