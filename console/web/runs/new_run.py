"""Forms that create a run: import logs, start agents, replay a log."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from console import runs
from console.detection.detectors import DETECTORS
from console.environments import list_playable
from console.runs import ingest
from console.runs.importers import IMPORTERS
from console.trials import engine, replay, start
from console.web.flash import finish, flash, refusals_shown
from console.web.run_picker import choose_run
from console.web.widgets.browser import name_drop_zones
from console.web.widgets.messages import show_problem
from storage import tables

_MODES = {"text and reasons": "nl", "approve or reject only": "binary", "none: plain retries": "none"}
_PROTOCOLS = {
    "wait for a decision": "defer",
    "choose again, then wait": "resample",
    "run, audit later": "audit",
    "run, undo if rejected": "undo",
}
_NAME_CHARS = 80


def import_form(default_run: str) -> None:
    """Draw the form that imports files into a run."""
    name_drop_zones()
    with st.form("import", border=False, clear_on_submit=True):
        files = st.file_uploader("Logs", accept_multiple_files=True, key="logs")
        into, form = st.columns(2)
        name = into.text_input("Run name", value=default_run, key="into_run", max_chars=_NAME_CHARS)
        format = form.selectbox("Format", ["auto", *IMPORTERS], key="format")
        sent = st.form_submit_button("Import logs", type="primary")
    if sent and not files:
        show_problem("No file selected. Choose a file, then import again.")
    elif sent:
        _import(files, name.strip(), format)


@refusals_shown()
def _import(files: Sequence[Any], name: str, format: str) -> None:
    bar = st.progress(0.0, text="Reading")
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(files):
            path = Path(folder) / str(number) / Path(file.name).name
            path.parent.mkdir()
            path.write_bytes(file.getbuffer())
            reports = ingest.import_files(path, name, format, lambda _done: None, file.name)
            bar.progress((number + 1) / len(files), text=f"{number + 1} of {len(files)} files")
            flash(*(sentence for report in reports for sentence in ingest.list_lines(report)))
    choose_run(name)
    st.rerun()


def live_form() -> None:
    """Draw the form that starts scripted agents, which act offline."""
    with st.form("live", border=False):
        st.caption("Scripted agents do tasks offline and stop before critical actions.")
        first, second = st.columns(3), st.columns(3)
        name = first[0].text_input("Run name", key="live_name", max_chars=_NAME_CHARS, placeholder="shop-1")
        environment = first[1].selectbox("Environment", list_playable(), key="live_environment")
        tasks = first[2].number_input("Tasks", 1, 500, 20, key="live_tasks")
        detector = second[0].selectbox("Detector that flags and ranks", list(DETECTORS), key="live_detector")
        budget = second[1].text_input("Inspections per trial", "50%", key="live_budget", placeholder="50 or 50%")
        mode = second[2].selectbox("Feedback", list(_MODES), key="live_feedback")
        third = st.columns(3)
        seed = third[0].number_input("Seed", 0, 10_000, 0, key="live_seed", help="The same seed gives the same tasks.")
        protocol = third[1].selectbox("Flagged actions", list(_PROTOCOLS), key="live_protocol")
        sent = st.form_submit_button("Start agents", type="primary")
    if sent:
        with refusals_shown():
            cap, percent = runs.parse_budget(budget.strip() or None)
            settings = start.RunSettings(budget_cap=cap, budget_percent=percent, feedback_mode=_MODES[mode])
            begin = partial(start.start_run, detector_name=detector, protocol=_PROTOCOLS[protocol], seed=int(seed))
            begin(name.strip(), {environment: int(tasks)}, **settings)
            engine.resume(name.strip(), progress=show_progress("trials completed"))
            choose_run(name.strip())
            finish(f"{name.strip()}: the first trial is done. Review the flagged actions in the Inbox.")


def show_progress(what: str) -> Callable[[int, int], None]:
    """Draw a progress bar and return a function of (done, total) that updates it."""
    bar = st.progress(0.0, text=f"0 {what}")

    def show(done: int, total: int) -> None:
        bar.progress(done / max(total, 1), text=f"{done} of {total} {what}")

    return show


def replay_form(run: tables.Run) -> None:
    """Draw the form that replays this archive: feedback on a trial reveals the next recorded trial."""
    with st.form("replay", border=False):
        st.caption("Replay this log trial by trial: feedback on a trial reveals the next recorded trial of its task.")
        name, judge, budget = st.columns(3)
        called = name.text_input("Run name", value=f"{run.name}-replay", key="replay_name", max_chars=_NAME_CHARS)
        routing = judge.selectbox("Detector that flags and ranks", list(DETECTORS), key="replay_detector")
        limit = budget.text_input("Inspections per trial", key="replay_budget", placeholder="50 or 50%")
        blind = st.toggle("Blind: hide outcomes and other reviewers' decisions", value=True, key="replay_blind")
        sent = st.form_submit_button("Start replay")
    if sent:
        with refusals_shown():
            cap, percent = runs.parse_budget(limit or None)
            replay.start_replay(called, run.name, routing, budget_cap=cap, budget_percent=percent, blind=blind)
            choose_run(called)
            finish(f"{called} replays {run.name}. Trial 0 is judged. Review its flagged actions in the Inbox.")
