"""Keyboard shortcuts and drafts of text fields, in one component without a visible part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from console.language import _, gettext_noop
from console.web.widgets.browser import component

_KEY = "ia-hotkeys"
_HTML = '<div class="status" role="status"></div><div class="said" role="status" aria-live="polite"></div>'

OnDraft = Callable[[str, str, str], None]
"""A function of the item's id, the field's key and its text; a draft may arrive after the decision on its item."""


def hotkeys(
    bindings: Mapping[str, str],
    *,
    item_id: str | int | None = None,
    enabled: bool = True,
    draft_keys: Sequence[str] = (),
    field_keys: Mapping[str, str | None] | None = None,
    choice_key: str | None = None,
    on_draft: OnDraft | None = None,
    words_key: str | None = None,
    focus: str = "",
    said: str = "",
) -> None:
    """Bind keys to the Streamlit buttons with these widget keys, and save drafts of the text areas in `draft_keys`.

    Also save drafts of the fields in `field_keys` while the reviewer types; Streamlit sends their final text. A choice
    in the widget `choice_key` is saved as a draft without text.

    Keys are `a` to `z`, `1` to `9`, `?`, `[`, `]`, `.`, `arrowleft`, `arrowright`, `enter`, `ctrl+enter` (also Cmd);
    `key#2` presses the second button of a widget. A key bound to a field focuses the field. A key bound to `!` and a
    sentence shows the sentence. A key bound to `~` and a word sends the word in the event `ia-step`. All shortcuts
    are off while a dialog is open, and for 400 ms after a new `item_id`. Afterwards the page's body has the id in
    `data-ia-keys`, and the badges show that shortcuts are on. With `words_key`, Ctrl+Enter works only if that field has
    text, which the body's `data-ia-words` indicates. While the fields in `field_keys` have their texts there, the
    submit button is off, and Ctrl+Enter states the reason. `focus` is a widget's key or `item:ID`; a new value moves
    the focus. `said` is the text that a screen reader announces for a new item.
    """
    behaviour = {
        "page": dict(bindings),
        "item": str(item_id or ""),
        "enabled": enabled,
        "draft_keys": list(draft_keys),
        "field_keys": list(field_keys or {}),
        "choice_key": choice_key,
        "words_key": words_key,
        "unchanged": {key: text for key, text in (field_keys or {}).items() if text is not None},
        "focus": focus,
        "said": said,
        "states": {"typing": _("Writing…"), "saving": _("Saving…"), "saved": _("Draft saved"), "same": _(_SAME)},
    }
    _mount(behaviour, on_draft)


_SAME = gettext_noop("The edit has no change yet.")
CTRL_ENTER = gettext_noop("Ctrl+Enter")


def key_label(words: str, key: str) -> str:
    """Return a button's label with its shortcut."""
    return f"{words}  `{_(key)}`"


def key_button(words: str, key: str, widget: str, action: Callable[..., Any], *args: Any, **look: Any) -> None:
    """Draw the button with this widget key and its shortcut; pressing it calls the action."""
    st.button(key_label(words, key), key=widget, on_click=action, args=args, **look)


@st.fragment
def _mount(behaviour: dict[str, Any], on_draft: OnDraft | None) -> None:
    data = behaviour | {"saved": st.session_state.get(f"{_KEY}-saved")}
    component("hotkeys", html=_HTML)(key=_KEY, data=data, on_draft_change=lambda: _store(on_draft))


def _store(on_draft: OnDraft | None) -> None:
    draft = (st.session_state.get(_KEY) or {}).get("draft")
    if not on_draft or not draft:
        return
    on_draft(str(draft["item"]), str(draft["key"]), str(draft["text"]))
    st.session_state[f"{_KEY}-saved"] = draft["sequence"]
