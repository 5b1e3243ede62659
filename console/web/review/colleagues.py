"""Colleagues: an item is passed on with a note, or gets one; the agent never reads it.

Both stand alone in dialogs, so that the bar of an item need not draw their fields.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.database import reading
from console.language import _
from console.review import notes
from console.review.notes import MAX_NOTE, Escalation
from console.web.review import actions
from console.web.sign_in import current_identity
from console.web.widgets.markup import plain
from storage import tables

_ANYBODY = ""


def buttons(item: int) -> None:
    """The buttons that open the two dialogs."""
    if st.button(_("Pass on to a colleague"), key=f"escalate-{item}"):
        _escalate(item)
    if st.button(_("Leave a note for colleagues"), key=f"note-{item}"):
        _leave_note(item)


def _escalate(item: int) -> None:
    # A dialog's title is fixed where it is made, before anybody's language is known.
    st.dialog(_("Pass on to a colleague"))(_escalation)(item)


def _escalation(item: int) -> None:
    identity = current_identity()
    with reading() as session:
        others = notes.colleagues(session, identity.name if identity else "")
    st.caption(
        _("It costs this inspection, and another reviewer decides. Whoever takes it up reads your name and note.")
    )
    st.selectbox(
        _("Marked for"),
        [_ANYBODY, *others],
        format_func=lambda name: name or _("anybody"),
        key=f"addressee-{item}",
    )
    st.text_area(_("Note"), key=f"passed-{item}", max_chars=MAX_NOTE, placeholder=_("What made you unsure?"))
    if st.button(_("Pass it on"), key=f"pass-{item}", type="primary", on_click=_pass_on, args=(item,)):
        st.rerun()


def _pass_on(item: int) -> None:
    addressee = st.session_state.get(f"addressee-{item}") or _ANYBODY
    note = st.session_state.get(f"passed-{item}") or ""
    actions.decide(item, "escalate", note=note, addressee=addressee)


def _leave_note(item: int) -> None:
    st.dialog(_("Leave a note for colleagues"))(_note)(item)


def _note(item: int) -> None:
    st.caption(
        _("It stays with the item and never reaches the agent. In a blind run only you and researchers read it.")
    )
    st.text_area(_("Note"), key=f"noted-{item}", max_chars=MAX_NOTE)
    if st.button(_("Keep it"), key=f"keep-note-{item}", type="primary", on_click=actions.leave_note, args=(item,)):
        st.rerun()


def notes_html(kept: Sequence[tables.Note], passed: Escalation | None) -> str:
    """The hand-over of an item as a badge, and the notes at it, as HTML; empty where there is none."""
    badge = f'<b class="ia-stamp">{plain(passed.badge)}</b>' if passed else ""
    lines = "".join(f"<p><b>{plain(note.author)}</b> {plain(note.text)}</p>" for note in kept if note.text)
    return f'<div class="ia-notes-here" role="note">{badge}{lines}</div>' if badge or lines else ""
