"""The Runs page's forms on one run: detectors, budget, critical actions, the next trial."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console import runs
from console.database import now_ms, writing
from console.detection import batch
from console.detection.detectors import DETECTORS
from console.detection.estimate import asks_models, estimate
from console.language import counted
from console.review import reasons
from console.runs import ingest
from console.runs.critical_suggestions import Candidates
from console.runs.options import run_options
from console.trials import replay
from console.web.flash import flash, guarded
from console.web.runs.new_run import bar_of
from console.web.widgets.messages import show_problem
from storage import tables


def detector_form(run: tables.Run) -> None:
    """Which detectors judge the run, which of them routes, and above which score it flags."""
    with st.form("detect", border=False):
        which, route, bar = st.columns([3, 2, 2])
        names = list(dict.fromkeys([*DETECTORS, run.detector or "rules"]))
        methods = which.multiselect("Detectors", names, default=[run.detector or "rules"], key="methods")
        routing = route.selectbox("Flags and ranks", names, index=names.index(run.detector or "rules"), key="route")
        threshold = bar.number_input("Flag above", 0.0, 1.0, run.threshold or 0.5, 0.05, key="threshold")
        sent = st.form_submit_button("Judge this run", type="primary")
    wanted = (list(dict.fromkeys([*methods, routing])), routing, threshold)
    if sent and asks_models(wanted[0]):
        guarded(_tell_cost, run.name, *wanted)
    elif sent:
        guarded(_detect, run.name, *wanted)
    _confirm_cost(run)


def _tell_cost(run_name: str, methods: list[str], routing: str, threshold: float) -> None:
    with st.spinner("Counting what the models will cost; up to three checkpoints are judged for it…"):
        found = estimate(run_name, methods)
    st.session_state["cost"] = (run_name, found.in_words(), methods, routing, threshold)


def _confirm_cost(run: tables.Run) -> None:
    """What the detection that waits will cost, and whether it may begin."""
    told = st.session_state.get("cost")
    if told is None or told[0] != run.name:
        return
    _, words, *wanted = told
    st.text(words)
    with st.container(horizontal=True):
        agreed = st.button("Ask the models", key="cost-agreed", type="primary")
        if agreed or st.button("Leave it", key="cost-declined"):
            del st.session_state["cost"]
            guarded(_detect, run.name, *wanted) if agreed else st.rerun()


def _detect(run_name: str, methods: list[str], routing: str, threshold: float) -> None:
    bar = st.progress(0.0, text="Judging")
    for number, method in enumerate(methods):

        def show(done: int, total: int, number: int = number, method: str = method) -> None:
            bar.progress((number + done / max(total, 1)) / len(methods), text=f"{method}: {done} of {total}")

        limit = threshold if method == routing else None
        detection = batch.detect_and_tell(run_name, [method], threshold=limit, route=routing, progress=show)
        (report,) = detection.reports
        judged = f"{counted(report.checkpoints, 'checkpoint')}, {report.judged} judged now, {report.flagged} flagged"
        halted = f"{counted(report.halted, 'trial')} halted"
        queued = f"; {counted(report.queued, 'new item')} in the queue, {halted}." if report.routing else "."
        flash((True, f"{method}: {judged}{queued}"), *((True, sentence) for sentence in detection.lacks()))
    st.rerun()


def budget_form(run: tables.Run) -> None:
    """The cap of every trial."""
    percent = f"{run.budget_percent:g}%" if run.budget_percent is not None else None
    present = percent or ("" if run.budget_cap is None else str(run.budget_cap))
    with st.form("budget", border=False):
        wanted = st.text_input("Inspections per trial", present, key="budget", placeholder="50 or 50%", width=260)
        sent = st.form_submit_button("Set budget")
    if sent:
        guarded(_set_budget, run.name, wanted)


def _set_budget(run_name: str, wanted: str) -> None:
    cap = ingest.set_budget(run_name, wanted or None)
    flash((True, ingest.budget_sentence(run_name, cap)))
    st.rerun()


def next_trial_button(run: tables.Run) -> None:
    """Delivers what is due and brings the next trial of every task that got feedback."""
    st.caption("Delivers the decisions made so far and runs, or reveals, the next trial of every task that has one.")
    if st.button("Run the next trial", key="next_trial", type="primary"):
        guarded(_next, run.name)


def _next(run_name: str) -> None:
    done = replay.advance(run_name, progress=bar_of("trials played"))
    flash((True, done.in_words(now_ms())), *((False, problem) for problem in done.problems))
    st.rerun()


def dead_end_notice(run: tables.Run, end: tuple[str, list[str]] | None) -> None:
    """Says where nothing of the run could ever be reviewed, with a button that accepts what looks critical."""
    if end is None:
        return
    sentence, patterns = end
    show_problem(sentence)
    if patterns and st.button("Count them as critical", key="accept_candidates", type="primary", shortcut="a"):
        guarded(_set_patterns, run.name, [*runs.patterns(run), *patterns])


def critical_form(run: tables.Run, patterns: Sequence[str], candidates: Candidates) -> None:
    """The patterns of critical actions, one a line, and candidates that a person confirms."""
    with st.form("critical", border=False):
        text = st.text_area("Critical actions, one pattern a line", "\n".join(patterns), key=f"patterns-{run.id}")
        chosen = []
        if candidates.found:
            st.caption(f"Further actions of this run that look critical. Choose those that are. {candidates.share}")
            options = [candidate.pattern for candidate in candidates.found]
            chosen = st.multiselect("Candidates", options, key=f"candidates-{run.id}", label_visibility="collapsed")
            st.dataframe(
                [{"action": c.pattern, "seen": c.count, "why": c.why} for c in candidates.found], hide_index=True
            )
        sent = st.form_submit_button("Save patterns")
    if sent:
        guarded(_set_patterns, run.name, [*text.splitlines(), *chosen])


def _set_patterns(run_name: str, wanted: list[str]) -> None:
    with writing() as session:
        withdrawn = runs.set_patterns(session, runs.get(session, run_name), wanted, now_ms())
    flash((True, "Saved. Judge the run again to queue what matches now."))
    if withdrawn:
        flash((True, runs.withdrawn_sentence(withdrawn)))
    st.rerun()


def reasons_form(run: tables.Run) -> None:
    """The reasons that reviewers choose from, one a line, each with a digit of its own."""
    environments = run.environment.split(",")
    usual = reasons.offered_reasons(run, environments[0])
    with st.form("reasons", border=False):
        st.caption(
            "What reviewers give with the keys 1 to 7, one a line; the agent reads them before the words. "
            "Empty: those of each environment."
        )
        own = "\n".join(run_options(run).reasons)
        text = st.text_area("Reasons", own, key=f"reasons-{run.id}", placeholder="\n".join(usual))
        sent = st.form_submit_button("Set reasons")
    if sent:
        guarded(_set_reasons, run.name, text.splitlines())


def _set_reasons(run_name: str, wanted: list[str]) -> None:
    with writing() as session:
        reasons.set_reasons(session, runs.get(session, run_name), wanted, now_ms())
    flash((True, f"Reviewers of {run_name} choose from these reasons from now on."))
    st.rerun()
