"""Escalations and notes between reviewers; agents never receive the notes."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.auth import people
from console.auth.people import Role
from console.database import reading
from console.language import _
from console.review import access, decision_details
from console.review.decision_details import MAX_NOTE, Escalation
from console.web.review import actions
from console.web.sign_in import current_identity
from console.web.widgets.markup import plain
from storage import tables

_ANYBODY = ""


def buttons(item: int) -> None:
    """Draw the buttons that open the two dialogs."""
    # A decorator would fix the title of a dialog before the visitor's language is known.
    if st.button(_("Escalate"), key=f"escalate-{item}"):
        st.dialog(_("Escalate"))(_escalation)(item)
    if st.button(_("Add a note"), key=f"note-{item}"):
        st.dialog(_("Add a note"))(_note)(item)
    identity = current_identity()
    if identity and identity.has(Role.RESEARCHER) and st.button(_("Assign"), key=f"assign-{item}"):
        st.dialog(_("Assign"))(_assignment)(item)


def _escalation(item: int) -> None:
    identity = current_identity()
    with reading() as session:
        others = decision_details.list_colleagues(session, identity.name if identity else "")
    st.caption(_("This uses one inspection. Another reviewer decides and sees your name and note."))
    names = {_ANYBODY: _("any reviewer"), **{name: name for name in others}}
    st.selectbox(_("Addressed to"), list(names), format_func=names.__getitem__, key=f"addressee-{item}")
    st.text_area(_("Note"), key=f"passed-{item}", max_chars=MAX_NOTE, placeholder=_("Why are you unsure?"))
    if st.button(_("Escalate"), key=f"pass-{item}", type="primary", on_click=_escalate_with_note, args=(item,)):
        st.rerun()


def _escalate_with_note(item: int) -> None:
    addressee = st.session_state.get(f"addressee-{item}") or _ANYBODY
    note = st.session_state.get(f"passed-{item}") or ""
    actions.decide(item, "escalate", note=note, addressee=addressee)


def _assignment(item: int) -> None:
    with reading() as session:
        names = [person.name for person in people.list_people(session) if person.disabled_ms is None]
        assignee = access.find_assignee(session, item)
    st.caption(_("The item is offered to the assigned person only. If you choose another person, your claim ends."))
    choices = [_ANYBODY, *names]
    st.selectbox(
        _("Assigned to"),
        choices,
        index=choices.index(assignee) if assignee in choices else 0,
        format_func=lambda name: name or _("any reviewer"),
        key=f"assignee-{item}",
    )
    if st.button(_("Save"), key=f"keep-assignee-{item}", type="primary", on_click=_assign, args=(item,)):
        st.rerun()


def _assign(item: int) -> None:
    actions.assign_item(item, st.session_state.get(f"assignee-{item}") or None)


def _note(item: int) -> None:
    st.caption(_("The agent never sees this note. In a blind run, only you and researchers can read it."))
    st.text_area(_("Note"), key=f"noted-{item}", max_chars=MAX_NOTE)
    if st.button(_("Save note"), key=f"keep-note-{item}", type="primary", on_click=actions.add_note, args=(item,)):
        st.rerun()


def notes_html(kept: Sequence[tables.Note], escalation: Escalation | None) -> str:
    """Return the escalation badge and the notes of an item as HTML; return an empty string if there are none."""
    badge = f'<b class="ia-stamp">{plain(escalation.badge)}</b>' if escalation else ""
    lines = "".join(f"<p><b>{plain(note.author)}:</b> {plain(note.text)}</p>" for note in kept if note.text)
    return f'<div class="ia-notes-here" role="note">{badge}{lines}</div>' if badge or lines else ""
