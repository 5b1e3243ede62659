"""Messages on a page as plain text: an empty state with what to do next, a refusal, and what has just been done."""

from __future__ import annotations

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from console.language import _
from console.web.widgets.markup import plain


def show_empty_state(title: str, what_next: str) -> None:
    """Draws the empty state; a button or link that does the next thing may follow it."""
    st.html(empty_state_html(title, what_next))


def what_now() -> DeltaGenerator:
    """The row of buttons and links beneath an empty state."""
    return st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center", key="what-now")


def empty_state_html(title: str, what_next: str) -> str:
    """The empty state as one line of HTML."""
    return f'<div class="ia-empty" role="status"><h2>{plain(title)}</h2><p>{plain(what_next)}</p></div>'


def show_problem(sentence: str) -> None:
    """Draws the sentence; it may quote a file or a trajectory, so it is never read as Markdown."""
    st.html(problem_html(sentence))


def problem_html(sentence: str) -> str:
    """A refusal as one line of HTML."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in sentence.splitlines() if line.strip())
    return f'<div class="ia-problem" role="alert">{lines}</div>'


def refusal_words(refusal: Exception) -> str:
    """Why something was refused, in the reader's language where the catalogue has it."""
    return _(str(refusal) or str(type(refusal).__doc__))


def show_done(sentence: str) -> None:
    """Draws what has just been done, as plain text."""
    st.html(done_html(sentence))


def done_html(sentence: str) -> str:
    """What has just been done as one line of HTML."""
    return f'<div class="ia-done" role="status">{" ".join(escape(sentence).split())}</div>'
