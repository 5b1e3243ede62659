"""A refusal on the page: what, where, what to do, as plain text."""

from html import escape

import streamlit as st


def show_problem(sentence: str) -> None:
    """Draws the sentence; it may quote a file or a trajectory, so it is never read as Markdown."""
    st.html(problem_html(sentence))


def problem_html(sentence: str) -> str:
    """A refusal as one line of HTML."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in sentence.splitlines() if line.strip())
    return f'<div class="ia-problem" role="alert">{lines}</div>'


def show_done(sentence: str) -> None:
    """Draws what has just been done, as plain text."""
    st.html(done_html(sentence))


def done_html(sentence: str) -> str:
    """What has just been done as one line of HTML."""
    return f'<div class="ia-done" role="status">{" ".join(escape(sentence).split())}</div>'
