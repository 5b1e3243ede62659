"""Every key of a page, and the drafts of its text field, in one component that draws nothing of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from console.language import _, gettext_noop
from console.web.widgets.component import component

_KEY = "ia-hotkeys"
_HTML = '<div class="status" role="status"></div><div class="said" role="status" aria-live="polite"></div>'

OnDraft = Callable[[str, str, str], None]
"""Called with the item's id, the field's key and its text; a draft may arrive after its item was decided."""


def hotkeys(
    bindings: Mapping[str, str],
    *,
    item_id: str | int | None = None,
    enabled: bool = True,
    dialog: Mapping[str, str] | None = None,
    draft_keys: Sequence[str] = (),
    field_keys: Sequence[str] = (),
    choice_key: str | None = None,
    on_draft: OnDraft | None = None,
    words_key: str | None = None,
    focus: str = "",
    said: str = "",
) -> None:
    """Lets keys press the Streamlit buttons of those widget keys, and saves drafts of the text areas `draft_keys`.

    Of `field_keys` too, but only while they are typed in: what is left in them Streamlit sends itself. What is chosen
    in the widget `choice_key` comes as a draft without text, its state with it.

    Keys are `a` to `z`, `1` to `9`, `?`, `arrowleft`, `arrowright`, `enter`, `ctrl+enter` (also Cmd); `key#2` presses
    the second button of a widget, and a field gets the focus. `dialog` holds those that work while a dialog is open;
    the others are then silent. A new `item_id` keeps all keys silent for 400 ms; from then on the page's body has it in
    `data-ia-keys`, and the keys on buttons get a ground of their own. With `words_key` Ctrl+Enter works only once that
    field holds words, and the page's body says so in `data-ia-words`. A new `focus`, a widget's key or `item:ID`, gets
    the focus; a new item says `said` to a screen reader.
    """
    behaviour = {
        "page": dict(bindings),
        "dialog": dict(dialog or {}),
        "item": str(item_id or ""),
        "enabled": enabled,
        "draft_keys": list(draft_keys),
        "field_keys": list(field_keys),
        "choice_key": choice_key,
        "words_key": words_key,
        "focus": focus,
        "said": said,
        "states": {"typing": _("Writing…"), "saving": _("Saving…"), "saved": _("Draft saved")},
    }
    _mount(behaviour, on_draft)


CTRL_ENTER = gettext_noop("Ctrl+Enter")


def key_label(words: str, key: str) -> str:
    """A button's label with its key in it, as text."""
    return f"{words}  `{_(key)}`"


@st.fragment
def _mount(behaviour: dict[str, Any], on_draft: OnDraft | None) -> None:
    data = behaviour | {"saved": st.session_state.get(f"{_KEY}-saved")}
    component(__name__, html=_HTML)(key=_KEY, data=data, on_draft_change=lambda: _store(on_draft))


def _store(on_draft: OnDraft | None) -> None:
    draft = (st.session_state.get(_KEY) or {}).get("draft")
    if not on_draft or not draft:
        return
    on_draft(str(draft["item"]), str(draft["key"]), str(draft["text"]))
    st.session_state[f"{_KEY}-saved"] = draft["sequence"]
