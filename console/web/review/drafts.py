"""Drafts of feedback, reasons and edits, stored on the server while the reviewer types."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson
import streamlit as st

from console.database import now_ms, reading, review_queue
from console.errors import BadInput, ConsoleError
from console.language import _
from console.review import decisions
from console.review.edit_fields import EditField, edit_fields, find_invalid_field, write_action
from console.review.edits import TOOL_SCHEMA
from console.trajectory import from_json
from console.web.review.own_items import alias, find_item_by_alias, in_words, own_claim
from console.web.sign_in import current_identity
from storage.queue import Claim, KeptDraft


def show_unsent() -> None:
    """Draw the feedback that could not be stored, so that the reviewer can copy it."""
    for words in st.session_state.get("unsent", {}).values():
        st.caption(_("Your feedback is saved in this tab only. Copy the feedback before you close the tab:"))
        st.code(words, language=None, wrap_lines=True)


@in_words
def save_draft(item: str, key: str, text: str) -> None:
    """Store the text typed for the item with this alias, as feedback or as an edit field.

    Discard the feedback if the reviewer no longer holds a claim on the item.
    """
    identity = current_identity()
    of = find_item_by_alias(item)
    if identity is None or of is None:
        return
    if key == reasons_key(of):
        keep(of, reason_codes=" ".join(st.session_state.get(key) or ()))
        return
    if key != words_key(of):
        save_edit(of, {key: text})
        return
    kept = st.session_state.setdefault("unsent", {})
    kept[of] = text
    try:
        with reading() as session:
            own_claim(session, of, identity)
    except ConsoleError:
        kept.pop(of)
        return
    review_queue().save_draft(item_id=of, reviewer=identity.name, text=text, now_ms=now_ms())
    kept.pop(of)
    st.session_state["active_ms"] = now_ms()


def words_key(item: int) -> str:
    """Return the widget key of an item's feedback."""
    return f"words-{alias(item)}"


def reasons_key(item: int) -> str:
    """Return the widget key of an item's reasons."""
    return f"reasons-{alias(item)}"


@in_words
def save_edit(item: int, typed: Mapping[str, str] | None = None) -> None:
    """Store the edit fields as a draft; `typed` holds the text of a field that still has the focus."""
    fields = list_drafted_fields(item) | dict(typed or {})
    of, aside = st.session_state.get("aside", (None, ""))
    keep(item, edit=orjson.dumps(fields | ({_ASIDE: aside} if of == item else {})).decode())


_ASIDE = "aside"
"""The key, in the draft of an edit, of text that the edit form could not show."""


def keep_closed_edit(item: int, draft: str) -> str:
    """Close the edit form and store its text outside the fields; return that text."""
    fields = list_drafted_fields(item)
    for key in fields:
        del st.session_state[key]
    st.session_state["editing"] = None
    st.session_state.pop("edit_as_text", None)
    kept = "\n".join(dict.fromkeys([*_read_edit(draft).values(), *fields.values()]))
    in_words(keep)(item, edit=orjson.dumps({_ASIDE: kept}).decode())
    return kept


def find_put_aside(item: int, draft: str) -> str:
    """Return the text of the edit that the form could not show, or an empty text; keep it in later drafts."""
    aside = _read_edit(draft).get(_ASIDE, "")
    st.session_state["aside"] = (item, aside) if aside else (None, "")
    return aside


def has_edit(draft: KeptDraft) -> bool:
    """Return whether the draft holds an edit for the edit form."""
    return any(key != _ASIDE for key in _read_edit(draft.edit))


def edit_text(draft: KeptDraft) -> str:
    """Return the texts of a drafted edit, one per line."""
    return "\n".join(_read_edit(draft.edit).values())


def _read_edit(draft: str) -> dict[str, str]:
    """Return the texts of a drafted edit by field; return an unreadable draft as one text."""
    try:
        found = orjson.loads(draft or "{}")
    except orjson.JSONDecodeError:
        return {"": draft}
    return {str(key): str(text) for key, text in found.items()} if isinstance(found, dict) else {"": draft}


