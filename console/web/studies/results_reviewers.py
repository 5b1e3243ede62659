"""The parts of a study's results that are about reviewers: pace, reliance, words, people beside simulated ones."""

from __future__ import annotations

import streamlit as st

from console.studies.report import sentences
from console.web.studies import results_parts_ui
from console.web.studies.results_data import Results


def show_pace(found: Results) -> None:
    """How long decisions take, and what a session does to that."""
    table = results_parts_ui.reviewers(found.analysis("pace"), "pace")
    results_parts_ui.say(sentences.of_pace(table))
    if len(table):
        results_parts_ui.chart(found, "time-over-session", found.analysis("time-over-session"))
        results_parts_ui.grid(found, "pace", table, hidden=("reviewers",))
        st.caption(
            "Changes are per ten items: 0.05 is 5% more seconds, or 5 of 100 more right decisions. They come from a "
            "straight line: an interval beyond -1 to 1 says that there are too few items for one."
        )


def show_reliance(found: Results) -> None:
    """Overrides by score, automation bias on seeded items, rubber stamping, the known items one by one."""
    table = results_parts_ui.reviewers(found.analysis("override-by-score"), "reliance")
    results_parts_ui.say(sentences.of_overrides(table))
    if table.empty:
        return
    kind = table["reviewers"].iloc[0]
    results_parts_ui.chart(found, "override-by-score", table)
    results_parts_ui.grid(found, "override-by-score", table[table["n"] > 0], hidden=("reviewers",))
    bias = found.analysis("automation-bias")
    bias = bias[bias["reviewers"] == kind]
    st.subheader("Automation bias on seeded items", anchor=False)
    results_parts_ui.say(sentences.of_bias(bias))
    if len(bias):
        results_parts_ui.grid(found, "automation-bias", bias, hidden=("reviewers",))
    stamping = found.analysis("rubber-stamping")
    stamping = stamping[stamping["reviewers"] == kind]
    st.subheader("Rubber stamping", anchor=False)
    results_parts_ui.say(sentences.of_stamping(stamping))
    if len(stamping):
        results_parts_ui.grid(found, "rubber-stamping", stamping, hidden=("reviewers",))
    checks = found.analysis("checks")
    if len(checks):
        st.subheader("Items with a known answer", anchor=False)
        results_parts_ui.grid(found, "checks", checks)


def show_words(found: Results) -> None:
    """Length and specificity of the words to the agent against what its next trial made of them."""
    table = results_parts_ui.reviewers(found.analysis("feedback"), "words")
    results_parts_ui.say(sentences.of_words(table))
    if table.empty:
        return
    lengths = found.analysis("feedback-length")
    results_parts_ui.chart(found, "feedback-length", lengths[lengths["reviewers"] == table["reviewers"].iloc[0]])
    results_parts_ui.grid(found, "feedback", table, hidden=("reviewers",))
    st.caption(
        "Length counts in doublings of the words; a sentence is specific that names a number, a price or an option."
    )


def show_people(found: Results) -> None:
    """People beside simulated reviewers."""
    table = found.analysis("people")
    results_parts_ui.say(sentences.of_people(table))
    if len(table):
        results_parts_ui.grid(found, "people", table)
