"""The keyboard shortcuts of a review page: the list of shortcuts, and a switch that is stored in the browser."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from console.language import _, gettext_noop
from console.web.review.own_items import alias
from console.web.widgets.browser import set_cookie
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import GUIDES

_COOKIE = "ia_keys"
OF_MARKS = frozenset(("[ and ]", ". (period)"))
OF_EDITS = frozenset(("E", gettext_noop("1 to 9, after E"), gettext_noop("F, after E")))
OF_REASONS = frozenset(("1 to 7",))
OF_FEEDBACK = frozenset(("W",))
"""The shortcuts that some items do not have."""


def are_enabled() -> bool:
    """Return whether the shortcuts are on, as set in this tab or else in this browser."""
    kept = st.session_state.get("keys_on")
    return bool(kept) if kept is not None else st.context.cookies.get(_COOKIE) != "off"


def help_button(item: int, absent: Collection[str] = ()) -> None:
    """Draw the button that lists the shortcuts in a dialog, without the `absent` ones."""
    if st.button("?", key=f"keys-{alias(item)}", help=_("List shortcuts"), type="tertiary"):
        # A decorator would fix the title before the visitor's language is known.
        st.dialog(_("Keyboard shortcuts"), width="medium", on_dismiss="rerun")(_list)(absent)


def _list(absent: Collection[str]) -> None:
    shown = {key: words for key, words in GUIDES["keys"].items() if key not in absent}
    rows = "".join(f"<dt><kbd>{plain(_(key))}</kbd></dt><dd>{plain(_(words))}</dd>" for key, words in shown.items())
    show_html(f'<dl class="ia-keys">{rows}</dl>')
    st.caption(_("Shortcuts are ignored while you type and for the first 0.4 s of an item."))
    st.toggle(_("Enable shortcuts"), value=are_enabled(), key="keys_toggle", on_change=_switch)
    if "keys_on" in st.session_state:
        set_cookie(_COOKIE, "on" if are_enabled() else "off")


def _switch() -> None:
    st.session_state["keys_on"] = st.session_state["keys_toggle"]
