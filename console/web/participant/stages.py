"""The stages of a participant outside items: welcome, start of a part, end of a round, break, end, withdrawal."""

from __future__ import annotations

from urllib.parse import urlsplit

import orjson
import streamlit as st

from console.database import now_ms
from console.language import _, gettext_noop
from console.studies.design import Design
from console.studies.sessions import steps
from console.studies.sessions.position import AtBreak, AtEnd, AtIntroduction, AtPause, AtRoundEnd, InPart, InRound
from console.studies.sessions.withdrawal import withdraw
from console.web.participant import session
from console.web.participant.onboarding import points
from console.web.participant.session import continue_button, sign_out_participant, step
from console.web.review import actions, own_items
from console.web.sign_in import participant_outside_id, participant_secret
from console.web.widgets.markup import show_html
from console.web.widgets.participant_stage import (
    clock_html,
    consent_link_html,
    formatted_prose_html,
    head_html,
    points_html,
    prose_html,
    return_link_html,
)
from storage import tables
from storage.tables import StudyStatus

_CHECK_EVERY_S = 3


def name_part(position: InPart) -> str:
    """Return the part's number and the number of parts as text; return an empty text if there is only one part."""
    words = _("Part {number} of {count}").format(number=position.condition, count=position.conditions)
    return words if position.conditions > 1 else ""


def name_round(position: InRound) -> str:
    """Return the round's number and the number of rounds as text; return an empty text if there is only one round."""
    words = _("Round {number} of {count}").format(number=position.trial, count=position.trials)
    return words if position.trials > 1 else ""


def introduction(position: AtIntroduction) -> None:
    """Draw the introduction of a part, with a button that plays the agents' first trial."""
    task = f"begin {position.condition}"
    session.run_work(task, _("The agents are starting"), steps.begin, position.participant.id or 0)
    sentences = points(position.design, orjson.loads(position.assignment.levels), first=position.condition == 1)
    show_html(head_html(name_part(position) or _("Start of the study")) + points_html(sentences))
    continue_button(_("Start"), f"begin-{position.condition}", session.request_work, task)


def round_over(position: AtRoundEnd) -> None:
    """Draw the end of a round, with a button that delivers the decisions to the agents."""
    task = f"hand-over-{position.condition}-{position.trial}"
    last = position.trial >= position.trials
    words = _("Sending your decisions") if last else _("The agents are trying again")
    session.run_work(task, words, steps.hand_over, position.participant.id or 0)
    if position.assignment and position.run:
        own_items.set_reviewed_runs(position.assignment.run_id, position.assignment.checks_run_id)
    title = _("Round {number} is done").format(number=position.trial) if position.trials > 1 else _("This part is done")
    show_html(head_html(title, over=name_part(position)) + prose_html(_(_NEXT[_what_follows(position)])))
    continue_button(_("Send decisions"), task, session.request_work, task, undoes=position.run is not None)


def agents_working() -> None:
    """Draw the note that the agents are working; check every few seconds whether they have finished."""
    words = _("This page continues automatically when they finish.")
    show_html(head_html(_("The agents are working")) + prose_html(words))
    _check_again()


def pause(position: AtBreak) -> None:
    """Draw a break, which ends after a fixed time or when the participant continues."""
    done = _("{done} of {count} parts are done").format(done=position.condition - 1, count=position.conditions)
    show_html(head_html(_("Time for a break"), over=done))
    if position.sentence:
        show_html(prose_html(position.sentence))
    _clock(position.until_ms)
    if not position.sentence:
        continue_button(_("Continue now"), f"end-break-{position.condition}", steps.end_break, position.participant.id)


def paused(position: AtPause) -> None:
    """Draw the note that the study is paused or closed."""
    over = position.study.status == StudyStatus.CLOSED
    show_html(head_html(_("The study is over") if over else _("The study is paused")) + prose_html(position.sentence))
    if not over:
        _check_again()


def finished(position: AtEnd) -> None:
    """Draw the thanks, the debriefing, the return link and the completion code."""
    design, code = position.design, position.completion_code
    debriefing = formatted_prose_html(design.debriefing.text)
    show_html(head_html(_("Thank you, you have finished")) + debriefing)
    done = gettext_noop("Press this button to return. It tells {place} that you have finished.")
    show_return_link(design, design.recruiting.completion_url, code or "", done)
    if code:
        show_html(prose_html(_what_for(design)))
        st.code(code, language=None, width=260)
    if design.consent.text.strip():
        show_html(consent_link_html())


def _what_for(design: Design) -> str:
    """Return sentences on the purpose of the completion code."""
    shows, then = _("This code shows that you have finished."), _("Copy it before you close the page.")
    if design.recruiting.completion_url:
        then = _("Copy it before you close the page, in case you need it later.")
    elif platform := design.recruiting.of_platform:
        into = _("Copy it into your task page on {platform} before you close this page.")
        then = into.format(platform=platform.title)
    return f"{shows} {then}"


def screened_out(design: Design) -> None:
    """Draw the note that the person is not eligible because of their answers, with the return link."""
    words = _("Thank you for your interest. Your answers show that this study is for other participants.")
    show_html(head_html(_("You cannot take part")) + prose_html(f"{words} {_('Your answers were not kept.')}"))
    left = gettext_noop("Press this button to return. It tells {place} why you left.")
    show_return_link(design, design.recruiting.screen_out_url, "", left)


