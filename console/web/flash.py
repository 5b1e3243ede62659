"""Flash messages: what a form did or why it was refused, shown once on the page that follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from console.auth.origin import acting
from console.errors import ConsoleError
from console.web.sign_in import by_browser
from console.web.widgets.messages import refusal_words, show_done, show_problem
from storage.errors import StorageError


def show_messages() -> None:
    """Shows once what the last form did."""
    for sentence in st.session_state.pop("run_done", []):
        show_done(sentence)
    for sentence in st.session_state.pop("run_problems", []):
        show_problem(sentence)


def flash(*messages: tuple[bool, str]) -> None:
    """Keeps sentences, each with whether it is good news, for the next run of the page."""
    for good, sentence in messages:
        key = "run_done" if good else "run_problems"
        st.session_state[key] = [*st.session_state.get(key, []), sentence]


def guarded(action: Callable[..., None], *arguments: Any) -> None:
    """Does it; a refusal stands on the page as it is."""
    try:
        with acting(by_browser()):
            action(*arguments)
    except (ConsoleError, StorageError) as refusal:
        show_problem(refusal_words(refusal))
