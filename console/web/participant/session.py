"""The session of a participant in a browser: identity, steps of the study, and long-running work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from console.database import reading
from console.language import _
from console.studies.sessions import joining, steps
from console.studies.sessions.stages import ParticipantStage
from console.web.review import actions, shortcuts
from console.web.review.own_items import in_words
from console.web.sign_in import current_identity, participant_secret
from console.web.widgets.hotkeys import hotkeys, key_button, key_label
from console.web.widgets.markup import show_html
from console.web.widgets.participant_stage import head_html, prose_html
from storage import tables

_COLUMN_PX = 760
_CHECK_EVERY_S = 0.15


def column() -> DeltaGenerator:
    """Return the page column for all content except items."""
    return st.container(key="ia-stage", width=_COLUMN_PX)


def current_participant() -> tables.Participant | None:
    """Sign in and return the participant of this link, tab or cookie; return None if there is none."""
    given = st.query_params.get("me")
    kept = given or participant_secret()
    if kept is None or st.session_state.get("left"):
        return None
    with reading() as session:
        participant = joining.find_participant(session, kept)
        study = session.get(tables.Study, participant.study_id) if participant else None
    if participant is None and not given and st.session_state.get("me"):
        sign_out_participant()
    if participant is None or study is None or _is_invited_anew(participant, study):
        return None
    before = current_identity()
    for name in ("me", "join"):
        st.query_params.pop(name, None)
    st.session_state["me"] = kept
    st.session_state["left"] = False
    if current_identity() != before:
        # The list of pages still belongs to the previous identity.
        st.rerun()
    return participant


@st.fragment(run_every=steps.SIGNAL_S)
def signal_presence(participant: tables.Participant) -> None:
    """Signal every few seconds that a page of the participant is open."""
    steps.note_signal(participant)


def sign_out_participant() -> None:
    """Sign the participant out of this tab after they have withdrawn."""
    for name in ("me", "leaving", "looking_back", "reviewed_runs"):
        st.session_state.pop(name, None)
    st.session_state["left"] = True


def step(action: Callable[..., Any], *arguments: Any) -> None:
    """Take a step of the study; if the step is refused, show the reason on the next run of the page."""
    in_words(action)(*arguments)


def submit_button(key: str, action: Callable[..., Any], *arguments: Any) -> None:
    """Draw the button that sends a form and continues, with Enter as shortcut."""
    words = key_label(_("Continue"), "Enter")
    st.form_submit_button(words, key=key, type="primary", on_click=action, args=arguments)
    hotkeys({"enter": key}, item_id=key, enabled=shortcuts.are_enabled())


def continue_button(words: str, key: str, action: Callable[..., Any], *arguments: Any, undoes: bool = False) -> None:
    """Draw the button that continues, with Enter as shortcut; if `undoes`, also draw Undo with shortcut U."""
    bound = {"enter": key}
    with st.container(horizontal=True):
        key_button(words, "Enter", key, step, action, *arguments, type="primary")
        if undoes:
            bound["u"] = f"undo-at-{key}"
            key_button(_("Undo"), "U", bound["u"], actions.undo, None)
    hotkeys(bound, item_id=key, enabled=shortcuts.are_enabled())


def request_work(task: str) -> None:
    """Store this long-running work for the next run of the page, which does the work."""
    st.session_state["work"] = task


def run_work(task: str, words: str, action: Callable[[int, Callable[[int, int], None]], None], who: int) -> None:
    """Do the requested work with a progress bar, then draw the page again.

    The work runs in its own thread, so that closing the tab does not interrupt the agents.
    """
    if st.session_state.get("work") != task:
        return
    del st.session_state["work"]
    show_html(head_html(words) + prose_html(_("The next page opens in a moment.")))
    bar, shares = st.progress(0.0), [0.0]
    executor = ThreadPoolExecutor(1)
    work = executor.submit(action, who, lambda done, total: shares.append(min(1.0, done / max(total, 1))))
    executor.shutdown(wait=False)
    while not work.done():
        bar.progress(shares[-1])
        wait([work], timeout=_CHECK_EVERY_S)
    step(work.result)
    st.rerun()


def _is_invited_anew(participant: tables.Participant, study: tables.Study) -> bool:
    """Return whether the address is an invitation to another study, or to this study after a decline."""
    code = st.query_params.get("join")
    return bool(code) and (participant.stage == ParticipantStage.DECLINED or not joining.is_code_of(study, code or ""))
