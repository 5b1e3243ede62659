"""People with access: the users of a browser, their roles and unique names, their groups, and the end of access.

A policy's rules refer to a group as `group:NAME`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session, col, or_, select, update

from console.auth import audit_log
from console.errors import BadInput, Refused, Unknown
from console.language import _, gettext_noop
from storage import tables

MAX_NAME = 60
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Printable characters without a visible mark, which would make two different names look the same."""

RESERVED = frozenset({"gate", "console", "root", "system", "agent", "import", "api", "others", "somebody", "study"})
"""Names with another meaning in the audit log or in a policy."""
RESERVED_STARTS = ("role:", "group:", "inferact ")

DISABLED = gettext_noop("{name} is disabled. An admin can invite this person again with inferact person invite NAME.")


class Role(StrEnum):
    """A role of a person, or of a participant, who can see only their study.

    A reviewer can see Inbox and Review, a researcher every page; both can see their own sessions. A researcher invites
    and disables people without roles beyond the researcher's own. An admin can do so for all, and end sessions.
    """

    REVIEWER = "reviewer"
    RESEARCHER = "researcher"
    ADMIN = "admin"
    PARTICIPANT = "participant"


@dataclass(frozen=True, slots=True)
class Identity:
    """The person or participant who uses the browser, with their roles.

    A participant's name is their code, and `study_id` is the id of their study.
    """

    name: str
    roles: frozenset[Role]
    study_id: int | None = None
    session_id: int | None = None

    def has(self, role: Role) -> bool:
        """Return whether the person has this role."""
        return role in self.roles


def roles_of(text: str) -> frozenset[Role]:
    """Parse comma-separated roles and add the reviewer role; raise BadInput if a role is unknown."""
    return as_roles(word.strip().lower() for word in text.split(",") if word.strip())


def as_roles(words: Iterable[str]) -> frozenset[Role]:
    """Return the roles with these names plus reviewer; raise BadInput if a role is unknown."""
    known = {str(role): role for role in (Role.REVIEWER, Role.RESEARCHER, Role.ADMIN)}
    roles = {Role.REVIEWER}
    for word in words:
        if word not in known:
            raise BadInput(f"{word!r} is not a role. Use {', '.join(known)}.")
        roles.add(known[word])
    return frozenset(roles)


def roles_text(roles: Iterable[Role]) -> str:
    """Return the roles as comma-separated words."""
    return ",".join(sorted(str(role) for role in roles))


def clean_name(name: str) -> str:
    """Return the name without extra blanks; raise BadInput if the name is empty, too long or unprintable."""
    cleaned = " ".join(name.split())
    if not cleaned:
        raise BadInput(_("Enter a name. Your decisions are recorded under this name."))
    if len(cleaned) > MAX_NAME or not cleaned.isprintable():
        raise BadInput(
            _(
                "The name is too long or contains unprintable characters. Use at most {most} printable characters."
            ).format(most=MAX_NAME)
        )
    return cleaned


def name_key(name: str) -> str:
    """Return a key that is equal for all spellings of a name, ignoring case, width and the composition of accents."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", clean_name(name)).casefold())


def find_person(session: Session, name: str) -> tables.Person | None:
    """Return the person with this name, ignoring case and width, or None if no person has the name."""
    return session.exec(select(tables.Person).where(tables.Person.name_key == name_key(name))).first()


def get_person(session: Session, name: str) -> tables.Person:
    """Return the person with this name; raise Unknown if the person does not exist."""
    person = find_person(session, name)
    if person is None:
        raise Unknown("person", clean_name(name), [one.name for one in list_people(session)])
    return person


def list_people(session: Session) -> list[tables.Person]:
    """Return all people by name, including disabled people."""
    return list(session.exec(select(tables.Person).order_by(tables.Person.name_key)))


def add_person(session: Session, name: str, roles: Iterable[Role], now_ms: int) -> tables.Person:
    """Add a person; raise Refused if the name is taken, reserved, a role's name, or contains invisible characters."""
    if _UNSEEN.search(name):
        raise Refused(_("The name contains an invisible character. Choose another name."))
    known = session.exec(select(tables.Agent))
    taken = find_person(session, name) or next((one for one in known if name_key(one.name) == name_key(name)), None)
    if taken is not None:
        raise Refused(_("The name {name} is taken. Choose another name.").format(name=taken.name))
    if name_key(name) in tuple(Role):
        # Otherwise a person called "admin" could meet a rule that leaves a decision to admins.
        raise Refused(_("{name} is the name of a role. Choose another name.").format(name=clean_name(name)))
    if name_key(name) in RESERVED or name_key(name).startswith(RESERVED_STARTS):
        raise Refused(_("The name {name} is reserved. Choose another name.").format(name=clean_name(name)))
    person = tables.Person(
        name=clean_name(name), name_key=name_key(name), roles=roles_text(as_roles(map(str, roles))), created_ms=now_ms
    )
    session.add(person)
    session.flush()
    return person


