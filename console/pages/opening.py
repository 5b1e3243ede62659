"""One trajectory, opened: its lineage, what changed since the trial before, the whole record. For researchers."""

from __future__ import annotations

import streamlit as st

from console import runs
from console.database import reading
from console.errors import Unknown
from console.runs import trajectory_list
from console.trials import replay
from console.widgets.earlier_trials import diff_of_actions
from console.widgets.lineage import show_lineage
from console.widgets.problem import show_problem
from console.widgets.trajectory_view import show_record
from storage import tables
from storage.tables import RunKind


def show(run: tables.Run, opened: int) -> None:
    """Draws the record in place of the list, with the way back to it."""
    st.button("Back to the list", key="back", icon=":material/arrow_back:", type="tertiary", on_click=_close)
    try:
        with reading() as session:
            record = trajectory_list.load(session, opened)
            history = replay.lineage(session, run, trajectory_list.task_of(session, opened))
            before = trajectory_list.previous(session, opened)
    except Unknown as refusal:
        show_problem(str(refusal))
        return
    if len(history) > 1 or any(entry["decisions"] for entry in history):
        show_lineage(history, run=run.name, opened=opened, replayed=run.kind == RunKind.REPLAY)
    if before is not None:
        with st.expander("What changed since the trial before"):
            st.html(diff_of_actions([step.action for step in before.steps], [step.action for step in record.steps]))
    show_record(record, runs.patterns(run))


def _close() -> None:
    st.query_params.pop("id", None)
    # A list of a new key has forgotten which row was chosen.
    st.session_state["closed"] = st.session_state.get("closed", 0) + 1
