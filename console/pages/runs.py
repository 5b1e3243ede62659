"""Runs: import logs, judge them, set the budget, start a replay, see how each trial stands. For researchers."""

import streamlit as st

from console import runs
from console.database import reading
from console.pages import running
from console.pages.chosen_run import chosen_run, run_picker
from console.widgets.empty_state import show_empty_state
from storage.tables import RunKind

st.title("Runs")
with reading() as session:
    run = chosen_run(session)
    summaries = [runs.summary(session, found) for found in runs.every(session)]
    status = runs.status(session, run) if run else None
    patterns = runs.patterns(run) if run else []
    candidates = runs.candidates(session, run, limit=300) if run else []

running.show_flash()
with st.expander("Import logs", expanded=run is None):
    running.import_form(default_run=run.name if run and run.kind == RunKind.ARCHIVE else "my-run")
if run is None or status is None:
    show_empty_state("No runs yet", "Drop an agent's log above: it is read, checked and stored as a run.")
    st.stop()

columns = ("run", "kind", "environment", "trials", "trajectories", "detector", "threshold", "waiting")
st.dataframe([{name: row[name] for name in columns} for row in summaries], key="runs", hide_index=True)
run_picker([row["run"] for row in summaries], run.name)

st.subheader("How each trial stands")
st.dataframe(running.status_rows(status), key=f"status-{run.id}", hide_index=True)

judge, cap, critical = st.tabs(["Detectors", "Budget and trials", "Critical actions"])
with judge:
    running.detector_form(run)
with cap:
    running.budget_form(run)
    if run.kind == RunKind.REPLAY:
        running.next_trial_button(run)
    else:
        running.replay_form(run)
with critical:
    running.critical_form(run, patterns, candidates)
