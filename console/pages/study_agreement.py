"""How far reviewers agree on the checkpoints that they share."""

from __future__ import annotations

import streamlit as st

from console.pages import study_figures
from console.pages.study_data import Results
from console.studies.report import sentences


def show(found: Results) -> None:
    """Every measure with its interval, then reviewer by reviewer."""
    table = found.analysis("agreement")
    study_figures.say(sentences.of_agreement(table))
    if table.empty:
        return
    study_figures.chart(found, "agreement", table)
    study_figures.grid(found, "agreement", table)
    pairs = found.analysis("agreement-pairs")
    if len(pairs):
        st.subheader("Two reviewers at a time", anchor=False)
        study_figures.grid(found, "agreement-pairs", pairs)
