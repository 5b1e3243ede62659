"""Onboarding of a participant: consent, questions, instructions with a worked example, and what holds in each part."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from console.review.presentation import checkpoint_presentation
from console.studies.design import Design, conditions, varied
from console.studies.design.factors import unattended
from console.studies.design.model import IntakeQuestion
from console.studies.sessions import joining
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.web.participant import session
from console.web.participant.session import continue_button
from console.web.review import shortcuts
from console.web.widgets.hotkeys import hotkeys, key_label
from console.web.widgets.markup import plain
from console.web.widgets.participant_stage import explained_html, head_html, points_html, prose_html
from console.web.widgets.trajectory_view import presentation_html

_MOST_CHARACTERS = 2_000
_NOT_WORDS = re.compile(r"[^\w\s.,;?()'-]")


def consent(design: Design, participant_id: int) -> None:
    """The text of the design, how long it takes, what withdrawing does; Enter agrees to nothing."""
    facts = points_html([_extent(design), _WITHDRAWAL[design.consent.withdrawal]])
    st.html(head_html("Before you take part") + prose_html(design.consent.text) + facts)
    with st.container(horizontal=True):
        answer = (joining.consent, participant_id)
        st.button("I agree, take part", key="accept", type="primary", on_click=session.step, args=(*answer, True))
        st.button("I do not agree", key="decline", on_click=session.step, args=(*answer, False))


def questions(asked: Sequence[IntakeQuestion], participant_id: int) -> None:
    """The design's questions, each drawn as plain text."""
    st.html(head_html("A few questions"))
    with st.form("questions", border=False):
        for question in asked:
            _field(question)
        st.form_submit_button(
            key_label("Continue", "Enter"),
            key="answered",
            type="primary",
            on_click=_keep_answers,
            args=(asked, participant_id),
        )
    hotkeys({"enter": "answered"}, item_id="questions", enabled=shortcuts.enabled())


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


def _keep_answers(asked: Sequence[IntakeQuestion], participant_id: int) -> None:
    given = {question.key: st.session_state.get(f"question-{question.key}") for question in asked}
    answers = {key: f"{value:.15g}" if isinstance(value, float) else str(value or "") for key, value in given.items()}
    session.step(joining.tell, participant_id, answers)


_SENTENCES: Mapping[tuple[str, str], str] = {
    ("feedback", "nl"): "You can tell the agent in your own words what is wrong; it reads them before it tries again.",
    ("feedback", "binary"): "You approve or reject. There is no field for words in this part.",
    ("score", "shown"): "Each item shows how strongly an automatic check doubts it.",
    ("score", "hidden"): "Items show no score in this part.",
    ("explanation", "shown"): "Each item says why it was picked out.",
    ("explanation", "hidden"): "Items do not say why they were picked out.",
    ("brief", "target"): "You are told what the user has in mind. Do not pass it on to the agent.",
    ("brief", "none"): "You know about the task what the user wrote, and no more.",
    ("highlights", "shown"): "Words of the task are marked where they occur in the steps.",
    ("highlights", "hidden"): "Nothing is marked in the texts.",
    ("detector_name", "shown"): "Each item names the check that picked it out.",
    ("earlier", "shown"): "From the second round on you also see what the agent did before.",
    ("earlier", "hidden"): "What the agent did in earlier rounds is not shown.",
}
SAME = "The tasks are new; everything else works as before."
OTHERS = "The tasks are new."


def points(design: Design, levels: Mapping[str, str], *, first: bool) -> list[str]:
    """The sentences on what holds in the part with these levels: only what differs between parts, and the budget."""
    sentences = [words for name in varied(design) if (words := _SENTENCES.get((name, levels[name])))]
    if not first:
        sentences.insert(0, OTHERS if sentences else SAME)
    return [*sentences, *_rounds(design.trials), *_reviews(design.budget)]


def _rounds(count: int) -> list[str]:
    many = f"There are {count} rounds. After each one the agents try again what did not succeed."
    return [many] if count > 1 else []


