"""Detectors: metrics, comparisons and threshold costs of the detectors of a run, for researchers."""

from shlex import quote

import streamlit as st

from console.database import reading
from console.runs.status import STATED
from console.web.detectors import corrected, metrics, oversight, requirement_lines
from console.web.run_picker import chosen_run, run_picker
from console.web.widgets.messages import next_step_row, show_empty_state

st.title("Detectors")
with reading() as session:
    run = chosen_run(session)
    evaluation = metrics.dashboard_of(session, run) if run else None
if run is None or evaluation is None:
    show_empty_state("No runs yet", "Import a log, then judge it with detectors.")
    next_step_row().page_link("console/web/pages/runs.py", label="Open Runs")
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom", key="detectors-head"):
    run_picker(run.name)
    st.segmented_control("Image format", ["png", "svg"], default="png", key="picture", required=True)
    with st.popover("Error costs"):
        st.number_input("Cost of a miss", min_value=0.0, value=1.0, key="miss_cost")
        st.number_input("Cost of a false alarm", min_value=0.0, value=1.0, key="alarm_cost")
if not evaluation.scores:
    show_empty_state(
        "No verdicts yet",
        f"Judge this run on the Runs page, or run: inferact detect {quote(run.name)} --method rules,random",
    )
    next_step_row().page_link("console/web/pages/runs.py", label="Open Runs")
    st.stop()

if evaluation.sample.stated:
    stated = STATED.format(**evaluation.sample.to_dict()["sample"])
    st.caption(f"{stated} Inspections, time and cost are estimates for the whole run.")
if evaluation.known:
    metrics.figures(evaluation)
    metrics.curves(evaluation)
else:
    show_empty_state(
        "No labels yet",
        "Detectors can only be measured against labels. Import a log with gold labels. The flags are shown below.",
    )
    next_step_row().page_link("console/web/pages/runs.py", label="Open Runs")
corrected.show_corrected_figures(run.name)
metrics.show_across_runs()
metrics.threshold(evaluation)
oversight.show_oversight(run.name)
if len(evaluation.known) > 1:
    metrics.pair(evaluation)
metrics.agreement(evaluation)
metrics.models(evaluation)
metrics.show_published(evaluation)
metrics.spending(evaluation)
requirement_lines.show_line_counts(run.name, evaluation.version)
