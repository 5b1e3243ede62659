"""The keyboard shortcuts of a review page: their list, and the switch that the browser remembers."""

from __future__ import annotations

import streamlit as st

from console.language import _, gettext_noop
from console.web.review.own_items import alias
from console.web.widgets.markup import plain
from console.web.widgets.preference_cookie import set_cookie

_COOKIE = "ia_keys"
_KEYS = (
    ("A", gettext_noop("approve: the action may run, or it was right")),
    ("X", gettext_noop("reject: it does not run, or it was wrong")),
    ("E", gettext_noop("edit: another action instead")),
    (gettext_noop("1 to 7"), gettext_noop("reasons, where they stand above the words; press again to take one away")),
    (
        gettext_noop("1 to 9, after E"),
        gettext_noop("do what the agent thought of itself, where it thought of something"),
    ),
    ("W", gettext_noop("write words to the agent")),
    (
        gettext_noop("Ctrl or Cmd + Enter"),
        gettext_noop("once there are words: reject with them; while you edit: send the edit"),
    ),
    ("O", gettext_noop("show the whole of a long action, before which it cannot be approved")),
    ("S", gettext_noop("skip: the item goes back and comes last for you")),
    ("U", gettext_noop("undo your latest answer")),
    (gettext_noop("K or ←"), gettext_noop("look back through your own answers")),
    (gettext_noop("J or →"), gettext_noop("forward again to what waits")),
    ("Esc", gettext_noop("leave the field you write in")),
    ("?", gettext_noop("this list")),
)


def enabled() -> bool:
    """Whether the keys work: as last switched in this tab, else as this browser remembers."""
    kept = st.session_state.get("keys_on")
    return bool(kept) if kept is not None else st.context.cookies.get(_COOKIE) != "off"


def help_button(item: int) -> None:
    """The button that lists the keys, in a dialog with the switch."""
    if st.button("?", key=f"keys-{alias(item)}", help=_("Lists the keys"), type="tertiary"):
        # A dialog's title is fixed where it is made, before anybody's language is known.
        st.dialog(_("Keys"), on_dismiss="rerun")(_list)()


def _list() -> None:
    rows = "".join(f"<dt><kbd>{plain(_(key))}</kbd></dt><dd>{plain(_(words))}</dd>" for key, words in _KEYS)
    st.html(f'<dl class="ia-keys">{rows}</dl>')
    st.caption(_("Keys are silent while you write, and for a moment after a new item comes."))
    st.toggle(_("Keys work"), value=enabled(), key="keys_toggle", on_change=_switch)
    if "keys_on" in st.session_state:
        set_cookie(_COOKIE, "on" if enabled() else "off")


def _switch() -> None:
    st.session_state["keys_on"] = st.session_state["keys_toggle"]
