"""Trajectories: the search in the trajectories of a run, and a trajectory with its lineage, for researchers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from console import runs
from console.database import reading
from console.errors import Unknown
from console.language import counted
from console.review.decision_details import list_marks
from console.review.line_corrections import read_record_table
from console.review.presentation import preview, record_presentation
from console.runs import trajectory_list, trajectory_rows
from console.runs.status import OUTCOMES
from console.trajectory import Label, Outcome, Trajectory
from console.trials import replay
from console.web.run_picker import choose_run, chosen_run, run_picker
from console.web.widgets.markup import show_html
from console.web.widgets.messages import next_step_row, show_empty_state, show_problem
from console.web.widgets.tables import open_row
from console.web.widgets.trajectory_view import show_presentation
from console.web.widgets.trial_history import TrialColumn, lineage_html, side_by_side_html
from storage import tables


def show(run: tables.Run, opened: int) -> None:
    """Draw the record of a trajectory instead of the list."""
    st.button("Show list", key="back", icon=":material/arrow_back:", type="tertiary", on_click=_close)
    try:
        with reading() as session:
            history = replay.list_lineage(session, run, trajectory_list.task_of(session, run, opened))
            record = trajectory_list.load(session, opened)
            table = read_record_table(session, run, opened)
            marks = list_marks(session, opened)
    except Unknown as refusal:
        with reading() as session:
            found = session.get(tables.Trajectory, opened)
            home = session.get_one(tables.Run, found.run_id).name if found else ""
        show_problem(f"{refusal} {f'The trajectory belongs to run {home}.' if home else 'Choose one from the list.'}")
        if home:
            st.button("Open the run", key="own-run", on_click=choose_run, args=(home,))
        return
    if len(history) > 1 or any(entry["decisions"] for entry in history):
        show_html(lineage_html(history, run=run.name, opened=opened, kind=run.kind))
    if len(history) > 1:
        with st.expander("Compare two trials"):
            compare_trials(history, opened, record)
    shown = record_presentation(record, runs.patterns(run))
    steps = tuple(replace(step, marked=marks.get(step.number, "") if step.action else "") for step in shown.steps)
    show_presentation(replace(shown, requirements=table, steps=steps))()


def compare_trials(history: Sequence[dict[str, Any]], opened: int, record: Trajectory) -> None:
    """Draw the opened trial beside another one of the task, at first the trial before it."""
    trials = {entry["trajectory_id"]: entry["trial"] for entry in history}
    others = [one for one in trials if one != opened]
    earlier = [one for one in others if trials[one] < trials[opened]]
    first = others.index(earlier[-1] if earlier else others[0])
    other = st.selectbox("Compare with", others, first, format_func=lambda one: f"trial {trials[one]}", width=200)
    with reading() as session:
        columns = {opened: record, other: trajectory_list.load(session, other)}
    left, right = (
        TrialColumn(
            f"trial {trials[one]}",
            [step.action for step in columns[one].steps],
            [step.observation for step in columns[one].steps],
        )
        for one in sorted(columns, key=trials.__getitem__)
    )
    show_html(side_by_side_html(left, right))


def _close() -> None:
    st.query_params.pop("id", None)


_PAGE = 50
_INDEXING_S = 3.0
_COLUMNS = {
    "instruction": "Task",
    "outcome": "Outcome",
    "label": "Gold label",
    "trial": "Trial",
    "n_steps": "Steps",
    "task_id": "Task ID",
    "trajectory_id": "ID",
    "carried_over": "Solved in an earlier trial",
}


# The address stores the outcomes' own names, so that the choices keep them.
_OUTCOME_HELP = "; ".join(f"{name}: {words}" for name, words in OUTCOMES.items())


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else preview(OUTCOMES.get(str(value), str(value)))


asked = st.query_params.get("id", "")
# The largest id of a database, 2**63 - 1, has 19 digits.
is_record = asked.isdecimal() and len(asked) < 19
st.title(f"Trajectory {asked}" if is_record else "Trajectories", anchor=False)
with reading() as session:
    run = chosen_run(session)
if run is None:
    show_empty_state("No trajectories yet", "Import a log or start agents to get trajectories.")
    next_step_row().page_link("console/web/pages/runs.py", label="Open Runs")
    st.stop()


def select_filter() -> trajectory_list.Filter:
    """Draw the filters above the list and return the selected filter, which the address stores."""
    any_of: Any = {"placeholder": "All", "bind": "query-params"}
    on = sum(len(st.query_params.get_all(name)) for name in ("outcomes", "labels", "trial"))
    text = st.text_input(
        "Search in tasks and steps",
        key="search",
        bind="query-params",
        placeholder="words such as rm -rf, or a prefix such as refund*",
        width=420,
    )
    with st.popover(f"Filters ({on} on)" if on else "Filters", key="trajectory-filters"):
        return trajectory_list.Filter(
            text=text,
            place=st.selectbox("Search in", trajectory_list.PLACES, key="place", bind="query-params"),
            outcomes=tuple(
                st.multiselect("Outcome", [str(word) for word in Outcome], key="outcomes", help=_OUTCOME_HELP, **any_of)
            ),
            labels=tuple(st.multiselect("Gold label", [*map(str, Label), "none"], key="labels", **any_of)),
            trial=st.number_input("Trial", min_value=0, value=None, step=1, key="trial", **any_of),
        )


run_picker(run.name)
# Beside an open record the filters are hidden, not left out, so that the list keeps them.
with st.container(
    horizontal=True, vertical_alignment="bottom", key="ia-filters-kept" if is_record else "trajectory-tools"
):
    wanted = select_filter()
if is_record:
    show(run, int(asked))
    st.stop()

unsearched = trajectory_rows.catch_up_index(_INDEXING_S) if wanted.text.strip() else 0
if unsearched:
    st.caption(f"{unsearched:,} trajectories are not indexed yet. Search again in a moment.")
with reading() as session:
    total = trajectory_list.count(session, run, wanted)
    pages = max(1, -(-min(total, wanted.most) // _PAGE))
    # An address beyond the last page opens the last page; Streamlit alone would open the first.
    named = str(st.session_state.get("page") or st.query_params.get("page", "1"))
    page = st.session_state["page"] = min(max(1, int(named)), pages) if named.isdecimal() else 1
    frame = trajectory_list.page(session, run, wanted, offset=(page - 1) * _PAGE, limit=_PAGE)

if not total:
    show_empty_state("No matching trajectories", "Change the search or clear the filters above.")
    st.stop()
many = counted(total, "trajectory")
if total > wanted.most:
    many = f"More than {wanted.most:,} trajectories. Search or filter to reach those after the first {wanted.most:,}"
st.caption(f"{many}. Select a row to open the trajectory.")
columns = dict(_COLUMNS)
if not any(row["carried_over"] for row in frame):
    del columns["carried_over"]
opened = open_row(
    [{"id": str(row["trajectory_id"])} | {name: _shown(row[name]) for name in columns} for row in frame],
    columns,
    numbers=("trial", "n_steps", "trajectory_id"),
    label="Trajectories",
    address=f"trajectories?{urlencode({'run': run.name})}&id=",
)
if pages > 1:
    st.pagination(pages, key="page", bind="query-params")
if opened:
    st.query_params["id"] = str(opened)
    st.rerun()
