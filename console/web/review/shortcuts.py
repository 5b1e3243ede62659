"""The keyboard shortcuts of a review page: the list of shortcuts, and a switch that is stored in the browser."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from console.language import _, gettext_noop
from console.web.review.own_items import alias
from console.web.widgets.browser import set_cookie
from console.web.widgets.markup import plain, show_html

_COOKIE = "ia_keys"
_KEYS = {
    "A": gettext_noop("approve the action, or mark it correct"),
    "X": gettext_noop("reject the action, or mark it incorrect"),
    "E": gettext_noop("edit the action"),
    gettext_noop("1 to 7"): gettext_noop("select a reason; press again to clear it"),
    gettext_noop("1 to 9, after E"): gettext_noop("send one of the alternatives that the agent proposed"),
    gettext_noop("F, after E"): gettext_noop("write your own edit"),
    "W": gettext_noop("write feedback to the agent"),
    gettext_noop("[ and ]"): gettext_noop("move over the steps"),
    gettext_noop(". (period)"): gettext_noop("mark the step as wrong, with the text that you selected"),
    gettext_noop("Ctrl or Cmd + Enter"): gettext_noop("reject with your feedback; while editing: send the edit"),
    "O": gettext_noop("show all of a long action, which is required before an approval"),
    "S": gettext_noop("skip the item; it comes back after your other items"),
    "U": gettext_noop("undo your latest decision"),
    gettext_noop("K or ←"): gettext_noop("show your earlier decisions"),
    gettext_noop("J or →"): gettext_noop("show your later decisions, then the current item"),
    "Esc": gettext_noop("leave the text field"),
    "?": gettext_noop("show this list"),
}
OF_MARKS = frozenset((gettext_noop("[ and ]"), gettext_noop(". (period)")))
OF_EDITS = frozenset(("E", gettext_noop("1 to 9, after E"), gettext_noop("F, after E")))
OF_REASONS = frozenset(("1 to 7",))
OF_FEEDBACK = frozenset(("W",))
"""The shortcuts that some items do not have."""


def enabled() -> bool:
    """Return whether the shortcuts are on, as set in this tab or else in this browser."""
    kept = st.session_state.get("keys_on")
    return bool(kept) if kept is not None else st.context.cookies.get(_COOKIE) != "off"


def help_button(item: int, absent: Collection[str] = ()) -> None:
    """Draw the button that lists the shortcuts in a dialog, without the `absent` ones."""
    if st.button("?", key=f"keys-{alias(item)}", help=_("List shortcuts"), type="tertiary"):
        # A decorator would fix the title before the visitor's language is known.
        st.dialog(_("Keyboard shortcuts"), width="medium", on_dismiss="rerun")(_list)(absent)


def _list(absent: Collection[str]) -> None:
    shown = {key: words for key, words in _KEYS.items() if key not in absent}
    rows = "".join(f"<dt><kbd>{plain(_(key))}</kbd></dt><dd>{plain(_(words))}</dd>" for key, words in shown.items())
    show_html(f'<dl class="ia-keys">{rows}</dl>')
    st.caption(_("Shortcuts are ignored while you type and for the first 0.4 s of an item."))
    st.toggle(_("Enable shortcuts"), value=enabled(), key="keys_toggle", on_change=_switch)
    if "keys_on" in st.session_state:
        set_cookie(_COOKIE, "on" if enabled() else "off")


def _switch() -> None:
    st.session_state["keys_on"] = st.session_state["keys_toggle"]
