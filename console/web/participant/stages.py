"""The stages of a participant between items: introduction of a part, end of a round, a break, the end of the study."""

from __future__ import annotations

import orjson
import streamlit as st

from console.database import now_ms
from console.language import _, gettext_noop
from console.studies.design import Design
from console.studies.sessions import steps
from console.studies.sessions.position import Position
from console.web.participant import session
from console.web.participant.onboarding import points
from console.web.participant.session import continue_button
from console.web.review import own_items
from console.web.sign_in import participant_outside_id
from console.web.widgets.participant_stage import (
    clock_html,
    consent_link_html,
    formatted_prose_html,
    head_html,
    points_html,
    prose_html,
    way_back_html,
)
from storage.tables import StudyStatus

_CHECK_EVERY_S = 3


def part_of(position: Position) -> str:
    """Which part of the study this is, empty where there is only one."""
    words = _("Part {number} of {count}").format(number=position.condition, count=position.conditions)
    return words if position.conditions > 1 else ""


def round_of(position: Position) -> str:
    """Which round of the part this is, empty where there is only one."""
    words = _("Round {number} of {count}").format(number=position.trial, count=position.trials)
    return words if position.trials > 1 else ""


def introduction(position: Position, design: Design, participant_id: int) -> None:
    """What this part is like; the agents' first try is played when it is begun."""
    task = f"begin {position.condition}"
    session.run_work(task, _("The agents begin"), steps.begin, participant_id)
    levels = orjson.loads(position.assignment.levels) if position.assignment else {}
    sentences = points(design, levels, first=position.condition == 1)
    st.html(head_html(part_of(position) or _("Now it begins")) + points_html(sentences))
    continue_button(_("Begin"), f"begin-{position.condition}", session.request_work, task)


def round_over(position: Position, participant_id: int) -> None:
    """The end of a round; what was decided goes to the agents when it is handed over."""
    task = f"hand-over-{position.condition}-{position.trial}"
    last = position.trial >= position.trials
    words = _("Your answers are on their way") if last else _("The agents try again")
    session.run_work(task, words, steps.hand_over, participant_id)
    if position.assignment and position.run:
        own_items.set_reviewed_runs(position.assignment.run_id, position.assignment.checks_run_id)
    title = _("Round {number} is done").format(number=position.trial) if position.trials > 1 else _("This part is done")
    st.html(head_html(title, over=part_of(position)) + prose_html(_(_NEXT[_what_follows(position)])))
    continue_button(_("Hand over"), task, session.request_work, task, undoes=position.run is not None)


def agents_working() -> None:
    """Another tab has set the agents to work, or this one had; checks every few seconds whether they are done."""
    words = _("This page goes on by itself when they are done.")
    st.html(head_html(_("The agents are at work")) + prose_html(words))
    _check_again()


def pause(until_ms: int, position: Position, participant_id: int) -> None:
    """A break that ends by itself or when the participant says so."""
    done = _("{done} of {count} parts are done").format(done=position.condition - 1, count=position.conditions)
    st.html(head_html(_("Time for a break"), over=done))
    if position.sentence:
        st.html(prose_html(position.sentence))
    _clock(until_ms)
    if not position.sentence:
        continue_button(_("Go on now"), f"end-break-{position.condition}", steps.end_break, participant_id)


def paused(position: Position) -> None:
    """The study itself stands still, for a while or for good."""
    over = position.study is not None and position.study.status == StudyStatus.CLOSED
    st.html(head_html(_("The study is over") if over else _("A moment's rest")) + prose_html(position.sentence))
    if not over:
        _check_again()


def finished(position: Position) -> None:
    """Thanks, what the study was about, the way back, and the code that proves that one has taken part."""
    design, code = position.design, position.completion_code
    debriefing = formatted_prose_html(design.debriefing.text) if design else ""
    st.html(head_html(_("Thank you, that was all")) + debriefing)
    if design is None:
        return
    done = gettext_noop("Go back by this button: it tells {place} that you have finished.")
    way_back(design, design.recruiting.completion_url, code or "", done)
    if code:
        st.html(prose_html(_what_for(design)))
        st.code(code, language=None, width=260)
    if design.consent.text.strip():
        st.html(consent_link_html())


