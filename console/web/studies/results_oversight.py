"""What inspections caught in a study: each condition's budget as it was used, each participant's oversight curve."""

from __future__ import annotations

import streamlit as st

from console.database import reading
from console.studies.report import sentences
from console.studies.results import condition_runs
from console.web.detectors import oversight
from console.web.studies import results_parts_ui
from console.web.studies.results_data import Results
from storage import tables


def show(found: Results) -> None:
    """The burn-down of a condition, and the curve of one participant's run in it."""
    with reading() as session:
        there = [arm for arm in condition_runs.condition_runs(session, found.study_id) if arm.run_id is not None]
    if not there:
        results_parts_ui.say("No condition has begun yet, so nothing was inspected.")
        return
    with st.container(horizontal=True):
        condition = st.selectbox("Condition", sorted({arm.condition or "" for arm in there}), key="study-condition")
        inside = {arm.participant: arm.run_id for arm in there if arm.condition == condition}
        who = st.selectbox("Participant", list(inside), key="study-participant")
    burnt = found.analysis("burn-down")
    st.subheader("Budget of the condition, all participants together", anchor=False)
    burnt = burnt[burnt["condition"] == condition]
    results_parts_ui.say(sentences.of_burn_down(burnt))
    results_parts_ui.chart(found, "budget-burn-down", burnt)
    with reading() as session:
        run = session.get_one(tables.Run, inside[who])
    st.caption(f"From here on: {who} alone.")
    oversight.oversight_of(run.name)
