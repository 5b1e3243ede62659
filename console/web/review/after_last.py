"""After the last item: why none is offered, the agents' next attempt at one button, and what came of the words."""

from __future__ import annotations

import time

import streamlit as st

from console import runs
from console.auth.identity import Identity, Role
from console.auth.origin import acting
from console.database import now_ms, reading
from console.errors import ConsoleError
from console.language import _, ngettext
from console.review import aftermath, decisions, inbox
from console.review.aftermath import WordsTally
from console.runs.options import run_options
from console.trials import replay
from console.trials.round import Advance
from console.web.review import decision_bar
from console.web.review.own_items import refuse
from console.web.sign_in import by_browser
from console.web.widgets.hotkeys import hotkeys, key_label
from console.web.widgets.messages import show_empty_state, what_now
from storage import tables
from storage.errors import StorageError
from storage.queue import NoClaim, NoClaimReason
from storage.tables import RunKind

ANSWERS, REVIEW, RUNS = (f"console/web/pages/{page}.py" for page in ("answers", "review", "runs"))
_LONGEST_WAIT_S = 10.0


def show_nothing_left(
    claim: NoClaim, run: tables.Run, who: Identity, tally: WordsTally | None, *, has_more: bool
) -> None:
    """Why no item is offered, and what can be done now."""
    done = claim.reason in (NoClaimReason.EMPTY, NoClaimReason.BUDGET_SPENT)
    may_start = done and has_more and who.has(Role.RESEARCHER) and run.kind == RunKind.LIVE
    show_empty_state(inbox.headline(claim), f"{inbox.why_nothing(claim)} {_what_now(claim, who, may_start)}".strip())
    with what_now():
        if may_start:
            words = key_label(_("Let the agents try again"), "Enter")
            st.button(words, key="try-again", type="primary", on_click=_ask_for_round, args=(run.name,))
        st.page_link(ANSWERS, label=_("What came of my answers"), query_params={"run": run.name})
        if who.has(Role.RESEARCHER) and claim.reason == NoClaimReason.BUDGET_SPENT:
            st.page_link(RUNS, label=_("Raise the budget on Runs"), query_params={"run": run.name})
    if tally:
        st.caption(tally.in_words)
    if may_start and run_options(run).goes_on:
        _count_down(run.name, who.name)
    decision_bar.empty_bar({"enter": "try-again"} if may_start else None)


def _what_now(claim: NoClaim, who: Identity, may_start: bool) -> str:
    if may_start:
        return _("The agents can try again with what you said.")
    if claim.reason != NoClaimReason.BUDGET_SPENT:
        return ""
    if who.has(Role.RESEARCHER):
        return _("Raise it on Runs, under Budget, and they come to review.")
    return _("Nothing is left for you to do here; tell the researcher, who can raise it.")


def _ask_for_round(run_name: str) -> None:
    st.session_state["round_of"] = run_name


@st.fragment(run_every=1.0)
def _count_down(run_name: str, reviewer: str) -> None:
    """Starts the next attempt by itself, as soon as the last answer can no longer be taken back."""
    with reading() as session:
        last = decisions.last_decision(session, runs.get(session, run_name), reviewer)
    if st.session_state.get("round_asked") == (run_name, last.id if last else None):
        return
    left = (last.deliverable_ms - now_ms()) / 1_000 if last else 0
    if left > 0:
        words = _("They try again by themselves in {seconds} s, unless you take your last answer back.")
        st.caption(words.format(seconds=f"{left:.0f}"))
        return
    st.session_state["round_asked"] = (run_name, last.id if last else None)
    st.session_state["round_of"] = run_name
    st.rerun()


def show_round(run: tables.Run, who: Identity) -> None:
    """Plays the next attempt where it was asked for, then stops the page at what came of it."""
    wanted = st.session_state.pop("round_of", None)
    if wanted == run.name and who.has(Role.RESEARCHER):
        _play(run.name)
    if st.session_state.get("round_done", ("",))[0] != run.name:
        return
    with reading() as session:
        waiting, _oldest = inbox.waits(session, run)
        tally = aftermath.words_tally(session, run, who.name, unblinded=who.has(Role.RESEARCHER))
    done: Advance = st.session_state["round_done"][1]
    attempts = ngettext("{count} task was tried again.", "{count} tasks were tried again.", done.revealed)
    attempts = attempts.format(count=done.revealed)
    show_empty_state(_("The agents have tried again"), f"{attempts} {tally.in_words if tally else ''}".strip())
    with what_now():
        if waiting:
            words = key_label(_("Review next ({count} waiting)").format(count=waiting), "Enter")
            st.button(words, key="review-on", type="primary", on_click=_go_on)
        else:
            st.button(key_label(_("Go on"), "Enter"), key="review-on", on_click=_go_on)
        st.page_link(ANSWERS, label=_("See what came of my words"), query_params={"run": run.name})
    hotkeys({"enter": "review-on"}, item_id="round", enabled=True)
    st.stop()


def _go_on() -> None:
    st.session_state.pop("round_done", None)


def _play(run_name: str) -> None:
    """One round; an answer that can still be taken back is waited for, since its agent is to hear it too."""
    bar = st.progress(0.0, text=_("The agents try again"))

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
