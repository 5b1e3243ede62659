"""Trajectories: filter, search, open any; the lineage from feedback to the next trial. For researchers."""

import streamlit as st

from console import browsing, runs, trials
from console.database import reading
from console.pages.chosen_run import chosen_run, run_picker
from console.trajectory import Label, Outcome
from console.widgets.earlier_trials import diff_of_actions
from console.widgets.empty_state import show_empty_state
from console.widgets.lineage import show_lineage
from console.widgets.trajectory_view import show_record

_PAGE = 50

st.title("Trajectories")
with reading() as session:
    run = chosen_run(session)
    names = [found.name for found in runs.every(session)]
if run is None:
    show_empty_state("No trajectories yet", "Import a log of an agent first.")
    st.page_link("console/pages/runs.py", label="Import a log")
    st.stop()

pick, search, outcome, label, trial = st.columns([2, 3, 2, 2, 1], vertical_alignment="bottom")
with pick:
    run_picker(names, run.name)
text = search.text_input("Search in task and id", key="search", placeholder="words of the task, or a task id")
outcomes = outcome.multiselect("Outcome", list(Outcome), key="outcomes", placeholder="any")
labels = label.multiselect("Gold label", [*Label, "none"], key="labels", placeholder="any")
number = trial.number_input("Trial", min_value=0, value=None, step=1, key="trial", placeholder="any")
wanted = browsing.Filter(text=text, outcomes=tuple(outcomes), labels=tuple(labels), trial=number)

with reading() as session:
    total = browsing.count(session, run, wanted)
    pages = max(1, -(-total // _PAGE))
    page = min(st.session_state.get("page", 1), pages)
    frame = browsing.page(session, run, wanted, offset=(page - 1) * _PAGE, limit=_PAGE)

if not total:
    show_empty_state("Nothing matches", "Change the search or the filters above.")
    st.stop()
shown = st.dataframe(
    frame,
    key=f"list-{run.id}-{page}-{hash(wanted)}",
    on_select="rerun",
    selection_mode="single-row",
    hide_index=True,
    height=280,
)
left, right = st.columns([1, 3], vertical_alignment="center")
left.caption(f"{total:,} trajectories; choose a row to open it.")
with right:
    if pages > 1:
        st.pagination(pages, key="page")

rows = shown.selection["rows"] if shown else []
opened = int(frame[rows[0]]["trajectory_id"]) if rows else None
if opened is None and st.query_params.get("id", "").isdigit():
    opened = int(st.query_params["id"])
if opened is not None:
    with reading() as session:
        record = browsing.load(session, opened)
        task_id = browsing.task_of(session, opened)
        history = trials.lineage(session, run, task_id)
        before = browsing.previous(session, opened)
    if len(history) > 1 or any(entry["decisions"] for entry in history):
        show_lineage(history, opened=opened, replayed=run.kind == "replay")
    if before is not None:
        with st.expander("What changed since the trial before"):
            st.html(diff_of_actions([step.action for step in before.steps], [step.action for step in record.steps]))
    show_record(record, runs.patterns(run))
