"""The one-minute tour: short cards in the flow of the Inbox, put away for good by one click."""

from __future__ import annotations

import streamlit as st

from console.widgets.sign_in_cookie import set_cookie

_COOKIE = "ia_tour"
_CARDS = (
    ("What waits", "Agents were stopped before something final. The most doubtful one stands first in this list."),
    ("Review next", "Opens one: what the user asked, what the agent is about to do, why it was flagged, its steps."),
    (
        "One key decides",
        "A approves, X rejects, Ctrl+Enter rejects with your words. U takes it back, ? lists the keys.",
    ),
    ("A budget", "Each review costs one inspection. The bar below shows what is left of this trial's."),
    ("Then they try again", "“Run the next trial”, on the researcher's page of runs, hands your words to the agents."),
)


def show_tour() -> None:
    """Draws the cards until this browser has put them away."""
    if st.session_state.get("tour_done"):
        set_cookie(_COOKIE, "done")
        return
    if st.context.cookies.get(_COOKIE) == "done":
        return
    cards = "".join(f"<li><b>{title}</b><span>{words}</span></li>" for title, words in _CARDS)
    with st.container(key="ia-tour"):
        st.html(
            f'<section aria-label="A one-minute tour"><h2>One minute to know your way</h2><ol>{cards}</ol></section>'
        )
        st.button("Got it", key="tour-done", type="tertiary", on_click=_put_away)


def _put_away() -> None:
    st.session_state["tour_done"] = True
