"""Notes to colleagues, which no agent reads; an escalation may include a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam
from sqlmodel import Session, col, or_, select

from console.auth.people import Role, get_person, list_people, roles_of
from console.errors import BadInput
from console.language import _, digits
from console.runs import is_current
from storage import tables
from storage.tables import DecisionKind

MAX_NOTE = 2_000
"""The maximum length of a note, in characters."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """The escalation of an item: its author, its addressee (empty if no colleague is named) and its note."""

    author: str
    addressee: str = ""
    text: str = ""

    @property
    def badge(self) -> str:
        """The escalation as a short label."""
        if self.addressee:
            return _("{author} escalated this item to {name}").format(author=self.author, name=self.addressee)
        return _("{author} escalated this item").format(author=self.author)


def clean_note(text: str) -> str:
    """Return the note without leading and trailing whitespace; raise BadInput if the note is too long."""
    if len(text) > MAX_NOTE:
        long = _("The note has {count} characters, but the maximum is {most}. Shorten the note.")
        raise BadInput(long.format(count=digits(len(text)), most=digits(MAX_NOTE)))
    return text.strip()


def add_note(
    session: Session,
    item_id: int,
    author: str,
    text: str,
    now_ms: int,
    *,
    addressee: str = "",
    decision_id: int | None = None,
) -> None:
    """Store a note on an item, at most one per decision.

    Raise BadInput if the note is too long, or Unknown if the addressee does not exist.
    """
    text = clean_note(text)
    if addressee:
        addressee = get_person(session, addressee).name
    known = decision_id and session.exec(select(tables.Note).where(tables.Note.decision_id == decision_id)).first()
    if known or not (text or addressee):
        return
    session.add(
        tables.Note(
            item_id=item_id, decision_id=decision_id, author=author, addressee=addressee, text=text, created_ms=now_ms
        )
    )


# Queried at every decision, so these statements are built once.
_note, _decision = tables.Note, tables.Decision
_NOTES = select(_note).where(_note.item_id == bindparam("item")).order_by(col(_note.id))
_NOTES_FOR_ONE = _NOTES.where(or_(col(_note.decision_id).is_not(None), col(_note.author) == bindparam("reader")))
_ESCALATIONS = (
    select(_decision.item_id, _decision.reviewer, _note.addressee, _note.text)
    .join(_note, col(_note.decision_id) == _decision.id, isouter=True)
    .where(
        col(_decision.item_id).in_(bindparam("items", expanding=True)),
        _decision.decision == DecisionKind.ESCALATE,
        is_current(),
    )
    .order_by(col(_decision.id))
)


def list_notes(session: Session, item_id: int, reader: str, *, everything: bool) -> Sequence[tables.Note]:
    """List the notes on an item that the reader may see, the oldest first.

    By default these are the notes of escalations and the reader's own notes. If `everything` is true, as in a run that
    is not blind, list all notes.
    """
    given = {"item": item_id} if everything else {"item": item_id, "reader": reader}
    return session.exec(_NOTES if everything else _NOTES_FOR_ONE, params=given).all()


def list_escalations(session: Session, item_ids: Sequence[int]) -> dict[int, Escalation]:
    """Return the latest current escalation of each of these items by item id; omit items without an escalation."""
    if not item_ids:
        return {}
    rows = session.exec(_ESCALATIONS, params={"items": list(item_ids)})
    return {item: Escalation(who, to or "", text or "") for item, who, to, text in rows}


def list_colleagues(session: Session, reviewer: str) -> list[str]:
    """List the names of the other people who may review."""
    may_review = {Role.REVIEWER, Role.RESEARCHER, Role.ADMIN}
    return [
        one.name
        for one in list_people(session)
        if one.disabled_ms is None and one.name != reviewer and may_review & roles_of(one.roles)
    ]
