"""Drafts that wait with their items: words that were never sent, and the way back to each.

It stands alone because it belongs to no one item.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.language import _
from console.review.inbox import WaitingDraft
from console.web.review import actions
from console.web.review.after_last import REVIEW


def show_waiting_drafts(drafts: Sequence[WaitingDraft], run_name: str) -> None:
    """Draws the words of each, as text, with a button that opens its item again."""
    if not drafts:
        return
    st.header(_("Not sent yet"), anchor=False)
    for draft in drafts:
        with st.container(border=True, key=f"draft-{draft.item}"):
            st.caption(_("Item {number}").format(number=draft.item))
            st.text(draft.words)
            key, args = f"again-{draft.item}", (draft.item,)
            if st.button(_("Open it again"), key=key, on_click=actions.open_again, args=args):
                st.switch_page(REVIEW, query_params={"run": run_name})
