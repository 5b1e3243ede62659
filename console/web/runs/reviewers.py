"""The people and groups who may review a run, on the Runs page."""

from __future__ import annotations

import streamlit as st

from console import runs
from console.auth import people
from console.auth.audit_log import acting
from console.database import now_ms, reading, writing
from console.errors import ConsoleError
from console.review import access
from console.review.access import GROUP
from console.web.flash import flash
from console.web.sign_in import by_browser
from console.web.widgets.messages import refusal_words
from storage import tables
from storage.errors import StorageError


def reviewers_form(run: tables.Run) -> None:
    """Draw the list of people and groups who may review the run, with a button that saves it."""
    if run.study_id is not None:
        st.caption("Only the participant reviews this run.")
        return
    with reading() as session:
        chosen = access.list_access(session, run)
        known = [person.name for person in people.list_people(session) if person.disabled_ms is None]
        known += [f"{GROUP}{name}" for name in people.list_groups(session)]
    key = f"reviewers-{run.id}"
    st.multiselect(
        "People and groups who review this run",
        list(dict.fromkeys([*known, *chosen])),
        default=chosen,
        key=key,
        placeholder="every reviewer",
    )
    st.caption("If the list is empty, every reviewer reviews the run. Researchers see the run in any case.")
    st.button("Save reviewers", key=f"save-{key}", on_click=_save, args=(run.name, key))


def _save(run_name: str, key: str) -> None:
    try:
        with acting(by_browser()), writing() as session:
            access.set_access(session, runs.get(session, run_name), st.session_state[key], now_ms())
        flash((True, f"The reviewers of {run_name} are saved."))
    except (ConsoleError, StorageError) as refusal:
        flash((False, refusal_words(refusal)))
