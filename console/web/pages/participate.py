"""The study, as its participant goes through it; one stage at a time, whatever tab or browser it is opened in."""

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from console.studies.sessions import steps
from console.studies.sessions.position import Position
from console.web.participant import item, join_leave, onboarding, questionnaires, session, stages
from console.web.review import actions
from console.web.visitor_language import follow_study
from storage import tables

_ITEMS = ("review", "probe", "practice")
_OUTSIDE = ("declined", "screened_out", "withdrawn")


def _stages(position: Position, who: tables.Participant) -> Mapping[str, Callable[[], None]]:
    """What is drawn for each kind of position."""
    design, id = position.design, who.id or 0
    if design is None:
        return {"withdrawn": stages.withdrawn}
    environment = design.source.environment
    return {
        "consent": lambda: onboarding.consent(design, id),
        "questions": lambda: onboarding.questions(design.demographics, id),
        "instructions": lambda: onboarding.instructions(design.instructions, environment, id),
        "practice": lambda: item.practice(position, who.code),
        "practice_answer": lambda: item.practice_answer(position, who.code, id),
        "introduction": lambda: stages.introduction(position, design, id),
        "review": lambda: item.item(position, who.code),
        "probe": lambda: item.item(position, who.code),
        "confidence": lambda: questionnaires.confidence(position, id),
        "questionnaire": lambda: questionnaires.questionnaire(position, id),
        "round_over": lambda: stages.round_over(position, id),
        "agents_working": stages.agents_working,
        "break": lambda: stages.pause(position.until_ms or 0, position, id),
        "paused": lambda: stages.paused(position),
        "finished": lambda: stages.finished(position),
        "screened_out": lambda: stages.screened_out(position),
        "declined": lambda: stages.declined(position),
        "withdrawn": stages.withdrawn,
    }


def _show(who: tables.Participant) -> None:
    session.signal_presence(who)
    position = steps.where(who.id or 0)
    st.session_state["shown_kind"], st.session_state["participant_id"] = position.kind, who.id
    follow_study(position.design.language if position.design else None)
    draw = _stages(position, who)[position.kind]
    leaving = join_leave.is_leaving()
    if position.kind not in _OUTSIDE and not leaving:
        join_leave.leave_button()
    if position.design and leaving:
        draw = partial(join_leave.leave_page, who, position.design)
    elif position.kind in _ITEMS:
        draw()
        return
    st.session_state["looking_back"] = None
    if position.kind == "practice_answer":
        st.session_state.pop("done", None)
    with session.column():
        if message := actions.flash_html():
            st.html(message)
        draw()


participant = session.current_participant()
if participant is None:
    with session.column():
        join_leave.welcome()
else:
    _show(participant)
