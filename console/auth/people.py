"""People who may come in: their names, which nobody else can take, their roles, and the end of both."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from sqlmodel import Session, col, or_, select, update

from console.auth.identity import Identity, Role, as_roles, roles_of, roles_text
from console.errors import BadInput, Refused, Unknown
from console.language import _, gettext_noop
from storage import tables

MAX_NAME = 60
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Characters that count as printable and leave no mark, so that two names would look the same."""

DISABLED = gettext_noop("{name} is disabled; an admin can invite them again: inferact person invite NAME")


def clean_name(name: str) -> str:
    """The name without blanks around and beside it; raises BadInput where it cannot be read."""
    cleaned = " ".join(name.split())
    if not cleaned:
        raise BadInput(_("Enter a name; your decisions are recorded under it."))
    if len(cleaned) > MAX_NAME or not cleaned.isprintable():
        raise BadInput(_("A name has at most {most} printable characters.").format(most=MAX_NAME))
    return cleaned


def name_key(name: str) -> str:
    """What two spellings of one name share: no regard to case, width or how an accent is put together."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", clean_name(name)).casefold())


def person_named(session: Session, name: str) -> tables.Person | None:
    """Whoever has that name, however it is written, or None."""
    return session.exec(select(tables.Person).where(tables.Person.name_key == name_key(name))).first()


def person_of(session: Session, name: str) -> tables.Person:
    """Whoever has that name; raises Unknown."""
    person = person_named(session, name)
    if person is None:
        raise Unknown("person", clean_name(name), [one.name for one in every_person(session)])
    return person


def every_person(session: Session) -> list[tables.Person]:
    """All people by name, the disabled ones too."""
    return list(session.exec(select(tables.Person).order_by(tables.Person.name_key)))


def add_person(session: Session, name: str, roles: Iterable[Role], now_ms: int) -> tables.Person:
    """A new person; raises Refused where somebody has the name already, or one that looks the same could be meant."""
    if _UNSEEN.search(name):
        raise Refused(_("The name holds a character that nobody can see; choose another name."))
    taken = person_named(session, name)
    if taken is not None:
        raise Refused(_("Somebody is called {name} here already; choose another name.").format(name=taken.name))
    if name_key(name) in tuple(Role):
        # A rule that leaves a decision to admins must not be met by somebody who is called so.
        raise Refused(_("{name} is the name of a role; choose another name.").format(name=clean_name(name)))
    person = tables.Person(
        name=clean_name(name), name_key=name_key(name), roles=roles_text(as_roles(map(str, roles))), created_ms=now_ms
    )
    session.add(person)
    session.flush()
    return person


def known_reviewer(session: Session, name: str, now_ms: int) -> tuple[tables.Person, bool]:
    """Who reviews at the command line under that name, and whether they are new; raises Refused where disabled."""
    person = person_named(session, name)
    if person is None:
        return add_person(session, name, [Role.REVIEWER], now_ms), True
    refuse_disabled(person)
    return person, False


def refuse_disabled(person: tables.Person) -> None:
    """Raises Refused where the person may no longer come in."""
    if person.disabled_ms is not None:
        raise Refused(_(DISABLED).format(name=person.name))


def refuse_beyond(by: Identity, roles: Iterable[Role], known: tables.Person | None) -> None:
    """Raises Refused where `by` may not give or take those roles: nobody hands out what they do not have.

    A new link for somebody `known` opens the console as them, so it takes an admin, as every role does.
    """
    if by.has(Role.ADMIN):
        return
    if not by.has(Role.RESEARCHER):
        raise Refused("Only researchers and admins do this.")
    if beyond := sorted(str(role) for role in roles if role not in by.roles):
        raise Refused(f"The role {' and '.join(beyond)} is not yours to give or take; ask an admin.")
    if known is not None:
        raise Refused(f"{known.name} is here already, and a new link would open the console as them; ask an admin.")


def disable(session: Session, person: tables.Person, now_ms: int) -> None:
    """Ends all that lets the person in: their sessions, and what nobody used of the invitations for or by them."""
    person.disabled_ms = person.disabled_ms or now_ms
    session.add(person)
    ended, unused = tables.PersonSession, tables.Invitation
    own_sessions = (col(ended.person_id) == person.id, col(ended.ended_ms).is_(None))
    session.execute(update(ended).where(*own_sessions).values(ended_ms=now_ms))
    theirs = or_(col(unused.person_id) == person.id, col(unused.invited_by) == person.name)
    own_invitations = (theirs, col(unused.used_ms).is_(None))
    session.execute(update(unused).where(*own_invitations).values(used_ms=now_ms))


def has_admin(session: Session) -> bool:
    """Whether anybody can invite others in the browser."""
    return any(Role.ADMIN in roles_of(one.roles) and one.disabled_ms is None for one in every_person(session))
