"""How far reviewers agree on the checkpoints that they share."""

from __future__ import annotations

import streamlit as st

from console.studies.report import sentences
from console.web.studies import results_parts_ui
from console.web.studies.results_data import Results


def show(found: Results) -> None:
    """Every measure with its interval, then reviewer by reviewer."""
    table = found.analysis("agreement")
    results_parts_ui.say(sentences.of_agreement(table))
    if table.empty:
        return
    results_parts_ui.chart(found, "agreement", table)
    results_parts_ui.grid(found, "agreement", table)
    pairs = found.analysis("agreement-pairs")
    if len(pairs):
        st.subheader("Two reviewers at a time", anchor=False)
        results_parts_ui.grid(found, "agreement-pairs", pairs)