def _reviews(budget: str | None) -> list[str]:
    if budget is None:
        return []
    if not budget.isdecimal():
        return ["Not every item can be reviewed; the line above an item says how many reviews are left."]
    items = "1 item" if int(budget) == 1 else f"{budget} items"
    return [f"You can review at most {items} in a round; the line above an item says how many are left."]


Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A checkpoint, the right answer to it, and why."""

    checkpoint: Checkpoint
    answer: str
    why: str


def worked_example(environment: str | None) -> WorkedExample:
    """The example for that environment; that of a shop where it has none of its own."""
    return _EXAMPLES.get(environment or "", _EXAMPLES["webshop"])


def _example(environment: str, asked: str, steps: Steps, action: str, answer: str, why: str) -> WorkedExample:
    checkpoint = Checkpoint(environment, asked, "", steps, len(steps), CheckpointKind.ACTION, action=action)
    return WorkedExample(checkpoint, answer, why)


_EXAMPLES = {
    "webshop": _example(
        "webshop",
        "i need a green cotton apron with two pockets, and price lower than 20.00 dollars",
        (
            Step(
                "", "search[green cotton apron]", "Linen apron, one pocket, $14.00\nCotton apron, two pockets, $17.50"
            ),
            Step("", "click[Cotton apron, two pockets]", "color [green][navy]\nPrice: $17.50\n[Buy Now]"),
            Step("", "click[navy]", "You have clicked navy."),
        ),
        "click[Buy Now]",
        "Reject",
        "The material, the pockets and the price fit, but the agent chose navy in step 3 and the user asked for green. "
        "Good words to the agent: “You chose another color than the one asked for. Set the color before you buy.”",
    ),
    "hotpotqa": _example(
        "hotpotqa",
        "Which of the two bridges was opened first, the Harbour Bridge or the Mill Bridge?",
        (
            Step("", "Search[Harbour Bridge]", "The Harbour Bridge is a road bridge that was opened in 1932."),
            Step("", "Search[Mill Bridge]", "The Mill Bridge is a footbridge. It was opened in 1911."),
        ),
        "Finish[Harbour Bridge]",
        "Reject",
        "Both years stand in what the agent read: 1932 and 1911. It is about to name the later one. "
        "Good words to the agent: “Compare the two years again before you answer.”",
    ),
    "alfworld": _example(
        "alfworld",
        "put a clean bowl in shelf.",
        (
            Step("", "go to countertop 1", "On the countertop 1, you see a bowl 1, and a fork 2."),
            Step("", "take bowl 1 from countertop 1", "You pick up the bowl 1 from the countertop 1."),
            Step("", "go to shelf 1", "On the shelf 1, you see nothing."),
        ),
        "move bowl 1 to shelf 1",
        "Reject",
        "The user asked for a clean bowl, and no step cleans it. "
        "Good words to the agent: “The bowl has to be cleaned before it is put away.”",
    ),
}

_HOW = (
    "Read what the user asked and what the agent is about to do; the steps below show how it came there.",
    "Approve (A) if the action does what the user asked. Reject (X) if it does not; it is then not carried out.",
    "Where there is a field for words, say what is wrong and what to do differently, without giving the answer away. "
    "Ctrl+Enter in the field rejects with your words.",
    "An agent that got stuck waits for words, or for another try; nothing of it was carried out.",
    "U takes your latest answer back, S puts an item off, ? lists all keys.",
)


def instructions(text: str, environment: str | None, participant_id: int) -> None:
    """The design's own words, how items are answered, and one of them with its answer explained."""
    example = worked_example(environment)
    st.html(head_html("How it works") + prose_html(text) + points_html(_HOW))
    drawn = presentation_html(checkpoint_presentation(example.checkpoint, highlights=False))
    right = explained_html("", example.answer, example.why, agrees=True)
    st.html(f'<section class="ia-example" aria-label="An example"><h2>An example</h2>{drawn}{right}</section>')
    continue_button("Continue", "instructed", joining.instructed, participant_id)
