"""Onboarding of a participant: consent, questions, instructions with an example, and the rules of each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import streamlit as st

from console.database import reading
from console.language import _, gettext_noop, ngettext
from console.review.presentation import checkpoint_presentation
from console.studies.design import Design, conditions, varied_factors
from console.studies.design.factors import FACTORS, is_unattended
from console.studies.design.instruments import MOST_CHARACTERS
from console.studies.design.model import IntakeQuestion
from console.studies.design.part import Quiz
from console.studies.sessions import joining
from console.studies.sessions.condition_run import page_levels
from console.studies.sessions.lifecycle import design_of
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.trajectory.strict_yaml import read_data
from console.web.participant import session
from console.web.participant.session import continue_button
from console.web.visitor_language import language_buttons
from console.web.widgets.markup import plain, show_html
from console.web.widgets.participant_stage import (
    consent_link_html,
    explain_html,
    formatted_prose_html,
    head_html,
    label_words,
    points_html,
    prose_html,
    question_html,
)
from console.web.widgets.trajectory_view import presentation_html
from storage import tables


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """An example item with its correct decision and explanation."""

    instruction: str
    steps: tuple[Step, ...]
    action: str
    answer: str
    why: str


@dataclass(frozen=True, slots=True)
class OnboardingTexts:
    """The texts of the onboarding: withdrawal, recorded data, levels of each factor, instructions, examples."""

    withdrawal: dict[str, str]
    recorded: dict[str, str]
    levels: dict[str, dict[str, str]]
    how: tuple[str, ...]
    examples: dict[str, WorkedExample]


_TEXTS = read_data(files(__package__) / "onboarding.yaml", OnboardingTexts)


def consent(design: Design, participant_id: int) -> None:
    """Draw the consent form of the design; Enter does not press the button `I agree`."""
    text = formatted_prose_html(design.consent.text) + points_html(consent_facts(design))
    show_html(head_html(_("Before you take part")) + text + consent_link_html())
    with st.container(horizontal=True):
        answer = (joining.consent, participant_id)
        st.button(_("I agree"), key="accept", type="primary", on_click=session.step, args=(*answer, True))
        st.button(_("I do not agree"), key="decline", on_click=session.step, args=(*answer, False))
        if design.language is None:
            language_buttons()


def consent_facts(design: Design) -> list[str]:
    """Return the sentences below the consent text: duration, withdrawal and recorded data."""
    told = ["away", *(["trace"] if design.interaction_trace else [])]
    recorded = [_(_TEXTS.recorded[name]) for name in told]
    if platform := design.recruiting.of_platform:
        recorded.append(_(_TEXTS.recorded["outside"]).format(platform=platform.title))
    return [*_extent(design), _(_TEXTS.withdrawal[design.consent.withdrawal]), *recorded]


def questions(asked: Sequence[IntakeQuestion], participant_id: int) -> None:
    """Draw the questions of the design as plain text."""
    show_html(head_html(_("A few questions")))
    with st.form("questions", border=False):
        for question in asked:
            _field(question)
        session.submit_button("answered", _keep_answers, asked, participant_id)


def quiz(asked: Quiz, participant_id: int) -> None:
    """Draw the quiz on the instructions, with the number of tries that are left."""
    with reading() as found:
        used = joining.count_tries(found, found.get_one(tables.Participant, participant_id))
    left = max(asked.tries - used, 0)
    tries = ngettext("You have {count} try left.", "You have {count} tries left.", left).format(count=left)
    words = f"{_('Answer every question correctly to take part.')} {tries}"
    show_html(head_html(_("A short quiz")) + prose_html(words))
    with st.form(f"quiz-{used}", border=False):
        for one in asked.questions:
            show_html(question_html(one.question, optional=False))
            key = _quiz_key(used, one.key)
            st.radio(label_words(one.question), one.choices, index=None, key=key, label_visibility="collapsed")
        session.submit_button(f"quizzed-{used}", _keep_quiz, asked, used, participant_id)
    with st.expander(_("Read the instructions again")):
        with reading() as found:
            design = design_of(found.get_one(tables.Study, found.get_one(tables.Participant, participant_id).study_id))
        show_html(prose_html(design.instructions) + points_html([*map(_, _TEXTS.how)]))


def _quiz_key(used: int, key: str) -> str:
    return f"quiz-{used}-{key}"


def _keep_quiz(asked: Quiz, used: int, participant_id: int) -> None:
    answers = {one.key: str(st.session_state.get(_quiz_key(used, one.key)) or "") for one in asked.questions}
    session.step(joining.take_quiz, participant_id, answers)


def _extent(design: Design) -> list[str]:
    """Return sentences on the number of parts, tasks and rounds, on breaks, and on leaving the page."""
    attended = [one for one in conditions(design) if not is_unattended(one.levels)]
    parts = len(attended) if design.comparison == "within" else 1
    said, rest = [], f"{design.break_minutes:g}"
    if parts > 1:
        said.append(_("The study has {count} parts.").format(count=parts))
        works = ngettext(
            "In each part, agents work on {count} task.", "In each part, agents work on {count} tasks.", design.tasks
        )
    else:
        works = ngettext("Agents work on {count} task.", "Agents work on {count} tasks.", design.tasks)
    said.append(works.format(count=design.tasks))
    if design.trials > 1:
        said.append(
            _("Agents retry the tasks that failed. There are at most {count} rounds.").format(count=design.trials)
        )
    if parts > 1 and rest != "0" and not design.washout_hours:
        pause = _("Between two parts, you can take a break of up to {count} minutes.").format(count=rest)
        said.append(_("Between two parts, you can take a break of up to 1 minute.") if rest == "1" else pause)
    if parts > 1 and (wait := design.washout_hours):
        later = _("Each further part starts at least {count} h after the end of the previous part.")
        said.append(later.format(count=f"{wait:g}"))
    return [" ".join(said), _("You can close the page at any time. Your progress is saved.")]


def _field(question: IntakeQuestion) -> None:
    show_html(question_html(question.question, optional=not question.required))
    # The question itself is above, as plain text.
    label, key = label_words(question.question), f"question-{question.key}"
    if question.kind == "choice":
        st.selectbox(
            label, question.choices, index=None, placeholder=_("Choose"), key=key, label_visibility="collapsed"
        )
    elif question.kind == "number":
        st.number_input(label, value=None, key=key, label_visibility="collapsed", width=200)
    else:
        st.text_input(label, key=key, label_visibility="collapsed", max_chars=MOST_CHARACTERS)


def _keep_answers(asked: Sequence[IntakeQuestion], participant_id: int) -> None:
    given = {question.key: st.session_state.get(f"question-{question.key}") for question in asked}
    answers = {key: f"{value:.15g}" if isinstance(value, float) else str(value or "") for key, value in given.items()}
    session.step(joining.store_intake_answers, participant_id, answers)


SAME = gettext_noop("The tasks are new. Everything else stays the same.")
OTHERS = gettext_noop("The tasks are new.")
DETECTOR = gettext_noop("An automatic check, the detector, flags actions that may be wrong.")


def points(design: Design, levels: Mapping[str, str], *, first: bool) -> list[str]:
    """Return sentences that introduce a part: the levels of the factors that vary, the rounds and the budget."""
    levels = page_levels(design, levels)
    sentences = [
        _(words) for name in varied_factors(design) if (words := _TEXTS.levels.get(name, {}).get(levels[name]))
    ]
    about = [] if first else [_(OTHERS if sentences else SAME)]
    if "shown" in (levels.get(name, FACTORS[name].default) for name in ("detector_name", "score", "explanation")):
        about.append(_(DETECTOR))
    sentences = [*about, *sentences]
    if design.trials > 1:
        many = _("There are at most {count} rounds. Between two rounds, the agents retry the tasks that failed.")
        sentences.append(many.format(count=design.trials))
    if design.budget is not None:
        # No number: the limit in the line includes seeded items, which participants must not be able to count.
        sentences.append(_("You cannot review every item. The line above an item shows how many reviews are left."))
    return sentences


def instructions(text: str, environment: str | None, participant_id: int) -> None:
    """Draw the design's instructions and the environment's example, or the webshop example if there is none."""
    shown = environment if environment in _TEXTS.examples else "webshop"
    example = _TEXTS.examples[shown]
    steps = example.steps
    checkpoint = Checkpoint(
        shown, example.instruction, "", steps, len(steps), CheckpointKind.ACTION, action=example.action
    )
    show_html(head_html(_("How it works")) + prose_html(text) + points_html([*map(_, _TEXTS.how)]))
    drawn = presentation_html(checkpoint_presentation(checkpoint, highlights=False))
    right = explain_html("", _(example.answer), _(example.why), agrees=True)
    named = plain(_("An example"))
    show_html(f'<section class="ia-example" aria-label="{named}"><h2>{named}</h2>{drawn}{right}</section>')
    continue_button(_("Continue"), "instructed", joining.finish_instructions, participant_id)
