"""The Runs page's forms that make a run: import logs, start agents, replay a log."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from console import runs
from console.detection.detectors import DETECTORS
from console.environments import playable
from console.runs import ingest
from console.runs.importers import IMPORTERS
from console.trials import engine, replay, start
from console.web.flash import flash, guarded
from console.web.run_picker import choose_run
from console.web.widgets.messages import show_problem
from storage import tables

_MODES = {"words": "nl", "approve or reject only": "binary", "none: plain retries": "none"}
_NAME_CHARS = 80


def import_form(default_run: str) -> None:
    """Files by drag and drop into a run, with the same report as the command."""
    with st.form("import", border=False, clear_on_submit=True):
        files = st.file_uploader("Logs", accept_multiple_files=True, key="logs")
        into, form = st.columns(2)
        name = into.text_input("Into run", value=default_run, key="into_run", max_chars=_NAME_CHARS)
        format = form.selectbox("Format", ["auto", *IMPORTERS], key="format")
        sent = st.form_submit_button("Import", type="primary")
    if sent and not files:
        show_problem("Choose at least one file first.")
    elif sent:
        guarded(_import, files, name.strip(), format)


def _import(files: Sequence[Any], name: str, format: str) -> None:
    bar = st.progress(0.0, text="Reading")
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(files):
            path = Path(folder) / str(number) / Path(file.name).name
            path.parent.mkdir()
            path.write_bytes(file.getbuffer())
            reports = ingest.import_files(path, name, format, lambda _done: None, file.name)
            bar.progress((number + 1) / len(files), text=f"{number + 1} of {len(files)} files")
            flash(*(sentence for report in reports for sentence in ingest.sentences(report)))
    choose_run(name)
    st.rerun()


def live_form() -> None:
    """A live run of the scripted agents: they act offline and stop before critical actions."""
    with st.form("live", border=False):
        st.caption("Agents do tasks in an environment of this console, offline, and stop before critical actions.")
        first, second = st.columns(3), st.columns(3)
        name = first[0].text_input("Name of the new run", key="live_name", max_chars=_NAME_CHARS, placeholder="shop-1")
        environment = first[1].selectbox("Environment", playable(), key="live_environment")
        tasks = first[2].number_input("Tasks", 1, 500, 20, key="live_tasks")
        detector = second[0].selectbox("Flags and ranks", list(DETECTORS), key="live_detector")
        budget = second[1].text_input("Inspections per trial", "50%", key="live_budget", placeholder="50 or 50%")
        mode = second[2].selectbox("Feedback", list(_MODES), key="live_feedback")
        seed = st.number_input("Seed: the same seed gives the same tasks", 0, 10_000, 0, key="live_seed", width=260)
        sent = st.form_submit_button("Start agents", type="primary")
    if sent:
        guarded(_live, name.strip(), {environment: int(tasks)}, int(seed), detector, budget, _MODES[mode])


def _live(name: str, counts: dict[str, int], seed: int, detector: str, budget: str, mode: str) -> None:
    cap, percent = runs.parse_budget(budget.strip() or None)
    start.start(
        name, counts, seed=seed, detector_name=detector, budget_cap=cap, budget_percent=percent, feedback_mode=mode
    )
    engine.resume(name, progress=bar_of("trials played"))
    choose_run(name)
    flash((True, f"{name}: every task had its first trial; what was flagged waits in the Inbox."))
    st.rerun()


def bar_of(what: str) -> Callable[[int, int], None]:
    """A progress bar of this page, as a function of (done, total)."""
    bar = st.progress(0.0, text=f"0 {what}")

    def show(done: int, total: int) -> None:
        bar.progress(done / max(total, 1), text=f"{done} of {total} {what}")

    return show


def replay_form(run: tables.Run) -> None:
    """A replay run of this archive: feedback on a trial reveals the recorded next one."""
    with st.form("replay", border=False):
        st.caption("Plays this log trial by trial: feedback on a trial reveals the recorded next one of that task.")
        name, judge, budget = st.columns(3)
        called = name.text_input("Replay as", value=f"{run.name}-replay", key="replay_name", max_chars=_NAME_CHARS)
        routing = judge.selectbox("Flags and ranks", list(DETECTORS), key="replay_detector")
        cap = budget.text_input("Inspections per trial", key="replay_budget", placeholder="50 or 50%")
        blind = st.toggle("Blind: reviewers see no outcomes and no others' answers", value=True, key="replay_blind")
        sent = st.form_submit_button("Start replay")
    if sent:
        guarded(_replay, run.name, called, routing, cap, blind)


def _replay(source: str, name: str, detector: str, budget: str, blind: bool) -> None:
    cap, percent = runs.parse_budget(budget or None)
    replay.start_replay(name, source, detector, budget_cap=cap, budget_percent=percent, blind=blind)
    choose_run(name)
    flash((True, f"{name} replays {source}: trial 0 is judged and its flagged actions wait for review."))
    st.rerun()
