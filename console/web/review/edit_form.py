"""The edit form: one field per argument of the pending action, and the changes of the edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import orjson
import streamlit as st

from console.errors import BadInput, Refused
from console.language import _
from console.review import decisions
from console.review.blinding import list_remedies
from console.review.edit_fields import EditField, FieldKind, edit_fields, list_changed_arguments
from console.review.presentation import preview
from console.web.review import actions, drafts
from console.web.review.own_items import alias, name_item
from console.web.widgets import boundary
from console.web.widgets.boundary import draw_part
from console.web.widgets.changes import change_html
from console.web.widgets.hotkeys import key_button
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import show_problem
from storage import tables
from storage.queue import Claim, KeptDraft

_SHORT, _WORD = 60, 16
_NARROW, _WIDE = 170, 360
_MOST_REMEDIES = 9
"""The number of alternatives with a shortcut."""


def find_editor(claim: Claim, run: tables.Run, draft: KeptDraft) -> Callable[[], None] | None:
    """Return the function that draws the edit of the item and the agent's alternatives; return None without an edit."""
    actions.open_draft(claim.item_id, draft)
    is_open = decisions.can_edit(run) and st.session_state.get("editing") == claim.item_id
    return partial(_show_edit, claim, draft.edit) if is_open else None


def _show_edit(claim: Claim, draft: str) -> None:
    """Draw the edit form and the alternatives; if the form fails, close it and keep the text of the edit."""
    place = st.empty()

    def draw() -> bool:
        with place.container():
            edit_form(claim, draft)
        return True

    if not draw_part(boundary.EDIT, draw, False):
        place.empty()
        show_aside(claim.item_id, drafts.keep_closed_edit(claim.item_id, draft))
    draw_part(boundary.REMEDIES, lambda: _show_remedies(claim), None)


def show_aside(item: int, text: str) -> None:
    """Draw the text of the reviewer's edit that the edit form could not show, if there is one."""
    if text:
        st.caption(
            _("The form cannot show your edit of {item}. The text of your edit is kept:").format(item=name_item(item))
        )
        st.code(text, language=None, wrap_lines=True)


def edit_form(claim: Claim, draft: str) -> None:
    """Draw the fields with their drafted text, the changes, and the reason if the edit cannot be sent."""
    item = claim.item_id
    _fill(claim, orjson.loads(draft or "{}"))
    with st.container(key="edit-form"):
        fields = drafts.fields_of(claim)
        if fields:
            _draw_fields(item, fields)
        else:
            key = drafts.text_key(item)
            st.text_area(_("Edited action"), key=key, height="content", on_change=drafts.save_edit, args=(item,))
        if edit_fields(decisions.pending_action(claim), drafts.tool_schema(claim)):
            words = _("Edit as text") if fields else _("Edit single values")
            st.button(words, key=f"as-{alias(item)}", on_click=edit_as_text, args=(item, bool(fields)))
    with st.container(key="edit-change"):
        _show_change(claim)


def _fill(claim: Claim, drafted: Mapping[str, str]) -> None:
    item = claim.item_id
    if drafts.text_key(item) in drafted and "edit_as_text" not in st.session_state:
        st.session_state["edit_as_text"] = item
    begun = {drafts.field_key(item, n): field.raw for n, field in enumerate(drafts.fields_of(claim))}
    for key, text in (begun or {drafts.text_key(item): decisions.pending_action(claim)}).items():
        if key not in st.session_state:
            st.session_state[key] = drafted.get(key, text)


def edit_as_text(item: int, as_text: bool) -> None:
    """Switch the edit to a single text field, or to one field per argument."""
    compared = st.session_state.get("compared")
    for key in drafts.list_drafted_fields(item):
        del st.session_state[key]
    st.session_state["edit_as_text"] = item if as_text else None
    if as_text and compared and compared[0] == item:
        st.session_state[drafts.text_key(item)] = compared[1]


def _draw_fields(item: int, fields: tuple[EditField, ...]) -> None:
    several = fields[-1].call > 0
    for call in dict.fromkeys(field.call for field in fields):
        mine = [(number, field) for number, field in enumerate(fields) if field.call == call]
        if several:
            show_html(f'<p class="ia-none">{call + 1}. {plain(mine[0][1].tool)}</p>')
        with st.container(horizontal=True, key=f"fields-{alias(item)}-{call}"):
            for number, field in mine:
                if _is_short(field):
                    _draw_short(item, number, field)
        for number, field in mine:
            if not _is_short(field):
                key = drafts.field_key(item, number)
                st.text_area(_label(field), key=key, height="content", on_change=drafts.save_edit, args=(item,))


def _is_short(field: EditField) -> bool:
    """Return whether the field is short. The pending value decides, so that the size does not change while typing."""
    is_line = field.kind is FieldKind.TEXT and len(field.raw) <= _SHORT and "\n" not in field.raw
    return is_line or field.kind in (FieldKind.CHOICE, FieldKind.NUMBER)


def _draw_short(item: int, number: int, field: EditField) -> None:
    key, width = drafts.field_key(item, number), _WIDE if len(field.raw) > _WORD else _NARROW
    if field.kind is FieldKind.CHOICE:
        choices = field.choices
        st.selectbox(_label(field), choices, key=key, width=width, on_change=drafts.save_edit, args=(item,))
    else:
        st.text_input(_label(field), key=key, width=width, on_change=drafts.save_edit, args=(item,))


def _label(field: EditField) -> str:
    """Return the label of a field: its kind, and its name, which is escaped because the agent wrote it."""
    name = "".join(sign if sign.isalnum() or sign.isspace() else f"\\{sign}" for sign in field.name)
    return f"{name} ({_(field.kind)})"


def list_unchanged(claim: Claim) -> dict[str, str]:
    """Return the text of each field if the edit has the same values as the pending action, else nothing."""
    with suppress(BadInput):
        if not list_changed_arguments(decisions.pending_action(claim), drafts.read_written_edit(claim)):
            return drafts.list_drafted_fields(claim.item_id)
    return {}


def _show_change(claim: Claim) -> None:
    pending = decisions.pending_action(claim)
    try:
        edited = drafts.read_written_edit(claim)
        change = change_html(pending, edited)
        if edited == pending or not change:
            st.caption(_("No change: the edit has the same values as the pending action."))
            return
        show_html(change)
        st.session_state["compared"] = (claim.item_id, edited)
        decisions.check_written_edit(claim, edited, allow_other_tool=True)
    except (BadInput, Refused) as refusal:
        show_problem(str(refusal))


def _show_remedies(claim: Claim) -> None:
    found = list_remedies(claim)[:_MOST_REMEDIES]
    if not found:
        return
    st.caption(_("The agent proposed these actions. Choose one to send it as your edit, or write your own:"))
    with st.container(horizontal=True, key="remedies"):
        for number, action in enumerate(found, start=1):
            # As code, because the text is the agent's and could contain Markdown.
            name, code = _remedy_key(claim, number), "`" + preview(action.replace("`", "'"), 60) + "`"
            key_button(code, str(number), name, actions.decide_remedy, claim.item_id, number)


def remedy_keys(claim: Claim) -> dict[str, str]:
    """Return the shortcuts of the agent's alternatives with their widget keys."""
    numbers = range(1, len(list_remedies(claim)[:_MOST_REMEDIES]) + 1)
    return {str(number): _remedy_key(claim, number) for number in numbers}


def _remedy_key(claim: Claim, number: int) -> str:
    return f"remedy-{alias(claim.item_id)}-{number}"
