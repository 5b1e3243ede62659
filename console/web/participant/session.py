"""The session of a participant at a browser: who it is, the steps they take, and the work that takes a while."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from console.database import reading
from console.errors import ConsoleError
from console.language import _
from console.studies.sessions import joining, presence
from console.studies.sessions.stages import ParticipantStage
from console.web.review import actions, shortcuts
from console.web.sign_in import current_identity, participant_secret
from console.web.widgets.hotkeys import hotkeys, key_label
from console.web.widgets.messages import refusal_words
from console.web.widgets.participant_stage import head_html, prose_html
from storage import tables
from storage.errors import StorageError

_COLUMN_PX = 760
_CHECK_EVERY_S = 0.15


def column() -> DeltaGenerator:
    """The page column that everything but an item is read in."""
    return st.container(key="ia-stage", width=_COLUMN_PX)


def current_participant() -> tables.Participant | None:
    """The participant whose link, tab or cookie this is; it is theirs from now on in this tab and this browser."""
    given = st.query_params.get("me")
    kept = given or participant_secret()
    if kept is None or st.session_state.get("left"):
        return None
    with reading() as session:
        participant = joining.found(session, kept)
        study = session.get(tables.Study, participant.study_id) if participant else None
    if participant is None and not given and st.session_state.get("me"):
        sign_out_participant()
    if participant is None or study is None or _is_invited_anew(participant, study):
        return None
    before = current_identity()
    sign_in_participant(kept)
    if current_identity() != before:
        # The pages beside this one are another identity's until the next run.
        st.rerun()
    return participant


@st.fragment(run_every=presence.SIGNAL_S)
def signal_presence(participant: tables.Participant) -> None:
    """Says every few seconds, from now on, that a page of the participant is open."""
    presence.note_signal(participant)


def sign_in_participant(secret: str) -> None:
    """Makes this tab the one of the participant whose secret that is."""
    for name in ("me", "join"):
        st.query_params.pop(name, None)
    st.session_state["me"] = secret
    st.session_state["left"] = False


def sign_out_participant() -> None:
    """Makes this tab nobody's: its participant has withdrawn, here or elsewhere."""
    for name in ("me", "leaving", "looking_back", "reviewed_runs"):
        st.session_state.pop(name, None)
    st.session_state["left"] = True


def step(action: Callable[..., Any], *arguments: Any) -> None:
    """Takes a step of the study; a refusal stands over the page that follows."""
    try:
        action(*arguments)
    except (ConsoleError, StorageError) as refusal:
        st.session_state["refusal"] = refusal_words(refusal)


def continue_button(words: str, key: str, action: Callable[..., Any], *arguments: Any, undoes: bool = False) -> None:
    """The one button that leads on, with Enter as its key; beside it the way to the latest answer, with U."""
    bound = {"enter": key}
    with st.container(horizontal=True):
        st.button(key_label(words, "Enter"), key=key, type="primary", on_click=step, args=(action, *arguments))
        if undoes:
            bound["u"] = f"undo-at-{key}"
            st.button(key_label(_("Undo"), "U"), key=bound["u"], on_click=actions.undo, args=(None,))
    hotkeys(bound, item_id=key, enabled=shortcuts.enabled())


def request_work(task: str) -> None:
    """Makes the next run of this page do what takes a while."""
    st.session_state["work"] = task


def run_work(task: str, words: str, action: Callable[[int, Callable[[int, int], None]], None], who: int) -> None:
    """Does it with a bar of its progress where this tab was set to it, and then draws the page anew.

    A thread of its own does it, so that a tab that is closed or turns elsewhere does not cut the agents off.
    """
    if st.session_state.get("work") != task:
        return
    del st.session_state["work"]
    st.html(head_html(words) + prose_html(_("This takes a moment. You can leave the page open.")))
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
    """Whether the address invites to another study, or to this one after somebody has declined it."""
    code = st.query_params.get("join")
    return bool(code) and (participant.stage == ParticipantStage.DECLINED or not joining.is_code_of(study, code or ""))
