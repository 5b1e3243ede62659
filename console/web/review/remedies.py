"""The remedies beside the field for another action: the Actor's own alternatives, each with its number as its key.

It stands alone because they are shown only where an Actor thought of some, whatever else the field offers.
"""

from __future__ import annotations

import streamlit as st

from console.language import _
from console.review.remedies import remedies
from console.web.review import actions
from console.web.review.own_items import alias
from console.web.widgets.hotkeys import key_label
from storage.queue import Claim

_MOST = 9


def show_remedies(claim: Claim) -> None:
    """Draws a button for each remedy; pressed, it sends the edit."""
    found = remedies(claim)[:_MOST]
    if not found:
        return
    st.caption(
        _("The agent thought of this itself; press one, or its number, to send it back with that action instead:")
    )
    with st.container(horizontal=True, key="remedies"):
        for number, action in enumerate(found, start=1):
            # In code, since the text is the agent's: as Markdown it could draw anything.
            st.button(
                key_label(_as_code(action), str(number)),
                key=_key(claim, number),
                on_click=actions.decide_remedy,
                args=(claim.item_id, number),
            )


def remedy_keys(claim: Claim) -> dict[str, str]:
    """The keys of the remedies, which work while the field is open."""
    if st.session_state.get("editing") != claim.item_id:
        return {}
    return {str(number): _key(claim, number) for number in range(1, len(remedies(claim)[:_MOST]) + 1)}


def _key(claim: Claim, number: int) -> str:
    return f"remedy-{alias(claim.item_id)}-{number}"


def _as_code(action: str) -> str:
    flat = " ".join(action.split()).replace("`", "'")
    return f"`{flat if len(flat) <= 60 else flat[:59] + '…'}`"
