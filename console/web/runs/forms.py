"""Forms on one run: detectors, budget, next trial, critical actions, reasons and maintenance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from console import runs
from console.database import database_url, now_ms, reading, writing
from console.detection import batch
from console.detection.detectors import DETECTORS
from console.detection.estimate import asks_models, estimate_cost
from console.errors import BadInput
from console.language import counted
from console.review import reasons
from console.runs import housekeeping, run_options
from console.runs.critical_suggestions import Candidates, unapplied_sentence
from console.trials import replay
from console.web.flash import call_or_show_problem, flash
from console.web.run_picker import choose_run
from console.web.runs.new_run import show_progress
from console.web.widgets.messages import show_problem
from storage import tables
from storage.engine import overwrite_freed


def detector_form(run: tables.Run) -> None:
    """Draw the form that selects the detectors, the detector that flags, and its threshold."""
    with st.form("detect", border=False):
        which, route, bar = st.columns([3, 2, 2])
        names = list(dict.fromkeys([*DETECTORS, run.detector or "rules"]))
        methods = which.multiselect("Detectors", names, default=[run.detector or "rules"], key="methods")
        routing = route.selectbox(
            "Detector that flags and ranks", names, index=names.index(run.detector or "rules"), key="route"
        )
        threshold = bar.number_input("Flag above", 0.0, 1.0, run.threshold or 0.5, 0.05, key="threshold")
        sent = st.form_submit_button("Judge this run", type="primary")
    wanted = (list(dict.fromkeys([*methods, routing])), routing, threshold)
    if sent and asks_models(wanted[0]):
        call_or_show_problem(_estimate_cost, run.name, *wanted)
    elif sent:
        call_or_show_problem(_detect, run.name, *wanted)
    _confirm_cost(run)


def _estimate_cost(run_name: str, methods: list[str], routing: str, threshold: float) -> None:
    with st.spinner("Estimating the cost from up to three checkpoints…"):
        found = estimate_cost(run_name, methods)
    st.session_state["cost"] = (run_name, found.in_words(), methods, routing, threshold)


def _confirm_cost(run: tables.Run) -> None:
    """Draw the estimated cost of the requested detection, with buttons to start or cancel it."""
    told = st.session_state.get("cost")
    if told is None or told[0] != run.name:
        return
    _, words, *wanted = told
    st.text(words)
    with st.container(horizontal=True):
        agreed = st.button("Judge with models", key="cost-agreed", type="primary")
        if agreed or st.button("Cancel", key="cost-declined"):
            del st.session_state["cost"]
            call_or_show_problem(_detect, run.name, *wanted) if agreed else st.rerun()


def _detect(run_name: str, methods: list[str], routing: str, threshold: float) -> None:
    bar = st.progress(0.0, text="Judging")
    for number, method in enumerate(methods):

        def show(done: int, total: int, number: int = number, method: str = method) -> None:
            bar.progress((number + done / max(total, 1)) / len(methods), text=f"{method}: {done} of {total}")

        limit = threshold if method == routing else None
        detection = batch.run_detection(run_name, [method], threshold=limit, route=routing, progress=show)
        (report,) = detection.reports
        judged = f"{counted(report.checkpoints, 'checkpoint')}, {report.judged} judged now, {report.flagged} flagged"
        halted = f"{counted(report.halted, 'trial')} halted"
        queued = f"; {counted(report.queued, 'new item')} in the queue, {halted}." if report.routing else "."
        flash((True, f"{method}: {judged}{queued}"), *((True, sentence) for sentence in detection.lacking))
    st.rerun()


def budget_form(run: tables.Run) -> None:
    """Draw the form for the inspection budget of every trial."""
    percent = f"{run.budget_percent:g}%" if run.budget_percent is not None else None
    present = percent or ("" if run.budget_cap is None else str(run.budget_cap))
    with st.form("budget", border=False):
        wanted = st.text_input("Inspections per trial", present, key="budget", placeholder="50 or 50%", width=260)
        sent = st.form_submit_button("Save budget")
    if sent:
        call_or_show_problem(_set_budget, run.name, wanted)


def _set_budget(run_name: str, wanted: str) -> None:
    cap = runs.set_budget(run_name, wanted or None)
    flash((True, runs.budget_sentence(run_name, cap)))
    st.rerun()


def next_trial_button(run: tables.Run) -> None:
    """Draw the button that delivers the decisions and starts the next trial."""
    st.caption("Deliver the decisions so far, then run or reveal the next trial of each task that has one.")
    if st.button("Start next trial", key="next_trial", type="primary"):
        call_or_show_problem(_next, run.name)


def _next(run_name: str) -> None:
    done = replay.advance(run_name, progress=show_progress("trials played"))
    flash((True, done.in_words(now_ms())), *((False, problem) for problem in done.problems))
    st.rerun()


def dead_end_notice(run: tables.Run, end: tuple[str, list[str]] | None) -> None:
    """Draw the reason why no action of the run can be reviewed, and a button that accepts suggested patterns."""
    if end is None:
        return
    sentence, patterns = end
    show_problem(sentence)
    if patterns and st.button("Accept as critical", key="accept_candidates", type="primary", shortcut="a"):
        call_or_show_problem(_set_patterns, run.name, [*runs.patterns(run), *patterns])


def critical_form(run: tables.Run, patterns: Sequence[str], candidates: Candidates) -> None:
    """Draw the patterns of critical actions, one per line, and suggestions to confirm."""
    if candidates.unapplied:
        show_problem(unapplied_sentence(candidates.unapplied))
    with st.form("critical", border=False):
        text = st.text_area("Critical actions (one pattern per line)", "\n".join(patterns), key=f"patterns-{run.id}")
        chosen = []
        if candidates.found:
            st.caption(f"These actions of the run look critical. Select the ones that are. {candidates.share}")
            options = [candidate.pattern for candidate in candidates.found]
            chosen = st.multiselect("Candidates", options, key=f"candidates-{run.id}", label_visibility="collapsed")
            st.dataframe(
                [{"action": c.pattern, "seen": c.count, "why": c.why} for c in candidates.found], hide_index=True
            )
        sent = st.form_submit_button("Save patterns")
    if sent:
        call_or_show_problem(_set_patterns, run.name, [*text.splitlines(), *chosen])


def _set_patterns(run_name: str, wanted: list[str]) -> None:
    with writing() as session:
        withdrawn = runs.set_patterns(session, runs.get(session, run_name), wanted, now_ms())
    flash((True, "Patterns saved. Judge the run again to queue the actions that match."))
    if withdrawn:
        flash((True, runs.withdrawn_sentence(withdrawn)))
    st.rerun()


def reasons_form(run: tables.Run) -> None:
    """Draw the form for the reasons that reviewers select, one per line."""
    environments = run.environment.split(",")
    usual = reasons.list_reasons(run, environments[0])
    with st.form("reasons", border=False):
        st.caption(
            "Reviewers select these reasons with keys 1 to 7, one reason per line. The agent reads them before the "
            "feedback. Leave empty to use the reasons of the environment."
        )
        own = "\n".join(run_options(run).reasons)
        text = st.text_area("Reasons", own, key=f"reasons-{run.id}", placeholder="\n".join(usual))
        sent = st.form_submit_button("Save reasons")
    if sent:
        call_or_show_problem(_set_reasons, run.name, text.splitlines())


def _set_reasons(run_name: str, wanted: list[str]) -> None:
    with writing() as session:
        reasons.set_reasons(session, runs.get(session, run_name), wanted, now_ms())
    flash((True, f"Reasons saved. Reviewers of {run_name} now choose from them."))
    st.rerun()


def keeping_forms(run: tables.Run) -> None:
    """Draw the maintenance forms of the run; deletion comes last."""
    with reading() as session:
        imports, held = housekeeping.list_imports(session, run), housekeeping.count_records(session, run)
    _name_and_tags(run)
    if imports:
        _imports(imports)
    archived = run.archived_ms is not None
    if st.button("Unarchive this run" if archived else "Archive this run", key="archive_run"):
        call_or_show_problem(_archive, run.name, not archived)
    _delete(run, held)


def _name_and_tags(run: tables.Run) -> None:
    with st.form("keeping", border=False):
        left, right = st.columns(2)
        name = left.text_input("Name", run.name, key=f"rename-{run.id}", max_chars=80)
        words = right.text_input("Tags, separated by spaces", " ".join(housekeeping.tags(run)), key=f"tags-{run.id}")
        sent = st.form_submit_button("Save details")
    if sent:
        call_or_show_problem(_save, run.name, name.strip(), words.split())


def _save(run_name: str, name: str, words: Sequence[str]) -> None:
    with writing() as session:
        run = runs.get(session, run_name)
        housekeeping.tag(session, run, words, set(housekeeping.tags(run)) - set(words), now_ms())
        if name != run_name:
            housekeeping.rename(session, run, name, now_ms())
    choose_run(name)
    flash((True, "Saved."))
    st.rerun()


def _imports(imports: Sequence[dict[str, Any]]) -> None:
    st.caption("You can undo an import that has no reviews yet.")
    st.dataframe(imports, key="imports", hide_index=True)
    open_ones = {f"{one['file']} (import {one['import_id']})": one["import_id"] for one in imports if not one["undone"]}
    if not open_ones:
        return
    which, press = st.columns([3, 1], vertical_alignment="bottom")
    chosen = which.selectbox("Import", list(open_ones), key="import_to_undo")
    if press.button("Undo this import", key="undo_import"):
        call_or_show_problem(_undo, open_ones[chosen])


def _undo(import_id: int) -> None:
    with writing() as session:
        run, gone = housekeeping.undo_import(session, import_id, now_ms())
    flash((True, f"Deleted {counted(gone, 'trajectory')} of {run.name}."))
    st.rerun()


def _archive(run_name: str, archived: bool) -> None:
    with writing() as session:
        housekeeping.set_archived(session, runs.get(session, run_name), archived, now_ms())
    flash((True, f"Archived {run_name}." if archived else f"Unarchived {run_name}."))
    st.rerun()


def _delete(run: tables.Run, held: dict[str, int]) -> None:
    what = ", ".join(f"{count} {name}" for name, count in held.items())
    with st.form("delete", border=False):
        st.caption(f"This permanently deletes {what} and the content of the run's events.")
        typed = st.text_input("Type the run's name to delete it", key=f"delete-{run.id}", width=360)
        sent = st.form_submit_button("Delete this run")
    if sent:
        call_or_show_problem(_remove, run.name, typed.strip())


def _remove(run_name: str, typed: str) -> None:
    if typed != run_name:
        raise BadInput("The name does not match. Type the run's name exactly to delete it.")
    with writing() as session:
        housekeeping.remove(session, runs.get(session, run_name), now_ms())
    overwrite_freed(database_url())
    st.session_state.pop("run", None)
    st.query_params.pop("run", None)
    flash((True, f"Deleted {run_name}."))
    st.rerun()
