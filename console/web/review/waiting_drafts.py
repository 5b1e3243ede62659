"""Drafts that wait with their items: words that were never sent, and the way back to each.

It stands alone because it belongs to no one item.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.review.inbox import WaitingDraft
from console.web.review import actions
from console.web.review.after_last import REVIEW


def show_waiting_drafts(drafts: Sequence[WaitingDraft], run_name: str) -> None:
    """Draws the words of each, as text, with a button that opens its item again."""
    if not drafts:
        return
    st.header("Not sent yet", anchor=False)
    for draft in drafts:
        with st.container(border=True, key=f"draft-{draft.item}"):
            st.caption(f"Item {draft.item}")
            st.text(draft.words)
            if st.button("Open it again", key=f"again-{draft.item}", on_click=actions.open_again, args=(draft.item,)):
                st.switch_page(REVIEW, query_params={"run": run_name})
