"""Every key of a page, and the drafts of its text field, in one component that draws nothing of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

import streamlit as st

_KEY = "ia-hotkeys"
_HTML = '<div class="status" role="status"></div>'

OnDraft = Callable[[str, str], None]
"""Called with the item's id and the text; a draft may arrive after its item was decided, and is then of no use."""


def hotkeys(
    bindings: Mapping[str, str],
    *,
    item_id: str | int | None = None,
    enabled: bool = True,
    dialog: Mapping[str, str] | None = None,
    draft_key: str | None = None,
    on_draft: OnDraft | None = None,
) -> None:
    """Lets keys press the Streamlit buttons of those widget keys, and saves drafts of the text area `draft_key`.

    Keys are `a` to `z`, `1` to `9`, `?`, `arrowleft`, `arrowright`, `enter`, `ctrl+enter` (also Cmd). `dialog` holds
    those that work while a dialog is open; the others are then silent. A new `item_id` keeps all keys silent for
    400 ms.
    """
    _mount(dict(bindings), str(item_id or ""), enabled, dict(dialog or {}), draft_key, on_draft)


def key_label(words: str, key: str) -> str:
    """A button's label with its key in it, as text."""
    return f"{words}  `{key}`"


@st.fragment
def _mount(
    page: dict[str, str],
    item: str,
    enabled: bool,
    dialog: dict[str, str],
    draft_key: str | None,
    on_draft: OnDraft | None,
) -> None:
    saved = st.session_state.get(f"{_KEY}-saved")
    _component()(
        key=_KEY,
        data={
            "page": page,
            "dialog": dialog,
            "item": item,
            "enabled": enabled,
            "draft_key": draft_key,
            "saved": saved,
        },
        on_draft_change=lambda: _store(on_draft),
    )


def _store(on_draft: OnDraft | None) -> None:
    draft = (st.session_state.get(_KEY) or {}).get("draft")
    if not on_draft or not draft:
        return
    on_draft(str(draft["item"]), str(draft["text"]))
    st.session_state[f"{_KEY}-saved"] = draft["sequence"]


@lru_cache(maxsize=1)
def _component() -> Callable[..., Any]:
    css, script = (files(__package__).joinpath(name).read_text("utf-8") for name in ("hotkeys.css", "hotkeys.js"))
    return st.components.v2.component("inferact_hotkeys", html=_HTML, css=css, js=script)
