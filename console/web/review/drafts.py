"""Drafts: what is typed for an item and not yet sent, kept on the server as it is typed."""

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
from console.review.edit_fields import EditField, edit_fields, written_action
from console.review.edits import TOOL_SCHEMA
from console.trajectory import from_json
from console.web.review.own_items import alias, in_words, item_called, own_claim
from console.web.sign_in import current_identity
from storage.queue import Claim


def show_unsent() -> None:
    """Draws the words that could not be stored, so that they can be copied; they come back once they can be."""
    for words in st.session_state.get("unsent", {}).values():
        st.caption(_("Your words are kept in this tab:"))
        st.code(words, language=None, wrap_lines=True)


@in_words
def save_draft(item: str, text: str, key: str | None = None) -> None:
    """Stores what is typed for the item of that alias, as words or in a field of the edit; decided, it is dropped."""
    identity = current_identity()
    of = item_called(item)
    if identity is None or of is None:
        return
    if key == reasons_key(of):
        keep_reasons(of)
        return
    if key is not None and key != words_key(of):
        keep_edit(of, {key: text})
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
    """The widget key of an item's words to the agent."""
    return f"words-{alias(item)}"


def reasons_key(item: int) -> str:
    """The widget key of an item's reasons."""
    return f"reasons-{alias(item)}"


@in_words
def keep_reasons(item: int) -> None:
    """Stores which reasons are chosen so far."""
    keep(item, reason_codes=" ".join(st.session_state.get(reasons_key(item)) or ()))


@in_words
def keep_edit(item: int, typed: Mapping[str, str] | None = None) -> None:
    """Stores what stands in the fields of the edit so far; `typed` is what a field holds that was not left yet."""
    fields = drafted_fields(item) | dict(typed or {})
    keep(item, edit=orjson.dumps(fields).decode())


@in_words
def keep_sent_edit(claim: Claim, sent: str) -> None:
    """Stores an edit that was taken back as a draft: a field for each argument where these make it up."""
    item, pending, schema = claim.item_id, decisions.pending_action(claim), tool_schema(claim)
    raw, fields = [field.raw for field in edit_fields(sent, schema)], edit_fields(pending, schema)
    kept = {text_key(item): sent}
    with suppress(BadInput):
        if fields and len(raw) == len(fields) and written_action(pending, fields, raw) == sent:
            kept = {field_key(item, number): text for number, text in enumerate(raw)}
    keep(item, edit=orjson.dumps(kept).decode())


def keep(item: int, **parts: str) -> None:
    """Stores parts of the draft of one's own item; the other parts stay as they are."""
    identity = current_identity()
    if identity is None:
        return
    with reading() as session:
        own_claim(session, item, identity)
    review_queue().save_draft(item_id=item, reviewer=identity.name, now_ms=now_ms(), **parts)
    st.session_state["active_ms"] = now_ms()


def keep_what_was_typed(now: int | None) -> None:
    """Words of the item that stood here before, where another or none stands `now`, are kept with it, and named.

    An item that was answered lets them go.
    """
    item = st.session_state.get("shown_item")
    if item is None or item in (now, st.session_state.get("answered_item")):
        return
    words = st.session_state.get(words_key(item))
    if words:
        save_draft(alias(item), words)
        st.session_state["kept_words"] = item


def field_keys(claim: Claim) -> list[str]:
    """The widget keys of the form, the first that gets the focus first."""
    fields = fields_of(claim)
    return [field_key(claim.item_id, number) for number in range(len(fields))] or [text_key(claim.item_id)]


def field_key(item: int, number: int) -> str:
    """The widget key of one argument."""
    return f"field-{alias(item)}-{number}"


def text_key(item: int) -> str:
    """The widget key of an action that is written as one text."""
    return f"instead-{alias(item)}"


def drafted_fields(item: int) -> dict[str, str]:
    """What stands in the form's fields, by widget key."""
    mine = (f"field-{alias(item)}-", text_key(item))
    return {str(key): str(text) for key, text in st.session_state.items() if str(key).startswith(mine)}


def written(claim: Claim) -> str:
    """The action that the form comes to; raises BadInput with the place."""
    item, fields = claim.item_id, fields_of(claim)
    if not fields:
        return str(st.session_state.get(text_key(item)) or "")
    raw = [str(st.session_state.get(field_key(item, n), field.raw)) for n, field in enumerate(fields)]
    return written_action(decisions.pending_action(claim), fields, raw)


def fields_of(claim: Claim) -> tuple[EditField, ...]:
    """The fields of the edit as it is open; none where it is written as one text."""
    if st.session_state.get("edit_as_text") == claim.item_id:
        return ()
    return edit_fields(decisions.pending_action(claim), tool_schema(claim))


def tool_schema(claim: Claim) -> Mapping[str, Any] | None:
    """The JSON schema of the pending tool's arguments, None where the agent gave none."""
    schema = from_json(claim.body).extra.get(TOOL_SCHEMA)
    return schema if isinstance(schema, dict) else None
