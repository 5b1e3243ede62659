"""Groups of people; a policy's rules refer to a group as `group:NAME`."""

from __future__ import annotations

from collections.abc import Iterable

from sqlmodel import Session, col, select

from console.auth import audit_log
from console.auth.people import clean_name, get_person, name_key
from console.errors import BadInput
from storage import tables


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
