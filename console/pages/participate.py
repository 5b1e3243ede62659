"""The study, as its participant goes through it; one stage at a time, whatever tab or browser it is opened in."""

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from console.pages import asking, coming_and_going, deciding, participating, practising, study_item, study_rounds
from console.studies.sessions import steps
from console.studies.sessions.steps import Position
from storage import tables

_ITEMS = ("review", "probe", "practice")
_GONE = ("declined", "withdrawn")


def _stages(place: Position, who: tables.Participant) -> Mapping[str, Callable[[], None]]:
    """What is drawn for each kind of place."""
    design, id = place.design, who.id or 0
    if design is None:
        return {"withdrawn": study_rounds.withdrawn}
    environment = design.source.environment
    return {
        "consent": lambda: asking.consent(design, id),
        "questions": lambda: asking.questions(design.demographics, id),
        "instructions": lambda: practising.instructions(design.instructions, environment, id),
        "practice": lambda: study_item.practice(place, who.code),
        "practice_answer": lambda: study_item.practice_answer(place, who.code, id),
        "introduction": lambda: study_rounds.introduction(place, design, id),
        "review": lambda: study_item.item(place, who.code),
        "probe": lambda: study_item.item(place, who.code),
        "round_over": lambda: study_rounds.round_over(place, id),
        "agents_working": study_rounds.agents_working,
        "break": lambda: study_rounds.pause(place.until_ms or 0, place, id),
        "paused": lambda: study_rounds.paused(place),
        "finished": lambda: study_rounds.finished(place.completion_code),
        "declined": study_rounds.declined,
        "withdrawn": study_rounds.withdrawn,
    }


def _show(who: tables.Participant) -> None:
    place = steps.where(who.id or 0)
    st.session_state["shown_kind"], st.session_state["participant_id"] = place.kind, who.id
    draw = _stages(place, who)[place.kind]
    leaving = coming_and_going.is_leaving()
    if place.kind not in _GONE and not leaving:
        coming_and_going.corner()
    if place.design and leaving:
        draw = partial(coming_and_going.leaving, who, place.design.consent.withdrawal)
    elif place.kind in _ITEMS:
        draw()
        return
    st.session_state["looking_back"] = None
    if place.kind == "practice_answer":
        st.session_state.pop("done", None)
    with participating.stage():
        if said := deciding.flash_html():
            st.html(said)
        draw()


participant = participating.me()
if participant is None:
    with participating.stage():
        coming_and_going.welcome()
else:
    participating.keep_cookie(participant)
    _show(participant)