@in_words
def save_undone_edit(claim: Claim, sent: str) -> None:
    """Store an undone edit as a draft, with one field per argument if the fields yield the same edit."""
    item, pending, schema = claim.item_id, decisions.pending_action(claim), tool_schema(claim)
    raw, fields = [field.raw for field in edit_fields(sent, schema)], edit_fields(pending, schema)
    kept = {text_key(item): sent}
    with suppress(BadInput):
        if fields and len(raw) == len(fields) and write_action(pending, fields, raw) == sent:
            kept = {field_key(item, number): text for number, text in enumerate(raw)}
    keep(item, edit=orjson.dumps(kept).decode())


def keep(item: int, **parts: str) -> None:
    """Store these parts of the draft for the reviewer's item; leave the other parts unchanged."""
    identity = current_identity()
    if identity is None:
        return
    with reading() as session:
        own_claim(session, item, identity)
    review_queue().save_draft(item_id=item, reviewer=identity.name, now_ms=now_ms(), **parts)
    st.session_state["active_ms"] = now_ms()


def save_previous_feedback(now: int | None) -> None:
    """Store the previous item's feedback as a draft of the previous item if `now` is another item or None.

    Store nothing if the previous item was decided.
    """
    item = st.session_state.get("shown_item")
    if item is None or item in (now, st.session_state.get("answered_item")):
        return
    words = st.session_state.get(words_key(item))
    if words:
        save_draft(alias(item), words_key(item), words)
        st.session_state["kept_words"] = item


def field_keys(claim: Claim) -> list[str]:
    """Return the widget keys of the edit form; the first field gets the focus."""
    fields = fields_of(claim)
    return [field_key(claim.item_id, number) for number in range(len(fields))] or [text_key(claim.item_id)]


def field_key(item: int, number: int) -> str:
    """Return the widget key of an argument."""
    return f"field-{alias(item)}-{number}"


def text_key(item: int) -> str:
    """Return the widget key of an edit written as one text."""
    return f"instead-{alias(item)}"


def list_drafted_fields(item: int) -> dict[str, str]:
    """Return the text of each field in the edit form, by widget key."""
    mine = (f"field-{alias(item)}-", text_key(item))
    return {str(key): str(text) for key, text in st.session_state.items() if str(key).startswith(mine)}


def read_written_edit(claim: Claim) -> str:
    """Return the action as edited in the form; raise BadInput with the position of the error if a field is invalid."""
    item, fields = claim.item_id, fields_of(claim)
    if not fields:
        return str(st.session_state.get(text_key(item)) or "")
    raw = [str(st.session_state.get(field_key(item, n), field.raw)) for n, field in enumerate(fields)]
    return write_action(decisions.pending_action(claim), fields, raw)


def find_field_in_error(claim: Claim) -> str:
    """Return the widget key of the first invalid field, "" if all are valid, or the key of an action edited as text."""
    fields = fields_of(claim)
    raw = [str(st.session_state.get(field_key(claim.item_id, n), field.raw)) for n, field in enumerate(fields)]
    position = find_invalid_field(fields, raw)
    return "" if position is None and fields else field_keys(claim)[position or 0]


def fields_of(claim: Claim) -> tuple[EditField, ...]:
    """Return the fields of the open edit form; return an empty tuple if the action is edited as one text."""
    if st.session_state.get("edit_as_text") == claim.item_id:
        return ()
    return edit_fields(decisions.pending_action(claim), tool_schema(claim))


def tool_schema(claim: Claim) -> Mapping[str, Any] | None:
    """Return the JSON schema of the pending tool's arguments; return None if the agent gave no schema."""
    schema = from_json(claim.body).extra.get(TOOL_SCHEMA)
    return schema if isinstance(schema, dict) else None
