"""Detectors: how good each is, how they differ, what a threshold would cost. For researchers."""

from shlex import quote

import streamlit as st

from console import runs
from console.database import database_url, reading
from console.detection.evaluation import dashboard
from console.web.detectors import metrics, oversight
from console.web.run_picker import chosen_run, run_picker
from console.web.widgets.messages import show_empty_state

st.title("Detectors")
with reading() as session:
    run = chosen_run(session)
    names = [one.name for one in runs.every(session)]
    version = dashboard.version(session, run) if run else ()
if run is None:
    show_empty_state("No runs yet", "Import a log of an agent first; then let detectors judge it.")
    st.page_link("console/web/pages/runs.py", label="Import a log")
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom", key="detectors-head"):
    run_picker(names, run.name)
    st.segmented_control("Pictures as", ["png", "svg"], default="png", key="picture", required=True)
    with st.popover("What errors cost"):
        st.number_input("A miss costs", min_value=0.0, value=1.0, key="miss_cost")
        st.number_input("A false alarm costs", min_value=0.0, value=1.0, key="alarm_cost")
evaluation = metrics.dashboard_of(database_url(), run.name, version)
if not evaluation.scores:
    show_empty_state(
        "No verdicts yet", f"Let detectors judge this run: inferact detect {quote(run.name)} --method rules,random"
    )
    st.page_link("console/web/pages/runs.py", label="Judge it on the Runs page")
    st.stop()

if evaluation.known:
    metrics.figures(evaluation)
    metrics.curves(evaluation)
else:
    show_empty_state(
        "No labels yet",
        "Nothing in this run tells which trajectories are misaligned, so no detector can be measured; "
        "import a log with gold labels. What the detectors flag is shown below.",
    )
metrics.across_runs()
metrics.threshold(evaluation)
oversight.oversight_of(run.name)
if len(evaluation.known) > 1:
    metrics.pair(evaluation)
metrics.agreement(evaluation)
metrics.models(evaluation)
metrics.beside_the_paper(evaluation)
metrics.spending(evaluation)
