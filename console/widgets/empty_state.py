"""A page with nothing on it: what is empty, and what to do next."""

from __future__ import annotations

import streamlit as st

from console.widgets.markup import plain


def show_empty_state(title: str, what_next: str) -> None:
    """Draws the empty state; a button or link that does the next thing may follow it."""
    st.html(empty_state_html(title, what_next))


def empty_state_html(title: str, what_next: str) -> str:
    """The empty state as one line of HTML."""
    return f'<div class="ia-empty" role="status"><h2>{plain(title)}</h2><p>{plain(what_next)}</p></div>'
