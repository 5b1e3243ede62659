"""Notes to colleagues, apart from the words to the agent, which never gets them; one may hand its item over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam
from sqlmodel import Session, col, or_, select

from console.auth.identity import Role, roles_of
from console.auth.people import every_person, person_of
from console.errors import BadInput
from console.language import _, digits
from console.runs.current_decisions import is_current
from storage import tables
from storage.tables import DecisionKind

MAX_NOTE = 2_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """Who passed an item on, to whom where somebody is named, and with which note."""

    author: str
    addressee: str = ""
    text: str = ""

    @property
    def badge(self) -> str:
        """The hand-over in a few words."""
        if self.addressee:
            return _("escalated by {author} to {name}").format(author=self.author, name=self.addressee)
        return _("escalated by {author}").format(author=self.author)


def checked_note(text: str) -> str:
    """The note without blanks around it; raises BadInput for one that is too long."""
    if len(text) > MAX_NOTE:
        long = _("The note has {count} characters; keep it under {most}.")
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
    """Leaves a note at an item, one for each decision that it goes with; raises BadInput and Unknown."""
    text = checked_note(text)
    if addressee:
        addressee = person_of(session, addressee).name
    known = decision_id and session.exec(select(tables.Note).where(tables.Note.decision_id == decision_id)).first()
    if known or not (text or addressee):
        return
    session.add(
        tables.Note(
            item_id=item_id,
            decision_id=decision_id,
            author=author,
            addressee=addressee,
            text=text,
            created_ms=now_ms,
        )
    )


# Asked at every answer, so they are built once.
_note, _decision = tables.Note, tables.Decision
_NOTES = select(_note).where(_note.item_id == bindparam("item")).order_by(col(_note.id))
_NOTES_FOR_ONE = _NOTES.where(or_(col(_note.decision_id).is_not(None), col(_note.author) == bindparam("reader")))
_PASSED_ON = (
    select(_decision.item_id, _decision.reviewer, _note.addressee, _note.text)
    .join(_note, col(_note.decision_id) == _decision.id, isouter=True)
    .where(
        col(_decision.item_id).in_(bindparam("items", expanding=True)),
        _decision.decision == DecisionKind.ESCALATE,
        is_current(),
    )
    .order_by(col(_decision.id))
)


def notes_for(session: Session, item_id: int, reader: str, *, everything: bool) -> Sequence[tables.Note]:
    """The notes at an item that the reader may see, oldest first.

    Those that hand the item over and the reader's own; with `everything`, as in a run that is not blind, all of them.
    """
    given = {"item": item_id} if everything else {"item": item_id, "reader": reader}
    return session.exec(_NOTES if everything else _NOTES_FOR_ONE, params=given).all()


def escalations(session: Session, item_ids: Sequence[int]) -> dict[int, Escalation]:
    """The latest standing escalation of each of those items that has one."""
    if not item_ids:
        return {}
    passed = session.exec(_PASSED_ON, params={"items": list(item_ids)})
    return {item: Escalation(who, to or "", text or "") for item, who, to, text in passed}


def colleagues(session: Session, reviewer: str) -> list[str]:
    """The other people who may review."""
    may_review = {Role.REVIEWER, Role.RESEARCHER, Role.ADMIN}
    return [
        one.name
        for one in every_person(session)
        if one.disabled_ms is None and one.name != reviewer and may_review & roles_of(one.roles)
    ]
