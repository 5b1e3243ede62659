"""Named filters of the Inbox, which each person saves for themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs, urlencode

from sqlmodel import Session, select

from console.auth import people
from console.errors import BadInput, Refused, Unknown
from console.language import _, digits
from storage import tables

MOST_VIEWS = 20
_NAME_CHARS, _QUERY_CHARS = 40, 2_000


def list_views(session: Session, person: str) -> dict[str, dict[str, list[str]]]:
    """List the person's saved views by name: for each the filter, as it is in the address."""
    return {name: parse_qs(row.query) for name, row in sorted(_list_rows(session, person).items())}


def save_view(session: Session, person: str, name: str, query: Mapping[str, Sequence[str]], now_ms: int) -> str:
    """Save the filter under this name in place of an earlier view of the name, and return the name.

    Raise BadInput if the name is empty or too long, and Refused if the person has the maximum number of views.
    """
    name, stored = " ".join(name.split()), urlencode(query, doseq=True)
    if not name or len(name) > _NAME_CHARS:
        words = _("Enter a name of at most {most} characters for the view.")
        raise BadInput(words.format(most=digits(_NAME_CHARS)))
    if len(stored) > _QUERY_CHARS:
        raise BadInput(_("The filter is too long to save. Remove some values of the filter."))
    known, owner = _list_rows(session, person), people.get_person(session, person)
    if name not in known and len(known) >= MOST_VIEWS:
        raise Refused(
            _("You have the maximum of {most} saved views. Remove a view first.").format(most=digits(MOST_VIEWS))
        )
    row = known.get(name) or tables.SavedView(person_id=owner.id or 0, name=name, query="", created_ms=now_ms)
    row.query = stored
    session.add(row)
    return name


def remove_view(session: Session, person: str, name: str) -> None:
    """Remove the person's saved view; raise Unknown if it does not exist."""
    row = _list_rows(session, person).get(name)
    if row is None:
        raise Unknown("saved view", name)
    session.delete(row)


def _list_rows(session: Session, person: str) -> dict[str, tables.SavedView]:
    view, owner = tables.SavedView, tables.Person
    of_person = select(view).join(owner).where(owner.name_key == people.name_key(person))
    return {row.name: row for row in session.exec(of_person)}
