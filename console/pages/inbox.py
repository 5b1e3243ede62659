"""Inbox: what waits, why, how old, and what is left of the budget."""

import streamlit as st

from console import runs
from console.auth.sign_in import Role
from console.database import now_ms, reading, review_queue
from console.pages.chosen_run import chosen_run, run_picker
from console.pages.hat import current_hat
from console.pages.tour import show_tour
from console.review import inbox
from console.widgets.budget_meter import show_budget_meter
from console.widgets.empty_state import show_empty_state
from console.widgets.waiting_list import show_waiting_list

_SHOWN = 100

hat = current_hat()
with reading() as session:
    run = chosen_run(session)
    names = [found.name for found in runs.every(session)]
    waiting = inbox.waiting(session, run, _SHOWN) if run else []
    count, oldest = inbox.waits(session, run) if run else (0, None)
    mine, seconds = inbox.my_decisions(session, run, hat.name) if run and hat else (0, None)
    trials = [row["trial"] for row in runs.status(session, run)["trials"]] if run else []

st.title("Inbox")
if waiting:
    show_tour()
if run is None or hat is None:
    if hat and hat.role is Role.RESEARCHER:
        show_empty_state("No runs yet", "Import a log of an agent to fill the queue.")
        st.page_link("console/pages/runs.py", label="Import a log")
    else:
        show_empty_state("Nothing to review yet", "The researcher has not started a run. This page fills by itself.")
    st.stop()

picker, meters, go = st.columns([2, 3, 1], vertical_alignment="bottom")
with picker:
    run_picker(names, run.name)
with meters:
    for trial in trials:
        budget = review_queue().budget(run_id=run.id or 0, trial=trial)
        if budget is not None and (budget.used or trial == max(trials) or budget.cap is not None):
            show_budget_meter(budget.cap, budget.used, label=f"Trial {trial}" if len(trials) > 1 else "Inspections")
with go:
    if st.button("Review next", key="review-next", type="primary", width="stretch", disabled=not count):
        st.switch_page("console/pages/review.py", query_params={"run": run.name})

if mine:
    pace = f", {seconds:.0f} s each" if seconds is not None else ""
    st.caption(f"You have reviewed {mine} here{pace}.")
if not waiting:
    show_empty_state(
        "Nothing waits in this run",
        "Every flagged action has its review." if mine or count == 0 else "All items are being reviewed by others.",
    )
else:
    show_waiting_list(waiting, total=count, oldest_ms=oldest, now_ms=now_ms())
