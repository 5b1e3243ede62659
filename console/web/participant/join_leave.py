"""What stands before a study and after it: the way in for whom this tab does not know, and leaving, for good or not."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from console.language import _, gettext_noop
from console.studies.design import Design
from console.studies.sessions.withdrawal import withdraw
from console.web.participant import stages
from console.web.participant.session import continue_button, sign_out_participant, step
from console.web.review import actions
from console.web.sign_in import participant_secret
from console.web.widgets.participant_stage import consent_link_html, head_html, points_html, prose_html
from storage import tables


def welcome() -> None:
    """What somebody reads whom this tab does not know; joining is a page of the server's own."""
    if message := actions.flash_html():
        st.html(message)
    if st.session_state.get("left"):
        stages.withdrawn(st.session_state.get("left_study"))
        return
    words = _("Open the link that you were given, or enter the code of the study.")
    st.html(head_html(_("Take part in a study")) + prose_html(words))
    st.link_button(_("Enter the code"), "/join", type="primary")


def leave_button() -> None:
    """The small button, on every page, that leads out."""
    with st.container(key="ia-who"):
        st.button(_("Leave or withdraw"), key="leave", type="tertiary", on_click=_set_leaving, args=("asked",))


def is_leaving() -> bool:
    """Whether this tab shows the way out."""
    return bool(st.session_state.get("leaving"))


def leave_page(participant: tables.Participant, design: Design) -> None:
    """The way out: for a while, with the link that leads back, or for good."""
    st.html(head_html(_("Leave for a while")) + points_html([*map(_, _AWAY)]))
    st.code(_link(), language=None, wrap_lines=True)
    continue_button(_("Go on with the study"), "stay", _set_leaving, None)
    st.html(consent_link_html())
    st.html(
        f'<div class="ia-rule"></div>{head_html(_("Withdraw"))}{prose_html(_(_WITHDRAWAL[design.consent.withdrawal]))}'
    )
    if st.session_state.get("leaving") == "sure":
        sure = _("Withdraw for good: this cannot be undone")
        st.button(sure, key="withdraw-for-good", on_click=step, args=(_withdraw, participant.id, design))
    else:
        st.button(_("Withdraw from the study"), key="withdraw", on_click=_set_leaving, args=("sure",))


_AWAY = (
    gettext_noop(
        "Close this page whenever you like. What you have done and written is kept, and this browser leads you back to "
        "it."
    ),
    gettext_noop("To go on in another browser, open this link there. It is yours alone, so do not pass it on."),
)
_WITHDRAWAL = {
    "remove": gettext_noop(
        "You need no reason. Your answers, your words and everything else that you gave are deleted."
    ),
    "anonymise": gettext_noop(
        "You need no reason. What you said about yourself is deleted; "
        "your answers to items are kept, without anything that leads back to you."
    ),
}


def _withdraw(participant_id: int, design: Design) -> None:
    withdraw(participant_id, themselves=True)
    st.session_state["left_study"] = design
    sign_out_participant()


def _link() -> str:
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}{here.path}?me={participant_secret()}"


def _set_leaving(how: str | None) -> None:
    st.session_state["leaving"] = how
