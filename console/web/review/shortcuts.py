"""The keyboard shortcuts of a review page: their list, and the switch that the browser remembers."""

from __future__ import annotations

import streamlit as st

from console.web.review.own_items import alias
from console.web.widgets.preference_cookie import set_cookie

_COOKIE = "ia_keys"
_KEYS = (
    ("A", "approve: the action may run, or it was right"),
    ("X", "reject: it does not run, or it was wrong"),
    ("E", "edit: another action instead"),
    ("1 to 7", "reasons, where they stand above the words; press again to take one away"),
    ("1 to 9, after E", "do what the agent thought of itself, where it thought of something"),
    ("W", "write words to the agent"),
    ("Ctrl or Cmd + Enter", "once there are words: reject with them; while you edit: send the edit"),
    ("O", "show the whole of a long action, before which it cannot be approved"),
    ("S", "skip: the item goes back and comes last for you"),
    ("U", "undo your latest answer"),
    ("K or ←", "look back through your own answers"),
    ("J or →", "forward again to what waits"),
    ("Esc", "leave the field you write in"),
    ("?", "this list"),
)


def enabled() -> bool:
    """Whether the keys work: as last switched in this tab, else as this browser remembers."""
    kept = st.session_state.get("keys_on")
    return bool(kept) if kept is not None else st.context.cookies.get(_COOKIE) != "off"


def help_button(item: int) -> None:
    """The button that lists the keys, in a dialog with the switch."""
    if st.button("?", key=f"keys-{alias(item)}", help="Lists the keys", type="tertiary"):
        _list()


@st.dialog("Keys", on_dismiss="rerun")
def _list() -> None:
    rows = "".join(f"<dt><kbd>{key}</kbd></dt><dd>{words}</dd>" for key, words in _KEYS)
    st.html(f'<dl class="ia-keys">{rows}</dl>')
    st.caption("Keys are silent while you write, and for a moment after a new item comes.")
    st.toggle("Keys work", value=enabled(), key="keys_toggle", on_change=_switch)
    if "keys_on" in st.session_state:
        set_cookie(_COOKIE, "on" if enabled() else "off")


def _switch() -> None:
    st.session_state["keys_on"] = st.session_state["keys_toggle"]
