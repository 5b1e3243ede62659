"""Learning the work: the instructions with a worked example, and practice items whose answer is explained."""

from __future__ import annotations

import streamlit as st

from console.pages.participating import onward
from console.pages.worked_examples import worked_example
from console.review.presentation import checkpoint_presentation
from console.studies.sessions import joining
from console.widgets.study_stage import explained_html, head_html, points_html, prose_html
from console.widgets.trajectory_view import exhibit_html

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
    drawn = exhibit_html(checkpoint_presentation(example.checkpoint, highlights=False))
    right = explained_html("", example.answer, example.why, agrees=True)
    st.html(f'<section class="ia-example" aria-label="An example"><h2>An example</h2>{drawn}{right}</section>')
    onward("Continue", "instructed", joining.instructed, participant_id)
