"""What the Runs page's forms do."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from console import detection, importing, runs, trials
from console.database import now_ms, writing
from console.detectors import DETECTORS
from console.errors import ConsoleError
from console.importers import IMPORTERS
from console.pages.chosen_run import keep
from console.suggestions import Suggestion
from console.widgets.problem import show_done, show_problem
from storage import tables
from storage.errors import StorageError


def show_flash() -> None:
    """Says once what the last form did."""
    for sentence in st.session_state.pop("run_done", []):
        show_done(sentence)
    for sentence in st.session_state.pop("run_problems", []):
        show_problem(sentence)


def import_form(default_run: str) -> None:
    """Files by drag and drop into a run, with the same report as the command."""
    with st.form("import", border=False, clear_on_submit=True):
        files = st.file_uploader("Logs", accept_multiple_files=True, key="logs")
        into, form = st.columns(2)
        name = into.text_input("Into run", value=default_run, key="into_run", max_chars=80)
        format = form.selectbox("Format", ["auto", *IMPORTERS], key="format")
        sent = st.form_submit_button("Import", type="primary")
    if sent and not files:
        show_problem("Choose at least one file first.")
    elif sent:
        _guarded(_import, files, name.strip(), format)


def _import(files: Sequence[Any], name: str, format: str) -> None:
    bar = st.progress(0.0, text="Reading")
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(files):
            path = Path(folder) / str(number) / Path(file.name).name
            path.parent.mkdir()
            path.write_bytes(file.getbuffer())
            report = importing.import_file(path, name, format, lambda _done: None)
            report.path = file.name
            bar.progress((number + 1) / len(files), text=f"{number + 1} of {len(files)} files")
            _note(*importing.sentences(report))
    keep(name)
    st.rerun()


def detector_form(run: tables.Run) -> None:
    """Which detectors judge the run, which of them routes, and above which score it flags."""
    with st.form("detect", border=False):
        which, route, bar = st.columns([3, 2, 2])
        methods = which.multiselect("Detectors", list(DETECTORS), default=[run.detector or "rules"], key="methods")
        names = list(DETECTORS)
        routing = route.selectbox("Flags and ranks", names, index=names.index(run.detector or "rules"), key="route")
        threshold = bar.number_input("Flag above", 0.0, 1.0, run.threshold or 0.5, 0.05, key="threshold")
        sent = st.form_submit_button("Judge this run", type="primary")
    if sent:
        _guarded(_detect, run.name, list(dict.fromkeys([*methods, routing])), routing, threshold)


def _detect(run_name: str, methods: list[str], routing: str, threshold: float) -> None:
    bar = st.progress(0.0, text="Judging")
    for number, method in enumerate(methods):

        def show(done: int, total: int, number: int = number, method: str = method) -> None:
            bar.progress((number + done / max(total, 1)) / len(methods), text=f"{method}: {done} of {total}")

        limit = threshold if method == routing else None
        (report,) = detection.detect(run_name, [method], threshold=limit, route=routing, progress=show)
        said = f"{method}: {report.checkpoints} checkpoints, {report.judged} judged now, {report.flagged} flagged"
        queued = f"; {report.queued} new items in the queue, {report.halted} trials halted." if report.routing else "."
        _note((True, said + queued))
    st.rerun()


def budget_form(run: tables.Run) -> None:
    """The cap of every trial."""
    percent = f"{run.budget_percent:g}%" if run.budget_percent is not None else None
    present = percent or ("" if run.budget_cap is None else str(run.budget_cap))
    with st.form("budget", border=False):
        wanted = st.text_input("Inspections per trial", present, key="budget", placeholder="50 or 50%", width=260)
        sent = st.form_submit_button("Set budget")
    if sent:
        _guarded(_set_budget, run.name, wanted)


def _set_budget(run_name: str, wanted: str) -> None:
    cap = importing.set_budget(run_name, wanted or None)
    _note((True, f"Every trial of {run_name} has {'no cap' if cap is None else f'{cap} inspections'}."))
    st.rerun()


def replay_form(run: tables.Run) -> None:
    """A replay run of this archive: feedback on a trial reveals the recorded next one."""
    with st.form("replay", border=False):
        name, judge, budget = st.columns(3)
        called = name.text_input("Replay as", value=f"{run.name}-replay", key="replay_name", max_chars=80)
        routing = judge.selectbox("Flags and ranks", list(DETECTORS), key="replay_detector")
        cap = budget.text_input("Inspections per trial", key="replay_budget", placeholder="50%")
        blind = st.toggle("Blind: reviewers see no outcomes and no others' answers", value=True, key="replay_blind")
        sent = st.form_submit_button("Start replay")
    if sent:
        _guarded(_replay, run.name, called, routing, cap, blind)


def _replay(source: str, name: str, detector: str, budget: str, blind: bool) -> None:
    cap, percent = runs.parse_budget(budget or None)
    trials.start_replay(name, source, detector, budget_cap=cap, budget_percent=percent, blind=blind)
    keep(name)
    _note((True, f"{name} replays {source}: trial 0 is judged and its flagged actions wait for review."))
    st.rerun()


def next_trial_button(run: tables.Run) -> None:
    """Delivers what is due and reveals the next recorded trials."""
    if st.button("Run the next trial", key="next_trial", type="primary"):
        _guarded(_next, run.name)


def _next(run_name: str) -> None:
    done = trials.advance(run_name)
    _note(
        (
            True,
            f"{done.delivered} decisions delivered, {done.revealed} tasks got their next trial, "
            f"{done.queued} new items wait, {done.nothing_recorded} tasks have no recorded next trial.",
        )
    )
    st.rerun()


def critical_form(run: tables.Run, patterns: Sequence[str], candidates: Sequence[Suggestion]) -> None:
    """The patterns of critical actions, one a line, and candidates that a person confirms."""
    with st.form("critical", border=False):
        text = st.text_area("Critical actions, one pattern a line", "\n".join(patterns), key=f"patterns-{run.id}")
        chosen = []
        if candidates:
            st.caption("Further tools of this run that look critical. Choose those that are:")
            options = [candidate.pattern for candidate in candidates]
            chosen = st.multiselect("Candidates", options, key=f"candidates-{run.id}", label_visibility="collapsed")
            st.dataframe([{"tool": c.pattern, "used": c.count, "why": c.why} for c in candidates], hide_index=True)
        sent = st.form_submit_button("Save patterns")
    if sent:
        _guarded(_set_patterns, run.name, [*text.splitlines(), *chosen])


def _set_patterns(run_name: str, wanted: list[str]) -> None:
    with writing() as session:
        runs.set_patterns(session, runs.get(session, run_name), wanted, now_ms())
    _note((True, "Saved. Judge the run again to queue what matches now."))
    st.rerun()


def status_rows(status: dict[str, Any]) -> list[dict[str, Any]]:
    """The trials of a run as flat rows."""
    rows = []
    for trial in status["trials"]:
        flat = {name: value for name, value in trial.items() if name != "budget"}
        budget = trial["budget"]
        rows.append({**flat, "inspections": budget["used"], "of": budget["cap"], "left": budget["left"]})
    return rows


def _guarded(action: Any, *arguments: Any) -> None:
    try:
        action(*arguments)
    except (ConsoleError, StorageError) as refusal:
        show_problem(str(refusal) or str(type(refusal).__doc__))


def _note(*said: tuple[bool, str]) -> None:
    for good, sentence in said:
        kept = "run_done" if good else "run_problems"
        st.session_state[kept] = [*st.session_state.get(kept, []), sentence]
