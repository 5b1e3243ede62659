"""The Review page if no item is left: the reason, the agents' next trial, and the outcome of the feedback."""

from __future__ import annotations

import time

import streamlit as st

from console import runs
from console.auth.audit_log import acting
from console.auth.people import Identity, Role
from console.database import now_ms, reading
from console.errors import ConsoleError
from console.language import _, digits, ngettext, quoted
from console.review import decisions, feedback_counts, inbox
from console.review.access import list_reviewable_runs
from console.review.feedback_counts import FeedbackTally
from console.review.waiting import measure_offered
from console.runs import run_options
from console.trials import replay
from console.trials.round import Advance
from console.web.review import decision_bar
from console.web.review.own_items import refuse
from console.web.sign_in import by_browser
from console.web.widgets.hotkeys import hotkeys, key_button
from console.web.widgets.messages import next_step_row, show_empty_state
from storage import tables
from storage.errors import StorageError
from storage.queue import NoClaim, NoClaimReason
from storage.tables import RunKind

ANSWERS, INBOX, REVIEW, RUNS = (f"console/web/pages/{page}.py" for page in ("answers", "inbox", "review", "runs"))
_LONGEST_WAIT_S = 10.0


def show_nothing_left(
    claim: NoClaim, run: tables.Run, who: Identity, tally: FeedbackTally | None, *, of_run: bool, has_more: bool
) -> None:
    """Draw the reason why no item is left, of the run if `of_run`, and a suggestion for the next step."""
    done = claim.reason in (NoClaimReason.EMPTY, NoClaimReason.BUDGET_SPENT)
    may_start = done and has_more and who.has(Role.RESEARCHER) and run.kind == RunKind.LIVE
    more, is_empty = _("New items appear here automatically."), claim.reason == NoClaimReason.EMPTY
    why = f"{more if is_empty else inbox.explain_no_item(claim)} {_name_next_step(claim, who, may_start)}".strip()
    nothing = _("No pending items in {run}") if is_empty else _("No item for you in {run} right now")
    if not of_run:
        nothing = _("No pending items") if is_empty else _("No item for you right now")
    show_empty_state(nothing.format(run=quoted(run.name)), why, _("Review"))
    with reading() as session:
        open_runs = list_reviewable_runs(session, who.name, offering=True)
        others = [other.id or 0 for other in open_runs if other.id != run.id]
        elsewhere = measure_offered(session, others, who.name)[0]
    with next_step_row():
        if may_start:
            words, asked = _("Start next trial"), {"round_of": run.name}
            key_button(words, "Enter", "try-again", st.session_state.update, asked, type="primary")
        if elsewhere:
            st.page_link(REVIEW, label=_("Review other runs ({count})").format(count=digits(elsewhere)))
        else:
            st.page_link(INBOX, label=_("Open the Inbox"))
        st.page_link(ANSWERS, label=_("Open My reviews"), query_params={"run": run.name})
        if who.has(Role.RESEARCHER) and claim.reason == NoClaimReason.BUDGET_SPENT:
            st.page_link(RUNS, label=_("Raise the budget"), query_params={"run": run.name})
    if tally:
        st.caption(tally.in_words, text_alignment="center")
    if may_start and run_options(run).goes_on:
        _count_down(run.name, who.name)
    decision_bar.empty_bar({"enter": "try-again"} if may_start else None)


def _name_next_step(claim: NoClaim, who: Identity, may_start: bool) -> str:
    if may_start:
        return _("The agents can now try again with your feedback.")
    if claim.reason == NoClaimReason.BEYOND_CAPACITY:
        return _("After a break of 30 minutes you can continue.")
    if claim.reason != NoClaimReason.BUDGET_SPENT:
        return ""
    if who.has(Role.RESEARCHER):
        return _("Raise the budget on the Runs page to review the remaining items.")
    return _("Ask a researcher to raise the budget.")


@st.fragment(run_every=1.0)
def _count_down(run_name: str, reviewer: str) -> None:
    """Start the next trial when the reviewer's last decision can no longer be undone; draw the seconds until then."""
    with reading() as session:
        last = decisions.find_undelivered_decision(session, runs.get(session, run_name), reviewer)
    if st.session_state.get("round_asked") == (run_name, last.id if last else None):
        return
    left = (last.deliverable_ms - now_ms()) / 1_000 if last else 0
    if left > 0:
        words = _("The next trial starts in {seconds} s unless you undo your last decision.")
        st.caption(words.format(seconds=f"{left:.0f}"))
        return
    st.session_state["round_asked"] = (run_name, last.id if last else None)
    st.session_state["round_of"] = run_name
    st.rerun()


def show_trial_result(run: tables.Run | None, who: Identity) -> None:
    """Play the next trial if requested; if there is a result, draw the result instead of the page."""
    if run is None:
        return
    wanted = st.session_state.pop("round_of", None)
    if wanted == run.name and who.has(Role.RESEARCHER):
        _play(run.name)
    if st.session_state.get("round_done", ("",))[0] != run.name:
        return
    with reading() as session:
        waiting = measure_offered(session, [run.id or 0], who.name)[0]
        tally = feedback_counts.tally_feedback(session, run, who.name, unblinded=who.has(Role.RESEARCHER))
    done: Advance = st.session_state["round_done"][1]
    attempts = ngettext("{count} task was tried again.", "{count} tasks were tried again.", done.revealed)
    attempts = attempts.format(count=done.revealed)
    words = f"{attempts} {tally.in_words if tally else ''}".strip()
    show_empty_state(_("The agents tried again"), words, _("Review"))
    with next_step_row():
        words = _("Review next item ({count} pending)").format(count=waiting) if waiting else _("Continue")
        look, close = "primary" if waiting else "secondary", st.session_state.pop
        key_button(words, "Enter", "review-on", close, "round_done", None, type=look)
        st.page_link(ANSWERS, label=_("Open My reviews"), query_params={"run": run.name})
    hotkeys({"enter": "review-on"}, item_id="round", enabled=True)
    st.stop()


def _play(run_name: str) -> None:
    """Play the next trial; if a decision can be undone for at most 10 s, wait until it is final and play again."""
    bar = st.progress(0.0, text=_("The agents are trying again"))

    def show(done: int, total: int) -> None:
        bar.progress(done / max(total, 1), text=_("{done} of {total} attempts").format(done=done, total=total))

    try:
        with acting(by_browser()):
            done = replay.advance(run_name, show)
            wait_s = (done.due_ms - now_ms()) / 1_000 if done.due_ms else 0.0
            if done.undoable and wait_s <= _LONGEST_WAIT_S:
                time.sleep(max(wait_s, 0) + 0.05)
                more = replay.advance(run_name, show)
                more.revealed += done.revealed
                done = more
    except (ConsoleError, StorageError) as refusal:
        refuse(refusal)
        return
    finally:
        bar.empty()
    st.session_state["round_done"] = (run_name, done)