def resolve_reviewer(session: Session, name: str, now_ms: int) -> tuple[tables.Person, bool]:
    """Return (reviewer, whether the reviewer is new) for the name in a command; raise Refused if disabled."""
    person = find_person(session, name)
    if person is None:
        return add_person(session, name, [Role.REVIEWER], now_ms), True
    refuse_disabled(person)
    return person, False


def refuse_disabled(person: tables.Person) -> None:
    """Raise Refused if the person is disabled."""
    if person.disabled_ms is not None:
        raise Refused(_(DISABLED).format(name=person.name))


def refuse_beyond(by: Identity, roles: Iterable[Role], known: tables.Person | None) -> None:
    """Raise Refused if `by` may not grant or remove these roles; people cannot grant roles that they do not have.

    Only an admin may create a new link for a `known` person of any role, because anyone with the link can sign in as
    them.
    """
    if by.has(Role.ADMIN):
        return
    if not by.has(Role.RESEARCHER):
        raise Refused(_("Only researchers and admins may do this. Ask one of them."))
    if beyond := sorted(_(role) for role in roles if role not in by.roles):
        words = _("You cannot grant or revoke these roles, which you lack: {roles}. Ask an admin.")
        raise Refused(words.format(roles=", ".join(beyond)))
    if known is not None:
        raise Refused(_("{name} already has access. Ask an admin for a new link.").format(name=known.name))


def disable(session: Session, person: tables.Person, now_ms: int) -> None:
    """End the person's access: end their sessions, and revoke unused invitations for them or by them."""
    person.disabled_ms = person.disabled_ms or now_ms
    session.add(person)
    ended, unused = tables.PersonSession, tables.Invitation
    own_sessions = (col(ended.person_id) == person.id, col(ended.ended_ms).is_(None))
    session.execute(update(ended).where(*own_sessions).values(ended_ms=now_ms))
    theirs = or_(col(unused.person_id) == person.id, col(unused.invited_by) == person.name)
    own_invitations = (theirs, col(unused.used_ms).is_(None))
    session.execute(update(unused).where(*own_invitations).values(used_ms=now_ms))


def has_admin(session: Session) -> bool:
    """Return whether an enabled person is an admin."""
    return any(Role.ADMIN in roles_of(one.roles) and one.disabled_ms is None for one in list_people(session))


def list_groups(session: Session) -> dict[str, list[str]]:
    """Return the members' names by group; groups and members are in alphabetical order."""
    member, person = tables.GroupMember, tables.Person
    rows = select(member.name, person.name).join(person, col(person.id) == member.person_id)
    found: dict[str, list[str]] = {}
    for group, name in session.exec(rows.order_by(member.name_key, person.name_key)):
        found.setdefault(group, []).append(name)
    return found


def list_members(session: Session, group: str) -> list[str]:
    """Return the members of a group, or an empty list if the group does not exist."""
    member, person = tables.GroupMember, tables.Person
    rows = select(person.name).join(member, col(member.person_id) == person.id)
    return list(session.exec(rows.where(member.name_key == name_key(group)).order_by(person.name_key)))


def change_group(
    session: Session, group: str, now_ms: int, *, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> list[str]:
    """Add and remove people, record the event and return the members; a group without members ceases to exist.

    Raise Unknown if a person does not exist, and BadInput if a person to remove is not a member.
    """
    member, before = tables.GroupMember, list_members(session, group)
    written = clean_name(next((known for known in list_groups(session) if name_key(known) == name_key(group)), group))
    for name in add:
        person = get_person(session, name)
        if person.name not in list_members(session, group):
            session.add(member(name=written, name_key=name_key(group), person_id=person.id or 0))
            session.flush()
    for name in remove:
        person = get_person(session, name)
        row = session.exec(select(member).where(member.name_key == name_key(group), member.person_id == person.id))
        found = row.first()
        if found is None:
            members = f"Name a member: {', '.join(before)}." if before else "The group has no members."
            raise BadInput(f"{person.name} is not a member of group {written}. {members}")
        session.delete(found)
        session.flush()
    after = list_members(session, group)
    if after != before:
        audit_log.record(session, None, "group changed", now_ms, subject=written, before=before, after=after)
    return after
