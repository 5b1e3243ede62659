"""The board of a study: who is where, and what the researcher can do about it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from console.pages.said import guarded, note
from console.studies import creating
from storage import tables
from storage.tables import StudyStatus


def show(study: tables.Study) -> None:
    """Draws the state of the study, the link for participants, and everybody's place."""
    _status(study)
    _join_link(study)


_CHANGES: dict[str, tuple[tuple[str, Callable[[str], tables.Study], str], ...]] = {
    StudyStatus.DRAFT: (("Open to participants", creating.open_study, "People can join now."),),
    StudyStatus.OPEN: (("Pause", creating.pause, "Everybody is held where they are."),),
    StudyStatus.PAUSED: (("Go on", creating.open_study, "People can join and go on."),),
    StudyStatus.CLOSED: (),
}
_MEANING = {
    StudyStatus.DRAFT: "Draft: nobody can join yet.",
    StudyStatus.OPEN: "Open: people can join and work.",
    StudyStatus.PAUSED: "Paused: everybody keeps their place and waits.",
    StudyStatus.CLOSED: "Closed: it is over, nobody can go on.",
}


def _status(study: tables.Study) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(_MEANING[StudyStatus(study.status)])
        for label, change, said in _CHANGES[StudyStatus(study.status)]:
            if st.button(label, key=f"change-{label}", type="primary" if study.status != "open" else "secondary"):
                guarded(_change, study.name, change, said)


def _change(name: str, change: Callable[[str], tables.Study], said: str) -> None:
    change(name)
    note((True, f"{name}: {said}"))
    st.rerun()


def _join_link(study: tables.Study) -> None:
    st.code(study.join_code)
