"""Study: the page of a participant, one stage at a time."""

from typing import assert_never

import streamlit as st

from console.studies.sessions import position, steps
from console.studies.sessions.stages import ParticipantStage
from console.web.participant import onboarding, questionnaires, session, stages
from console.web.review import actions
from console.web.visitor_language import follow_study
from console.web.widgets.browser import show_from_top
from console.web.widgets.markup import show_html
from storage import tables


def _draw(at: position.Position, who: tables.Participant) -> None:
    id = who.id or 0
    match at:
        case position.AtOnboarding(kind=ParticipantStage.CONSENT):
            onboarding.consent(at.design, id)
        case position.AtOnboarding(kind=ParticipantStage.QUESTIONS):
            onboarding.questions(at.design.demographics, id)
        case position.AtOnboarding(kind=ParticipantStage.QUIZ):
            onboarding.quiz(at.design.quiz, id)
        case position.AtOnboarding():
            onboarding.instructions(at.design.instructions, at.design.source.environment, id)
        case position.AtPracticeItem():
            stages.practice(at)
        case position.AtPracticeAnswer():
            stages.practice_answer(at)
        case position.AtIntroduction():
            stages.introduction(at)
        case position.AtItem():
            stages.item(at)
        case position.AtConfidence():
            questionnaires.confidence(at)
        case position.AtQuestionnaire():
            questionnaires.questionnaire(at)
        case position.AtRoundEnd():
            stages.round_over(at)
        case position.AtWaiting():
            stages.agents_working()
        case position.AtBreak():
            stages.pause(at)
        case position.AtPause():
            stages.draw_paused(at)
        case position.AtEnd():
            stages.draw_finished(at)
        case position.TurnedAway():
            if at.kind == ParticipantStage.DECLINED:
                stages.draw_declined(at.design)
            else:
                stages.draw_screened_out(at.design, at.kind)
        case position.Withdrawn():
            stages.draw_withdrawn()
        case _:
            assert_never(at)


def _stage_of(at: position.Position) -> str:
    """Return a text that identifies the participant's stage."""
    instrument = at.instrument.name if isinstance(at, position.AtQuestionnaire) and at.instrument else ""
    part = at.condition if isinstance(at, position.InPart) else 0
    return f"{at.kind} {part} {at.trial if isinstance(at, position.InRound) else 0} {instrument}"


def _show(who: tables.Participant) -> None:
    session.signal_presence(who)
    at = steps.find_position(who.id or 0)
    st.session_state["shown_kind"], st.session_state["participant_id"] = at.kind, who.id
    follow_study(at.design.language if at.design else None)
    leaving = stages.is_leaving()
    if not isinstance(at, position.TurnedAway | position.Withdrawn) and not leaving:
        stages.leave_button(over=isinstance(at, position.AtEnd))
    if isinstance(at, position.AtItem | position.AtPracticeItem) and not leaving:
        _draw(at, who)
        return
    st.session_state["looking_back"] = None
    if at.kind == "practice_answer":
        st.session_state.pop("done", None)
    show_from_top(f"{_stage_of(at)} {leaving}")
    if isinstance(at, position.AtPause) and st.session_state.get("refusal") == at.sentence:
        # The stage itself gives this reason.
        del st.session_state["refusal"]
    with session.column():
        if message := actions.flash_html():
            show_html(message)
        if at.design and leaving:
            stages.leave_page(who, at.design)
        else:
            _draw(at, who)


participant = session.current_participant()
if participant is None:
    with session.column():
        stages.welcome()
else:
    _show(participant)
