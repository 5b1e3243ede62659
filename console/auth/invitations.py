"""Invitations: links that work once, for a known person or for a new person who chooses a name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlmodel import Session, col, select, update

from console.auth.kept_secrets import new_token, token_hash
from console.auth.people import Role, add_person, as_roles, find_person, name_key, refuse_disabled, roles_of, roles_text
from console.errors import Refused
from console.language import _
from storage import tables

_DAY_MS = 86_400_000
DAYS = 7


class UnusableInvitation(Refused):
    """The invitation was used, has expired or never existed; the error does not disclose the cause."""

    def __init__(self) -> None:
        super().__init__(_("This invitation was used, has expired, or never existed."))


@dataclass(frozen=True, slots=True)
class Invited:
    """The content of a valid invitation: the person's name (None if the person chooses a name) and the roles."""

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
    """Return the token of a new invitation for the person `name`, or for a new person who chooses a name.

    Add or re-enable the named person if necessary. Without `roles`, a known person keeps their roles, and a new person
    becomes a reviewer. An invitation of an admin withdraws the unused links for an admin who chooses a name.
    """
    person = find_person(session, name) if name is not None else None
    given = as_roles(map(str, roles)) if roles is not None else None
    if name is not None and person is None:
        person = add_person(session, name, given or [Role.REVIEWER], now_ms)
    if person is not None:
        person.roles = roles_text(given or roles_of(person.roles))
        person.disabled_ms = None
        session.add(person)
    offered = person.roles if person else roles_text(given or [Role.REVIEWER])
    _withdraw_first_links(session, offered, now_ms)
    token = new_token()
    session.add(
        tables.Invitation(
            token_hash=token_hash(token),
            person_id=person.id if person else None,
            roles=offered,
            invited_by=invited_by,
            created_ms=now_ms,
            expires_ms=now_ms + int(days * _DAY_MS),
        )
    )
    return token


def list_last_invitations(session: Session) -> dict[int, tables.Invitation]:
    """Return the latest invitation of each invited person, by the person's id."""
    rows = session.exec(select(tables.Invitation).order_by(col(tables.Invitation.id)))
    return {one.person_id: one for one in rows if one.person_id is not None}


def read_invitation(session: Session, token: str, now_ms: int) -> Invited:
    """Return the content of the invitation; raise UnusableInvitation if the invitation is not valid."""
    row = _usable(session, token, now_ms)
    person = session.get(tables.Person, row.person_id) if row.person_id is not None else None
    return Invited(person.name if person else None, roles_of(person.roles if person else row.roles))


def accept(session: Session, token: str, name: str, now_ms: int) -> tables.Person:
    """Use the invitation and return the person who signs in; use `name` only if the invitation has no name.

    Raise UnusableInvitation if the invitation is not valid, or BadInput if the name is invalid. Raise Refused if the
    name is taken or is an e-mail address, because an organisation might identify another person by this address. After
    BadInput or Refused, the invitation stays valid.
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
    # With PostgreSQL, two requests can run at the same time; one of them gets no row.
    if session.connection().execute(used.values(used_ms=now_ms, person_id=person.id)).rowcount != 1:
        raise UnusableInvitation
    _withdraw_first_links(session, person.roles, now_ms)
    return person


def _withdraw_first_links(session: Session, roles: str, now_ms: int) -> None:
    """Withdraw the unused links for an admin who chooses a name, if these roles include admin."""
    if Role.ADMIN in roles_of(roles):
        link = tables.Invitation
        unused = (col(link.person_id).is_(None), col(link.used_ms).is_(None), col(link.roles).contains(str(Role.ADMIN)))
        session.execute(update(link).where(*unused).values(used_ms=now_ms))


def _refuse_address(name: str) -> None:
    if "@" in name_key(name):
        raise Refused(
            _("An e-mail address can be a name only if the person was invited under this address. Choose another name.")
        )


def _usable(session: Session, token: str, now_ms: int) -> tables.Invitation:
    statement = select(tables.Invitation).where(tables.Invitation.token_hash == token_hash(token))
    row = session.exec(statement).first()
    if row is None or row.used_ms is not None or row.expires_ms <= now_ms:
        raise UnusableInvitation
    return row
