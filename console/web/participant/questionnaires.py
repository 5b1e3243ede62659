"""Questionnaires of a participant, one instrument per page, and the confidence in a decision."""

from __future__ import annotations

import streamlit as st

from console.language import _, gettext_noop
from console.review import decisions
from console.studies.design.instruments import MOST_CHARACTERS, Instrument, InstrumentItem, answers_to, is_built_in
from console.studies.design.part import Moment
from console.studies.sessions import answering
from console.studies.sessions.position import AtConfidence, AtQuestionnaire
from console.web.participant import session
from console.web.participant.stages import name_part
from console.web.review import actions, own_items, shortcuts
from console.web.widgets.hotkeys import hotkeys, key_button
from console.web.widgets.markup import show_html
from console.web.widgets.participant_stage import ends_html, head_html, label_words, prose_html, question_html

_SURE_PX = 420
_WORDING = gettext_noop("The questions keep the wording of the published questionnaire.")


def questionnaire(position: AtQuestionnaire) -> None:
    """Draw the instrument at this position; Enter submits the answers."""
    asked = position.instrument
    if asked is None:
        return
    between = position.participant.stage == Moment.BETWEEN
    over = name_part(position) if between else ""
    show_html(head_html(_(asked.title), over=over) + prose_html(_translate(asked, asked.instructions)))
    first = asked.items[0].question
    if is_built_in(asked) and _(_WORDING) != _WORDING and _(first) == first:
        show_html(prose_html(_(_WORDING)))
    # The key includes the condition, so that the instrument is empty again after the next part.
    page = f"{asked.name}-{position.condition}"
    with st.form(f"instrument-{page}", border=False):
        for item in asked.items:
            _field(asked, item, page)
        session.submit_button(f"filled-in-{page}", _keep, asked, page, position.participant.id)


def confidence(position: AtConfidence) -> None:
    """Draw the question about the confidence in the last decision; number keys select an answer."""
    decision, design = position.answer, position.design
    own_items.set_reviewed_runs(position.assignment.run_id, position.assignment.checks_run_id)
    over = _("Your decision: {decision}").format(decision=decisions.name_decision(decision.decision))
    show_html(head_html(_("How sure are you?"), over=over))
    keys = {str(level): f"sure-{level}-{decision.id}" for level in range(1, design.confidence + 1)}
    most = design.confidence
    ends = _("1 = not at all"), _("{level} = completely").format(level=most)
    with st.container(key="ia-sure", width=_SURE_PX):
        show_html(ends_html(*ends))
        with st.container(horizontal=True, gap="small", key="ia-sure-points"):
            for level, key in keys.items():
                rate = (answering.store_confidence, position.participant.id, decision.id, int(level))
                st.button(level, key=key, on_click=session.step, args=rate, width="stretch")
    undo = f"undo-at-sure-{decision.id}"
    key_button(_("Undo"), "U", undo, actions.undo, None)
    said = _("How sure are you? Press 1 for not at all, up to {level} for completely.").format(level=most)
    hotkeys({**keys, "u": undo}, item_id=f"sure-{decision.id}", enabled=shortcuts.are_enabled(), said=said)


def _translate(instrument: Instrument, text: str) -> str:
    """Translate a text of a built-in instrument; leave a researcher's text as it is."""
    return _(text) if text and is_built_in(instrument) else text


def _field(instrument: Instrument, item: InstrumentItem, page: str) -> None:
    scale, low, high = instrument.scale, "", ""
    if item.kind == "scale":
        low = _translate(instrument, item.low_label or scale.low_label)
        high = _translate(instrument, item.high_label or scale.high_label)
    first, last = scale.low, scale.high
    shown = [f"{first} = {low}", f"{last} = {high}"] if low or high else ["", ""]
    question = _translate(instrument, item.question)
    ends = _("{first} is {low}, {last} is {high}.").format(first=first, low=low, last=last, high=high)
    spoken = f"{question} {ends}" if low or high else question
    show_html(question_html(question, optional=not item.required) + ends_html(*shown))
    # The question itself is above, as plain text.
    label = label_words(spoken)
    key = _key(item, page)
    if item.kind == "text":
        st.text_area(label, key=key, label_visibility="collapsed", max_chars=MOST_CHARACTERS)
        return
    name = f"ia-scale-{page}-{item.key}" if item.kind == "scale" else f"ia-choices-{page}-{item.key}"
    with st.container(key=name):
        options = answers_to(instrument, item)
        across = item.kind == "scale"
        st.radio(label, options, index=None, key=key, horizontal=across, label_visibility="collapsed", width="stretch")


def _keep(instrument: Instrument, page: str, participant_id: int) -> None:
    answers = {item.key: str(st.session_state.get(_key(item, page)) or "") for item in instrument.items}
    session.step(answering.fill_in, participant_id, instrument.name, answers)


def _key(item: InstrumentItem, page: str) -> str:
    return f"answer-{page}-{item.key}"