def _what_for(design: Design) -> str:
    """What the participant's own code is for."""
    shows, then = _("This code shows that you have taken part to the end."), _("Copy it before you close the page.")
    if design.recruiting.completion_url:
        then = _("Copy it before you close the page, in case anything goes wrong.")
    elif platform := design.recruiting.of_platform:
        into = _("Copy it into the page of your task on {platform} before you close this one.")
        then = into.format(platform=platform.title)
    return f"{shows} {then}"


def screened_out(position: Position) -> None:
    """Whom an answer keeps from taking part is told so, and led back."""
    words = _("Thank you for your interest. By your answers you are not among those whom this study is about.")
    st.html(head_html(_("You cannot take part")) + prose_html(f"{words} {_('Your answers were not kept.')}"))
    if position.design:
        left = gettext_noop("Go back by this button: it tells {place} why you left.")
        way_back(position.design, position.design.recruiting.screen_out_url, "", left)


def way_back(design: Design, address: str, code: str, words: str) -> None:
    """The link back to where the participant came from, with words on what it tells there; nothing without one."""
    platform = design.recruiting.of_platform
    if not address:
        return
    found = design.recruiting.way_back(address, participant_outside_id(), code)
    if found:
        title = _("Back to {platform}").format(platform=platform.title) if platform else _("Go back")
        place = platform.title if platform else _("the page that you came from")
        st.html(prose_html(_(words).format(place=place)) + way_back_html(title, found))
    else:
        lost = _("The way back needs the browser in which you came. Open this page there, or ask the researchers.")
        st.html(prose_html(lost))


def declined(position: Position) -> None:
    """Nobody who does not agree takes part; whom a platform sent has a place there to give back too."""
    kept, then = _("All that is kept is that somebody declined, and when they came."), _("You can close this page.")
    if position.design and position.design.recruiting.return_url:
        then = ""
    elif position.design and (platform := position.design.recruiting.of_platform):
        returned = _("Please return your place on {platform} too, so that somebody else can take it.")
        then = returned.format(platform=platform.title)
    st.html(head_html(_("You do not take part")) + prose_html(f"{kept} {then}".strip()))
    if position.design:
        _return(position.design)


def withdrawn(design: Design | None = None) -> None:
    """Whoever has withdrawn is asked nothing more but to give their place on a platform back."""
    closing = _("Nothing more is asked of you. You can close this page.")
    returns = design is not None and bool(design.recruiting.return_url)
    st.html(head_html(_("You have withdrawn")) + ("" if returns else prose_html(closing)))
    if design:
        _return(design)


def _return(design: Design) -> None:
    left = gettext_noop("Go back by this button: it tells {place} that you do not take part.")
    way_back(design, design.recruiting.return_url, "", left)


_NEXT = {
    "again": gettext_noop(
        "The agents now get your answers and try again what did not succeed. The next round follows."
    ),
    "words": gettext_noop(
        "The agents now get your answers and your words, and try again what did not succeed. The next round follows."
    ),
    "end": gettext_noop("The agents now get your last answers. Then this part is done."),
}


def _what_follows(position: Position) -> str:
    if position.trial >= position.trials:
        return "end"
    return "words" if position.run and position.run.feedback_mode == "nl" else "again"


@st.fragment(run_every=_CHECK_EVERY_S)
def _check_again() -> None:
    participant_id = st.session_state.get("participant_id")
    shown = st.session_state.get("shown_kind")
    if participant_id and steps.where(participant_id).kind != shown:
        st.rerun(scope="app")


@st.fragment(run_every=1)
def _clock(until_ms: int) -> None:
    left_ms = until_ms - now_ms()
    st.html(clock_html(left_ms))
    if left_ms <= 0:
        st.rerun(scope="app")
