"""The study, as its participant goes through it; one stage at a time, whatever tab or browser it is opened in."""

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from console.studies.sessions import steps
from console.studies.sessions.steps import Position
from console.web.participant import item, join_leave, onboarding, rounds, session
from console.web.review import actions
from storage import tables

_ITEMS = ("review", "probe", "practice")
_GONE = ("declined", "withdrawn")


def _stages(place: Position, who: tables.Participant) -> Mapping[str, Callable[[], None]]:
    """What is drawn for each kind of place."""
    design, id = place.design, who.id or 0
    if design is None:
        return {"withdrawn": rounds.withdrawn}
    environment = design.source.environment
    return {
        "consent": lambda: onboarding.consent(design, id),
        "questions": lambda: onboarding.questions(design.demographics, id),
        "instructions": lambda: onboarding.instructions(design.instructions, environment, id),
        "practice": lambda: item.practice(place, who.code),
        "practice_answer": lambda: item.practice_answer(place, who.code, id),
        "introduction": lambda: rounds.introduction(place, design, id),
        "review": lambda: item.item(place, who.code),
        "probe": lambda: item.item(place, who.code),
        "round_over": lambda: rounds.round_over(place, id),
        "agents_working": rounds.agents_working,
        "break": lambda: rounds.pause(place.until_ms or 0, place, id),
        "paused": lambda: rounds.paused(place),
        "finished": lambda: rounds.finished(place.completion_code),
        "declined": rounds.declined,
        "withdrawn": rounds.withdrawn,
    }


def _show(who: tables.Participant) -> None:
    place = steps.where(who.id or 0)
    st.session_state["shown_kind"], st.session_state["participant_id"] = place.kind, who.id
    draw = _stages(place, who)[place.kind]
    leaving = join_leave.is_leaving()
    if place.kind not in _GONE and not leaving:
        join_leave.corner()
    if place.design and leaving:
        draw = partial(join_leave.leaving, who, place.design.consent.withdrawal)
    elif place.kind in _ITEMS:
        draw()
        return
    st.session_state["looking_back"] = None
    if place.kind == "practice_answer":
        st.session_state.pop("done", None)
    with session.stage():
        if said := actions.flash_html():
            st.html(said)
        draw()


participant = session.me()
if participant is None:
    with session.stage():
        join_leave.welcome()
else:
    session.keep_cookie(participant)
    _show(participant)
