"""Runs: the overview and settings of a run, then all runs, for researchers."""

import streamlit as st

from console import runs
from console.database import reading
from console.review import inbox
from console.runs import run_options
from console.runs.critical_suggestions import Candidates, candidates, dead_end
from console.runs.status import OUTCOMES, SUMMARY_COLUMNS, count_run, run_status, run_summary, status_rows
from console.web.flash import show_messages
from console.web.live_fragments import count_changes
from console.web.run_picker import choose_run, chosen_run, run_picker
from console.web.runs import forms, new_run
from console.web.runs.audits import audits_section
from console.web.runs.overview import show_overview
from console.web.runs.plans import PLANNERS, planners_section, plans_section, trainings_section
from console.web.runs.protocols import evasion_section, protocols_section
from console.web.runs.reviewers import reviewers_form
from console.web.widgets.browser import show_from_top
from console.web.widgets.markup import quote_commands
from console.web.widgets.messages import show_empty_state
from console.web.widgets.tables import capitalize, show_grid
from storage.tables import RunKind

_WIDTHS = {"Kind": 80, "Environments": 190, "Detector": 130}
st.title("Runs")
with reading() as session:
    run = chosen_run(session)
    listed = runs.list_runs(session, archived=bool(st.session_state.get("archived")))
    summaries = [run_summary(session, one) for one in listed]
    seen, found = count_changes(), count_run(session, run) if run else None
    status = run_status(session, run, found) if run else None
    nothing = inbox.explain_empty_queue(session, run) if run else ""
    patterns = runs.patterns(run) if run else []
    looked = candidates(session, run, limit=300) if run else Candidates([], 0, 0)
    end = dead_end(session, run) if run and not looked.critical else None

show_messages()
show_from_top(run.name if run else "")
with st.container(key="new-runs"):
    logs, agents = st.columns(2)
with logs, st.expander("Import logs", expanded=run is None):
    new_run.import_form(default_run=run.name if run and run.kind == RunKind.ARCHIVE else "my-run")
with agents, st.expander("Start agents", expanded=run is None):
    new_run.live_form()
if run is None or found is None or status is None:
    show_empty_state("No runs yet", "Import a log or start agents above to create a run.")
    st.stop()

run_picker(run.name, archived=bool(st.session_state.get("archived")))
place = st.empty()  # The tabs below keep the open tab only if nothing above them moves.
if run_options(run).stopped:
    place.warning(
        "This run is stopped: its pending actions get no review. To let its agents continue, open Maintenance."
    )
forms.dead_end_notice(run, end)
show_overview(run.name, found, seen)

st.header("Status by trial", anchor=False)
words = OUTCOMES | {"inspections": "budget used"}
trials = [{words.get(name, name): cell for name, cell in row.items()} for row in status_rows(status, run.kind)]
counts = st.column_config.NumberColumn(format="localized")
numbers = {capitalize(name): counts for row in trials for name in row}  # Columns without values too.
show_grid(trials, "Status by trial", key=f"status-{run.id}", width="content", placeholder="–", column_config=numbers)
if nothing:
    st.caption(quote_commands(nothing))
if run.reviews_per_item > 1:
    st.page_link("console/web/pages/studies.py", label="Resolve disagreements", query_params={"adjudicate": run.name})

if run.kind == RunKind.LIVE and run.study_id is None:
    protocols_section(run)
    evasion_section(run)

if run.actor in PLANNERS:
    planners_section(run)

rules = "Policy" if run.kind == RunKind.GATE else "Critical actions"
judge, cap, audits, people, onward, critical, why, house = st.tabs(
    ["Detectors", "Budget", "Audits", "Reviewers", "Next trial", rules, "Reasons and questions", "Maintenance"]
)
with people:
    reviewers_form(run)
with judge:
    forms.detector_form(run)
with cap:
    forms.budget_form(run)
with audits:
    audits_section(run)
with onward:
    if run.kind == RunKind.ARCHIVE:
        new_run.replay_form(run)
    elif run.kind == RunKind.GATE:
        st.caption("The agents of this run work on their own. You cannot start a trial here.")
    else:
        forms.next_trial_button(run)
with critical:
    if run.kind == RunKind.GATE:
        forms.policy_section(run)
    else:
        forms.critical_form(run, patterns, looked)
with house:
    forms.keeping_forms(run, sum(row["tasks"] for row in status["trials"]))
with why:
    if run.feedback_mode == "binary":
        st.caption("This run accepts approve or reject only, without reasons.")
    else:
        forms.reasons_form(run)
    if run.study_id is None:
        forms.questions_form(run)

st.header("All runs", anchor=False)
opened = st.session_state.get("runs_opened", 0)
shown = show_grid(
    [
        {name.replace("_", " ").replace("environment", "environments"): row[name] for name in SUMMARY_COLUMNS}
        | {"environments": row["environment"].replace(",", ", "), "kind": row["kind"].replace("archive", "imported")}
        | {"tags": row["tags"] or None}
        for row in summaries
    ],
    "All runs",
    key=f"runs-{opened}",
    on_select="rerun",
    selection_mode="single-row",
    width="content",
    placeholder="–",
    column_config={name: st.column_config.Column(width=px) for name, px in _WIDTHS.items()}
    | dict.fromkeys(("Threshold", "Trajectories", "Pending", "Beyond budget"), counts),
)
st.caption("Select a row to open the run.")
if rows := shown.selection["rows"]:
    # A new key clears the selection of the list.
    st.session_state["runs_opened"] = opened + 1
    choose_run(listed[rows[0]].name)
    st.rerun()
st.toggle("Show archived runs", key="archived", bind="query-params")

plans_section()
trainings_section()
