"""Forms on one run: detectors, budget, next trial, critical actions or policy, reasons and maintenance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from console import runs
from console.database import database_url, now_ms, reading, writing
from console.detection import batch
from console.detection.detectors import DETECTORS
from console.detection.estimate import asks_models, estimate_cost
from console.errors import BadInput
from console.gate.policy import policy_store
from console.gate.policy.rules import Limit, Policy, PolicyMode, Rule, Then
from console.language import counted, list_counts
from console.review import decision_details
from console.runs import maintenance, run_options
from console.runs.critical_suggestions import Candidates, explain_unapplied
from console.trials import replay
from console.web.flash import finish, flash, refusals_shown
from console.web.run_picker import choose_run
from console.web.runs.new_run import show_progress
from console.web.runs.policy_versions import draw_allowed_checks, policy_form, policy_history
from console.web.widgets.messages import show_problem
from console.web.widgets.tables import show_grid, show_rows
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
    chosen = list(dict.fromkeys([*methods, routing]))
    if sent and asks_models(chosen):
        with refusals_shown(), st.spinner("Estimating the cost from up to three checkpoints…"):
            found = estimate_cost(run.name, chosen)
            st.session_state["cost"] = (run.name, found.in_words(), chosen, routing, threshold)
    elif sent:
        _detect(run.name, chosen, routing, threshold)
    _confirm_cost(run)


def _confirm_cost(run: tables.Run) -> None:
    told = st.session_state.get("cost")
    if told is None or told[0] != run.name:
        return
    _, words, *wanted = told
    st.text(words)
    with st.container(horizontal=True):
        agreed = st.button("Judge with models", key="cost-agreed", type="primary")
        if agreed or st.button("Cancel", key="cost-declined"):
            del st.session_state["cost"]
            _detect(run.name, *wanted) if agreed else st.rerun()


@refusals_shown()
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
        with refusals_shown():
            finish(runs.budget_sentence(run.name, runs.set_budget(run.name, wanted or None)))


def next_trial_button(run: tables.Run) -> None:
    """Draw the button that delivers the decisions and starts the next trial."""
    st.caption("Deliver the decisions so far, then run or reveal the next trial of each task with feedback.")
    if st.button("Start next trial", key="next_trial", type="primary"):
        with refusals_shown():
            done = replay.advance(run.name, progress=show_progress("trials completed"))
            flash(*((False, problem) for problem in done.problems))
            finish(done.in_words(now_ms()))


def dead_end_notice(run: tables.Run, end: tuple[str, list[str]] | None) -> None:
    """Draw the reason why no action of the run can be reviewed, and a button that accepts suggested patterns."""
    if end is None:
        return
    sentence, patterns = end
    show_problem(sentence)
    if patterns and st.button("Accept as critical", key="accept_candidates", type="primary", shortcut="a"):
        _set_patterns(run.name, [*runs.patterns(run), *patterns])


def critical_form(run: tables.Run, patterns: Sequence[str], candidates: Candidates) -> None:
    """Draw the patterns of critical actions, one per line, and suggestions to confirm."""
    if candidates.unapplied:
        show_problem(explain_unapplied(candidates.unapplied))
    with st.form("critical", border=False):
        text = st.text_area("Critical actions (one pattern per line)", "\n".join(patterns), key=f"patterns-{run.id}")
        chosen = []
        if candidates.found:
            st.caption(
                f"These actions of the run look critical. Select the actions that are critical. {candidates.share}"
            )
            options = [candidate.pattern for candidate in candidates.found]
            chosen = st.multiselect("Candidates", options, key=f"candidates-{run.id}", label_visibility="collapsed")
            show_grid([{"Action": c.pattern, "Seen": c.count, "Why": c.why} for c in candidates.found], "Candidates")
        sent = st.form_submit_button("Save patterns")
    if sent:
        _set_patterns(run.name, [*text.splitlines(), *chosen])


@refusals_shown()
def _set_patterns(run_name: str, wanted: list[str]) -> None:
    with writing() as session:
        withdrawn = runs.set_patterns(session, runs.get(session, run_name), wanted, now_ms())
    told = [runs.withdrawn_sentence(withdrawn)] if withdrawn else []
    finish("Patterns saved. Judge the run again to queue the actions that match.", *told)


def questions_form(run: tables.Run) -> None:
    """Draw the form for the questions that reviewers answer beside their decision, one per line."""
    told = (
        "Reviewers answer these questions beside their decision. Write one per line: “TEXT: 1-7” for a scale, "
        "“TEXT: one, two” for a choice. The agent never gets the answers. Export them as “answers”."
    )
    hint = "How severe is the error?: 1-5\nWhere does it start?: search, choice, last step"
    own = [one.line for one in decision_details.list_questions(run)]
    _lines_form(run, "Questions", told, own, hint, decision_details.set_questions)


def reasons_form(run: tables.Run) -> None:
    """Draw the form for the reasons that reviewers select, one per line."""
    told = (
        "Enter one reason per line; reviewers select these reasons with keys 1 to 7. The agent reads the "
        "selected reasons before the feedback. Leave the field empty to use the reasons of the environment."
    )
    usual = "\n".join(decision_details.list_reasons(run, run.environment.split(",")[0]))
    _lines_form(run, "Reasons", told, run_options(run).reasons, usual, decision_details.set_reasons)


def _lines_form(
    run: tables.Run, what: str, told: str, own: Sequence[str], hint: str, change: Callable[..., object]
) -> None:
    name = what.lower()
    with st.form(name, border=False):
        st.caption(told)
        text = st.text_area(what, "\n".join(own), key=f"{name}-{run.id}", placeholder=hint)
        sent = st.form_submit_button(f"Save {name}")
    if sent:
        change_run(run, f"{what} saved. Reviewers of {run.name} now see them.", change, text.splitlines())


@refusals_shown()
def change_run(run: tables.Run, said: str, change: Callable[..., object], value: object) -> None:
    """Store the new value of the run by `change`, and draw the page again with a message."""
    with writing() as session:
        change(session, runs.get(session, run.name), value, now_ms())
    finish(said)


def keeping_forms(run: tables.Run, trajectories: int) -> None:
    """Draw the maintenance forms of the run, which has so many trajectories; deletion comes last."""
    with reading() as session:
        imports = maintenance.list_imports(session, run)
    st.subheader("Name and tags", anchor=False)
    _name_and_tags(run)
    if imports:
        st.subheader("Imports", anchor=False)
        _imports(imports)
    if run.kind in maintenance.HAS_AGENTS:
        st.subheader("Agents", anchor=False)
        _stop(run)
    st.subheader("Archive", anchor=False)
    archived = run.archived_ms is not None
    if st.button("Unarchive this run" if archived else "Archive this run", key="archive_run"):
        said = f"{'Unarchived' if archived else 'Archived'} {run.name}."
        change_run(run, said, maintenance.set_archived, not archived)
    st.subheader("Legal hold", anchor=False)
    _hold(run)
    if run.hold is None:
        _delete(run, trajectories)


def _name_and_tags(run: tables.Run) -> None:
    with st.form("keeping", border=False):
        left, right = st.columns(2)
        name = left.text_input("Name", run.name, key=f"rename-{run.id}", max_chars=80)
        words = right.text_input("Tags, separated by spaces", " ".join(maintenance.tags(run)), key=f"tags-{run.id}")
        sent = st.form_submit_button("Save details")
    if sent:
        with refusals_shown():
            with writing() as session:
                target, tags = runs.get(session, run.name), words.split()
                maintenance.tag_run(session, target, tags, set(maintenance.tags(target)) - set(tags), now_ms())
                if name.strip() != run.name:
                    maintenance.rename_run(session, target, name.strip(), now_ms())
            choose_run(name.strip())
            finish("Saved.")


def _imports(imports: Sequence[dict[str, Any]]) -> None:
    st.caption("You can undo an import that has no reviews yet.")
    heads = {"import_id": "Import", "file": "File", "imported": "Trajectories", "still_there": "Remaining"}
    shown = [
        {head: one[name] for name, head in heads.items()}
        | {"Imported (UTC)": one["at"][:16].replace("T", " "), "Undone": "yes" if one["undone"] else "no"}
        for one in imports
    ]
    show_grid(shown, "Imports", key="imports", width="content")
    open_ones = {f"{one['file']} (import {one['import_id']})": one["import_id"] for one in imports if not one["undone"]}
    if not open_ones:
        return
    which, press = st.columns([3, 1], vertical_alignment="bottom")
    chosen = which.selectbox("Import", list(open_ones), key="import_to_undo")
    if press.button("Undo this import", key="undo_import"):
        with refusals_shown():
            with writing() as session:
                run, gone = maintenance.undo_import(session, open_ones[chosen], now_ms())
            finish(f"Deleted {counted(gone, 'trajectory')} of {run.name}.")


def _stop(run: tables.Run) -> None:
    stopped = run_options(run).stopped
    st.caption(
        "No action of the agents may begin. Withdrawn checks stay withdrawn."
        if stopped
        else "A stop withdraws all pending checks. Agents that wait get the answer that they may not act."
    )
    if st.button("Let agents continue" if stopped else "Stop this run", key="continue_run" if stopped else "stop_run"):
        with refusals_shown():
            with writing() as session:
                gone = maintenance.set_stopped(session, runs.get(session, run.name), not stopped, now_ms())
            finish(maintenance.stop_sentence(run.name, not stopped, gone))


def _hold(run: tables.Run) -> None:
    with st.form("hold", border=False):
        st.caption("A run on legal hold cannot be deleted, erased or pruned.")
        reason = st.text_input(
            "Reason of the hold", run.hold or "", key=f"hold-{run.id}", disabled=bool(run.hold), width=360
        )
        sent = st.form_submit_button("Release hold" if run.hold else "Place hold")
    if sent:
        said = f"Released the hold of {run.name}." if run.hold else f"{run.name} is on legal hold."
        change_run(run, said, maintenance.set_hold, None if run.hold else reason)


def _delete(run: tables.Run, trajectories: int) -> None:
    with st.container(border=True, key="delete-run"), st.form("delete", border=False):
        st.subheader("Delete", anchor=False)
        what = counted(trajectories, "trajectory")
        st.caption(f"This permanently deletes {what} with all items, decisions, verdicts and events.")
        typed = st.text_input("Type the run's name to delete it", key=f"delete-{run.id}", width=360)
        sent = st.form_submit_button("Delete this run")
    if sent:
        with refusals_shown():
            if typed.strip() != run.name:
                raise BadInput("The name does not match. Type the run's name exactly to delete it.")
            with writing() as session:
                gone = maintenance.delete_run(session, runs.get(session, run.name), now_ms())
            overwrite_freed(database_url())
            st.session_state.pop("run", None)
            st.query_params.pop("run", None)
            finish(f"Deleted {run.name}: {list_counts(gone)}.")


_COLUMNS = ("Rule", "Then", "Conditions", "Terms", "Because")


def policy_section(run: tables.Run) -> None:
    """Draw the current version of the policy and the form for the next version."""
    with reading() as session:
        version = policy_store.effective_version(session, run)
        counts = policy_store.count_by_tool(session, run)
    if version is None:
        st.caption("No policy yet. The first check creates a policy that asks about every action.")
        return
    policy = version.policy
    whose = "" if version.own else " (the default policy)"
    st.text(f"Version {version.version}, by {version.author}{whose}. {_last(policy)}")
    _show_rules(policy, "Rules")
    for one in version.also:
        st.warning(
            f"Version {one.version} by {one.author} also applies, from a database that a restore replaced. "
            "For each check the stricter ruling counts. Save a policy to choose."
        )
        _show_rules(one.policy, f"Rules of version {one.version}")
    if counts:
        st.caption("Checks so far, by tool.")
        columns = {"Judged": st.column_config.Column("Sent to the detector")}
        show_grid(counts, "Checks by tool", key=f"policy-counts-{run.id}", width="content", column_config=columns)
    draw_allowed_checks(run)
    policy_form(run, version)
    policy_history(run, version)


def _last(policy: Policy) -> str:
    words = {
        Then.ALLOW: "runs without a review",
        Then.JUDGE: "is judged by the detector",
        Then.ASK: "asks a person",
        Then.DENY: "is denied",
    }
    said = f"An action that no rule matches {words[policy.default]}."
    if policy.rules and policy.rules[-1].is_unconditional:
        said = f"An action that only the last rule matches {words[policy.rules[-1].then]}."
    if policy.mode is PolicyMode.SHADOW:
        said += " In shadow mode the policy records its result and stops no action."
    return said if policy.rollout >= 1 else f"{said} Its rollout percentage is {policy.rollout * 100:g}% of the tasks."


def _show_rules(policy: Policy, label: str) -> None:
    """Draw the rules with the columns that any rule fills."""
    cells: list[tuple[str, ...]] = [
        (rule.name, str(rule.then), _conditions(rule) or "always", _terms(rule), rule.because) for rule in policy.rules
    ]
    cells.append(("default", str(policy.default), "no other rule matches", "", ""))
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in cells]
    show_rows(rows, {name: name for name in _COLUMNS if any(row[name] for row in rows)}, label=label)


def _conditions(rule: Rule) -> str:
    lists = {"tool": rule.tool, "pattern": rule.pattern, "agent": rule.agent, "environment": rule.environment}
    said = [f"{name} {' or '.join(globs)}" for name, globs in lists.items() if globs]
    return ", ".join([*said, *([f"when {rule.when}"] if rule.when else [])])


def _terms(rule: Rule) -> str:
    said = [f"{rule.reviews} reviews"] if rule.reviews > 1 else []
    said += [f"only {' or '.join(rule.decisions)}"] if rule.decisions else []
    said += [f"within {_time(rule.deadline_s)}"] if rule.deadline_s else []
    said += [f"by {', '.join(rule.who)}"] if rule.who else []
    said += [f"after {_time(rule.widen.after_s)} also by {', '.join(rule.widen.to)}"] if rule.widen else []
    said += [_limit(rule.limit)] if rule.limit else []
    said += [] if rule.undo_s is None else [f"undo {_time(rule.undo_s)}"]
    return ", ".join([*said, *([f"through {', '.join(rule.doors)}"] if rule.doors else [])])


def _limit(limit: Limit) -> str:
    of = f" of {limit.argument}" if limit.argument else ""
    per = {3_600: "hour", 86_400: "day"}.get(limit.window_s, "week")
    return f"at most {limit.most:g}{of} per {per} and {limit.by}"


def _time(seconds: float) -> str:
    """Format a duration in the largest unit of which the duration has at least two."""
    units = {"days": 86_400, "h": 3_600, "min": 60}
    return next((f"{seconds / size:g} {unit}" for unit, size in units.items() if seconds >= 2 * size), f"{seconds:g} s")
