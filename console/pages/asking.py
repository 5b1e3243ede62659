"""What a participant is asked before the first item: consent, and a few questions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from console.pages import keys, participating
from console.studies.design import Design, conditions
from console.studies.design.factors import unattended
from console.studies.design.model import IntakeQuestion
from console.studies.sessions import joining
from console.widgets.hotkeys import hotkeys, key_label
from console.widgets.markup import plain
from console.widgets.study_stage import head_html, points_html, prose_html

_MOST_CHARACTERS = 2_000
_NOT_WORDS = re.compile(r"[^\w\s.,;?()'-]")


def consent(design: Design, participant_id: int) -> None:
    """The text of the design, how long it takes, what withdrawing does; Enter agrees to nothing."""
    facts = points_html([_extent(design), _WITHDRAWAL[design.consent.withdrawal]])
    st.html(head_html("Before you take part") + prose_html(design.consent.text) + facts)
    with st.container(horizontal=True):
        answer = (joining.consent, participant_id)
        st.button("I agree, take part", key="accept", type="primary", on_click=participating.step, args=(*answer, True))
        st.button("I do not agree", key="decline", on_click=participating.step, args=(*answer, False))


def questions(asked: Sequence[IntakeQuestion], participant_id: int) -> None:
    """The design's questions, each drawn as plain text."""
    st.html(head_html("A few questions"))
    with st.form("questions", border=False):
        for question in asked:
            _field(question)
        st.form_submit_button(
            key_label("Continue", "Enter"), key="answered", type="primary", on_click=_tell, args=(asked, participant_id)
        )
    hotkeys({"enter": "answered"}, item_id="questions", enabled=keys.enabled())


_WITHDRAWAL: Mapping[str, str] = {
    "remove": "You can withdraw at any time, without a reason; all that you gave is then deleted.",
    "anonymise": "You can withdraw at any time, without a reason; your decisions are then kept without a name.",
}


def _extent(design: Design) -> str:
    parts = _parts(design)
    each = f"{design.tasks} tasks" if design.tasks != 1 else "1 task"
    rounds = f"{design.trials} rounds" if design.trials != 1 else "1 round"
    minutes = "1 minute" if design.break_minutes == 1 else f"{design.break_minutes:g} minutes"
    pause = f", with breaks of {minutes}" if design.break_minutes and parts > 1 else ""
    many = f"{parts} parts of" if parts > 1 else "one part of"
    return f"There are {many} {each} in {rounds}{pause}. You can close the page and come back whenever you like."


def _parts(design: Design) -> int:
    attended = [one for one in conditions(design) if not unattended(one.levels)]
    return len(attended) if design.comparison == "within" else 1


def _field(question: IntakeQuestion) -> None:
    optional = "" if question.required else " <small>(you may leave this out)</small>"
    st.html(f'<p class="ia-question">{plain(question.question)}{optional}</p>')
    # A label is read as Markdown, so that the question itself stands above as plain text.
    label, key = _NOT_WORDS.sub(" ", question.question), f"question-{question.key}"
    if question.kind == "choice":
        st.selectbox(label, question.choices, index=None, placeholder="Choose", key=key, label_visibility="collapsed")
    elif question.kind == "number":
        st.number_input(label, value=None, key=key, label_visibility="collapsed", width=200)
    else:
        st.text_input(label, key=key, label_visibility="collapsed", max_chars=_MOST_CHARACTERS)


def _tell(asked: Sequence[IntakeQuestion], participant_id: int) -> None:
    given = {question.key: st.session_state.get(f"question-{question.key}") for question in asked}
    answers = {key: f"{value:.15g}" if isinstance(value, float) else str(value or "") for key, value in given.items()}
    participating.step(joining.tell, participant_id, answers)
