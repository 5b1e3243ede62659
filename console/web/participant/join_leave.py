"""Joining a study by its code, and leaving it, for a while or for good."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from console.auth.sign_in import PARTICIPANT_COOKIE, secret_of
from console.database import reading
from console.studies.sessions import joining
from console.studies.sessions.stages import ParticipantStage
from console.studies.sessions.withdrawal import withdraw
from console.web.participant.session import continue_button, is_of, sign_in_participant, sign_out_participant, step
from console.web.review import actions
from console.web.widgets.participant_stage import head_html, points_html, prose_html
from console.web.widgets.sign_in_cookie import delete_cookie, follow_cookie
from storage import tables

_CODE_CHARS = 40


def welcome() -> None:
    """What somebody reads whom this browser does not know: the invitation, or the field for its code."""
    if message := actions.flash_html():
        st.html(message)
    if st.session_state.get("left"):
        if st.session_state.get("way_back_gone"):
            delete_cookie(PARTICIPANT_COOKIE)
        st.html(head_html("You have withdrawn") + prose_html("Nothing more is asked of you. You can close this page."))
        return
    follow_cookie(PARTICIPANT_COOKIE)
    code = st.query_params.get("join")
    if not code:
        _ask_for_code()
        return
    st.html(head_html("You are invited to a study"))
    st.html(
        prose_html(
            "Agents are stopped here before they do something that cannot be undone, and wait for a person. "
            "In this study you are that person. You are told more before you decide whether to take part."
        )
    )
    continue_button("Start", "join", _join, code)


def leave_button() -> None:
    """The small button, on every page, that leads out."""
    with st.container(key="ia-who"):
        st.button("Leave or withdraw", key="leave", type="tertiary", on_click=_set_leaving, args=("asked",))


def is_leaving() -> bool:
    """Whether this tab shows the way out."""
    return bool(st.session_state.get("leaving"))


def leave_page(participant: tables.Participant, withdrawal: str) -> None:
    """The way out: for a while, with the link that leads back, or for good."""
    st.html(head_html("Leave for a while") + points_html(_AWAY))
    st.code(_link(participant), language=None, wrap_lines=True)
    continue_button("Go on with the study", "stay", _set_leaving, None)
    st.html(f'<div class="ia-rule"></div>{head_html("Withdraw")}{prose_html(_WITHDRAWAL[withdrawal])}')
    if st.session_state.get("leaving") == "sure":
        sure = "Withdraw for good: this cannot be undone"
        st.button(sure, key="withdraw-for-good", on_click=step, args=(_withdraw, participant.id))
    else:
        st.button("Withdraw from the study", key="withdraw", on_click=_set_leaving, args=("sure",))


_AWAY = (
    "Close this page whenever you like. What you have done and written is kept, and this browser leads you back to it.",
    "To go on in another browser, open this link there. It is yours alone, so do not pass it on.",
)
_WITHDRAWAL = {
    "remove": "You need no reason. Your answers, your words and everything else that you gave are deleted.",
    "anonymise": "You need no reason. What you said about yourself is deleted; "
    "your answers to items are kept, without anything that leads back to you.",
}


def _ask_for_code() -> None:
    st.html(head_html("Take part in a study") + prose_html("Enter the code that you were given."))
    with st.form("code", border=False):
        st.text_input("Code of the study", key="code", max_chars=_CODE_CHARS, width=260, autocomplete="off")
        st.form_submit_button("Continue", type="primary", on_click=_join_by_field)


def _join_by_field() -> None:
    step(_join, st.session_state["code"])


def _join(code: str) -> None:
    """Takes a place; whoever has one in that study already gets it back."""
    sign_in_participant(_already_joined(code) or joining.join(code))


def _already_joined(code: str) -> tables.Participant | None:
    """The participant that this tab or browser keeps, where they are in the study of that code."""
    kept = st.session_state.get("me") or secret_of(st.context.cookies.get(PARTICIPANT_COOKIE))
    with reading() as session:
        participant = joining.found(session, kept) if kept else None
        study = session.get(tables.Study, participant.study_id) if participant else None
    if participant is None or study is None or participant.stage == ParticipantStage.DECLINED:
        return None
    return participant if is_of(study, code) else None


def _withdraw(participant_id: int) -> None:
    withdraw(participant_id)
    sign_out_participant()
    st.session_state["way_back_gone"] = True


def _link(participant: tables.Participant) -> str:
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}{here.path}?me={participant.secret}"


def _set_leaving(how: str | None) -> None:
    st.session_state["leaving"] = how
