"""Messages on a page as escaped text: an empty state with the next step, a refusal, a result."""

from __future__ import annotations

from html import escape
from importlib.resources import files

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from console.language import _
from console.trajectory.strict_yaml import read_data
from console.web.widgets.markup import mark_names, name_keys, plain, show_html
from storage.errors import StorageError


def show_empty_state(title: str, what_next: str, page: str = "", *, level: int = 2) -> None:
    """Draw the empty state below the page's title, if given; the caller may add buttons or links for the next step.

    `level` is the level of the heading: 1 on a page without another title.
    """
    if page:
        st.title(page, anchor=False)
    heading = f"<h{level}>{plain(title)}</h{level}>"
    show_html(f'<div class="ia-empty" role="status">{heading}<p>{mark_names(what_next)}</p></div>')


def next_step_row() -> DeltaGenerator:
    """Return the row for the buttons and links below an empty state."""
    return st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center", key="what-now")


def show_problem(sentence: str) -> None:
    """Draw the problem as escaped text, because it may quote a file or a trajectory."""
    show_html(problem_html(sentence))


def problem_html(sentence: str) -> str:
    """Return a refusal as HTML."""
    lines = "".join(f"<p>{mark_names(line)}</p>" for line in sentence.splitlines() if line.strip())
    return f'<div class="ia-problem" role="alert">{lines}</div>'


def refusal_words(refusal: Exception) -> str:
    """Return the reason of a refusal in the visitor's language."""
    if isinstance(refusal, StorageError) and refusal.fields:
        return _(refusal.text).format(**refusal.fields)
    return _(str(refusal) or str(type(refusal).__doc__))


def show_done(sentence: str) -> None:
    """Draw the result of an action as escaped text."""
    show_html(done_html(sentence))


def done_html(sentence: str, timer: str = "") -> str:
    """Return the result of an action as HTML, followed by the HTML of a timer."""
    return f'<div class="ia-done" role="status">{" ".join(escape(sentence).split())}{timer}</div>'


GUIDES = read_data(files(__package__) / "guides.yaml", dict[str, dict[str, str]])
"""The tours and the list of shortcuts: a title or a key, and its sentence."""


def show_guide(name: str, heading: str, *more: str) -> None:
    """Draw the tour with this name, and the cards of `more` tours, below the heading."""
    card = "<li><b>{}</b><span>{}</span></li>"
    shown = [pair for one in (name, *more) for pair in GUIDES[one].items()]
    cards = "".join(card.format(name_keys(_(title)), name_keys(_(words))) for title, words in shown)
    show_html(f'<section aria-label="{plain(heading)}"><h2>{plain(heading)}</h2><ol>{cards}</ol></section>')