def show_return_link(design: Design, address: str, code: str, words: str) -> None:
    """Draw the return link to the recruiting platform with this sentence; draw nothing if the address is empty."""
    platform = design.recruiting.of_platform
    if not address:
        return
    found = design.recruiting.way_back(address, participant_outside_id(), code)
    if found:
        title = _("Return to {platform}").format(platform=platform.title) if platform else _("Return")
        place = platform.title if platform else _("the page you came from")
        show_html(prose_html(_(words).format(place=place)) + return_link_html(title, found))
    else:
        lost = _(
            "You can only return from the browser that you started in. Open this page there, or ask the researchers."
        )
        show_html(prose_html(lost))


def declined(design: Design) -> None:
    """Draw the note that the person declined, with the return link."""
    kept, then = _("We store only that a person declined, and when."), _("You can close this page.")
    if design.recruiting.return_url:
        then = ""
    elif platform := design.recruiting.of_platform:
        returned = _("Please also return your place on {platform}, so that another person can take it.")
        then = returned.format(platform=platform.title)
    show_html(head_html(_("You do not take part")) + prose_html(f"{kept} {then}".strip()))
    _return(design)


def withdrawn(design: Design | None = None) -> None:
    """Draw the note that the participant has withdrawn, with the return link."""
    closing = _("There is nothing more to do. You can close this page.")
    returns = design is not None and bool(design.recruiting.return_url)
    show_html(head_html(_("You have withdrawn")) + ("" if returns else prose_html(closing)))
    if design:
        _return(design)


def _return(design: Design) -> None:
    left = gettext_noop("Press this button to return. It tells {place} that you do not take part.")
    show_return_link(design, design.recruiting.return_url, "", left)


_NEXT = {
    "again": gettext_noop("The agents get your decisions and retry the tasks that failed. The next round follows."),
    "words": gettext_noop(
        "The agents get your decisions and feedback, and retry the tasks that failed. The next round follows."
    ),
    "end": gettext_noop("The agents get your last decisions. Then this part is done."),
}


def _what_follows(position: AtRoundEnd) -> str:
    if position.trial >= position.trials:
        return "end"
    return "words" if position.run and position.run.feedback_mode == "nl" else "again"


@st.fragment(run_every=_CHECK_EVERY_S)
def _check_again() -> None:
    participant_id = st.session_state.get("participant_id")
    shown = st.session_state.get("shown_kind")
    if participant_id and steps.find_position(participant_id).kind != shown:
        st.rerun(scope="app")


@st.fragment(run_every=1)
def _clock(until_ms: int) -> None:
    left_ms = until_ms - now_ms()
    show_html(clock_html(left_ms))
    if left_ms <= 0:
        st.rerun(scope="app")


def welcome() -> None:
    """Draw instructions for joining a study, for a visitor without a participant's secret."""
    if message := actions.flash_html():
        show_html(message)
    if st.session_state.get("left"):
        withdrawn(st.session_state.get("left_study"))
        return
    words = _("Open the link you received, or enter the code of the study.")
    show_html(head_html(_("Take part in a study")) + prose_html(words))
    st.link_button(_("Enter code"), "/join", type="primary")


def leave_button() -> None:
    """Draw the button that opens the page for leaving or withdrawing."""
    with st.container(key="ia-who"):
        st.button(_("Leave or withdraw"), key="leave", type="tertiary", on_click=_set_leaving, args=("asked",))


def is_leaving() -> bool:
    """Return whether this tab shows the page for leaving."""
    return bool(st.session_state.get("leaving"))


def leave_page(participant: tables.Participant, design: Design) -> None:
    """Draw the page for leaving: the personal link for later, and withdrawal."""
    show_html(head_html(_("Take a break")) + points_html([*map(_, _AWAY)]))
    st.code(_link(), language=None, wrap_lines=True)
    continue_button(_("Continue the study"), "stay", _set_leaving, None)
    show_html(consent_link_html())
    show_html(
        f'<div class="ia-rule"></div>{head_html(_("Withdraw"))}{prose_html(_(_WITHDRAWAL[design.consent.withdrawal]))}'
    )
    if st.session_state.get("leaving") == "sure":
        sure = _("Confirm withdrawal (cannot be undone)")
        st.button(sure, key="withdraw-for-good", on_click=step, args=(_withdraw, participant.id, design))
    else:
        st.button(_("Withdraw from the study"), key="withdraw", on_click=_set_leaving, args=("sure",))


_AWAY = (
    gettext_noop(
        "You can close this page at any time. Your progress is saved. To continue, open the study in this browser."
    ),
    gettext_noop("To continue in another browser, open this link there. The link is personal: do not share it."),
)
_WITHDRAWAL = {
    "remove": gettext_noop("You do not have to give a reason. Your decisions, feedback and other data are deleted."),
    "anonymise": gettext_noop(
        "You do not have to give a reason. Your answers about yourself are deleted. "
        "Your decisions are kept without anything that identifies you."
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
