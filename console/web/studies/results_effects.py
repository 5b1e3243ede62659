"""What the conditions change: paired tests, models with participants as a random effect, tasks both met."""

from __future__ import annotations

import streamlit as st

from console.studies.report import sentences
from console.web.studies import results_parts_ui
from console.web.studies.results_data import Results


def show(found: Results) -> None:
    """Every two conditions against each other, then all of them in one model."""
    whole = found.analysis("differences")
    table, measure = whole, ""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        table = results_parts_ui.reviewers(whole, "effects")
        measures = list(dict.fromkeys(table["measure"]))
        if measures:
            measure = st.segmented_control("Measure", measures, default=measures[0], key="effects-of", required=True)
            table = table[table["measure"] == measure]
    st.subheader("Two conditions at a time", anchor=False)
    results_parts_ui.say(sentences.of_differences(table))
    if table.empty:
        return
    results_parts_ui.grid(found, "differences", table, hidden=("reviewers", "measure"))
    kind = table["reviewers"].iloc[0]
    models = found.analysis("mixed")
    models = models[(models["reviewers"] == kind) & (models["measure"] == measure)]
    if len(models):
        st.subheader("All conditions in one model", anchor=False)
        st.caption("Estimates are differences from the reference condition; its own row is its level.")
        results_parts_ui.grid(found, "mixed", models, hidden=("reviewers", "measure"))
    pairs = found.analysis("tasks")
    pairs = pairs[pairs["reviewers"] == kind]
    if len(pairs) and measure.startswith("solved"):
        st.subheader("Task by task", anchor=False)
        st.caption("Tasks that both conditions met, each with the share that solved it; McNemar's test.")
        results_parts_ui.grid(found, "tasks", pairs, hidden=("reviewers",))
