"""The form of a study's design: who takes part, and what they meet before and beside the items."""

from __future__ import annotations

from typing import Any

import streamlit as st

from console.pages import study_form_tables as tables
from console.pages.drafting import start_at

Mapping = dict[str, Any]

_WITHDRAWALS = {"remove": "what they did is removed", "anonymise": "it stays under another pseudonym"}


def people(draft: Mapping) -> Mapping:
    """How many people and simulated reviewers."""
    st.subheader("Who takes part", anchor=False)
    given = draft["participants"]
    human, oracle, rules = st.columns(3)
    counts = {
        "human": human.number_input("People", 0, 1_000, key=start_at("human", given["human"])),
        "oracle": oracle.number_input(
            "Simulated: know the gold", 0, 1_000, key=start_at("oracle", given["oracle"]), help="Always right"
        ),
        "rules": rules.number_input(
            "Simulated: follow the rules", 0, 1_000, key=start_at("rules", given["rules"]), help="As the flag says"
        ),
    }
    with st.expander("Simulated reviewers who err", expanded=bool(given["noisy"])):
        return {"participants": {**counts, "noisy": tables.noisy(given["noisy"])}}


def consent(draft: Mapping) -> Mapping:
    """What they agree to, and what they are asked once."""
    with st.expander("Consent and questions before the first item", expanded=False):
        given = draft["consent"]
        text = st.text_area(
            "Consent, as plain text",
            key=start_at("consent", given["text"]),
            height=130,
            placeholder="Nobody asks",
        )
        withdrawal = st.selectbox(
            "Of those who withdraw",
            list(_WITHDRAWALS),
            format_func=_WITHDRAWALS.__getitem__,
            key=start_at("withdrawal", given["withdrawal"]),
        )
        asked = tables.questions(draft["demographics"])
    return {"consent": {"text": text, "withdrawal": withdrawal}, "demographics": asked}


def instructions(draft: Mapping) -> Mapping:
    """What they read and try before the first condition."""
    with st.expander("Instructions and practice", expanded=False):
        text = st.text_area(
            "Instructions, as plain text", key=start_at("instructions", draft["instructions"]), height=130
        )
        practice = st.number_input(
            "Practice items, their answers explained", 0, 100, key=start_at("practice", draft["practice"]), width=300
        )
    return {"instructions": text, "practice": practice}


def checks(draft: Mapping) -> Mapping:
    """Items with a known answer, breaks, and how long a decision can be taken back."""
    with st.expander("Checks, breaks and undo", expanded=False):
        st.caption("Items with a known answer, mixed into every condition:")
        titles = {"attention": "Attention", "known_good": "Known good", "known_bad": "Known bad"}
        counts = {
            name: column.number_input(title, 0, 1_000, key=start_at(f"checks-{name}", draft["checks"][name]))
            for column, (name, title) in zip(st.columns(3), titles.items(), strict=True)
        }
        rest, undo = st.columns(2)
        minutes = rest.number_input(
            "Break between conditions, minutes", 0.0, 1_440.0, step=0.5, key=start_at("break", draft["break_minutes"])
        )
        seconds = undo.number_input(
            "Undo for sure, seconds",
            0.0,
            600.0,
            step=1.0,
            key=start_at("undo", draft["undo_seconds"]),
        )
    return {"checks": counts, "break_minutes": minutes, "undo_seconds": seconds}
