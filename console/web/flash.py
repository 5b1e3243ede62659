"""Flash messages: results of a form, each shown once on the next run of the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import streamlit as st

from console.auth.audit_log import acting
from console.errors import ConsoleError
from console.web.sign_in import by_browser
from console.web.widgets.messages import refusal_words, show_done, show_problem
from storage.errors import StorageError


def show_messages() -> None:
    """Draw the stored messages of the last form, then delete them."""
    for sentence in st.session_state.pop("run_done", []):
        show_done(sentence)
    for sentence in st.session_state.pop("run_problems", []):
        show_problem(sentence)


def flash(*messages: tuple[bool, str]) -> None:
    """Store pairs (message, whether the message reports success) for the next run of the page."""
    for good, sentence in messages:
        key = "run_done" if good else "run_problems"
        st.session_state[key] = [*st.session_state.get(key, []), sentence]


def finish(*sentences: str) -> NoReturn:
    """Run the page again with these results at its top."""
    flash(*((True, sentence) for sentence in sentences))
    st.rerun()


@contextmanager
def refusals_shown() -> Iterator[None]:
    """Act as the signed-in person; if the action is refused, draw the reason."""
    try:
        with acting(by_browser()):
            yield
    except (ConsoleError, StorageError) as refusal:
        show_problem(refusal_words(refusal))
