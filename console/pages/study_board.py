"""The board of a study: its state, the link for participants, who is where, and what the researcher can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import streamlit as st

from console.database import now_ms, reading
from console.pages import study_people
from console.pages.beginning import bar_of
from console.pages.said import guarded, note
from console.studies.sessions import lifecycle, simulated
from console.studies.sessions.progress import board
from console.widgets.rows_table import show_rows
from storage import tables
from storage.tables import ParticipantKind, StudyStatus

_SECONDS = 5
"""Between two looks at the database while the board is open."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What a researcher can make of a study: the button, what it does, what is said then."""

    label: str
    make: Callable[[str], tables.Study]
    said: str


_CHANGES: dict[str, tuple[_Change, ...]] = {
    StudyStatus.DRAFT: (_Change("Open it", lifecycle.open_study, "is open: people can join now."),),
    StudyStatus.OPEN: (_Change("Pause", lifecycle.pause, "is paused: everybody keeps their place."),),
    StudyStatus.PAUSED: (_Change("Go on", lifecycle.open_study, "is open again."),),
    StudyStatus.CLOSED: (),
}
_MEANING = {
    StudyStatus.DRAFT: "Draft: nobody can join yet.",
    StudyStatus.OPEN: "Open: people can join and work.",
    StudyStatus.PAUSED: "Paused: everybody keeps their place and waits.",
    StudyStatus.CLOSED: "Closed: nobody can go on.",
}


def show(study: tables.Study) -> None:
    """Draws the state of the study, the link for participants, and everybody's place."""
    design = lifecycle.design_of(study)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(_MEANING[StudyStatus(study.status)], width="content")
        for change in _CHANGES[StudyStatus(study.status)]:
            if st.button(change.label, key=f"study-{change.label}"):
                guarded(_change, study.name, change)
        if study.status != StudyStatus.CLOSED:
            _closing(study)
    if design.participants.human and study.status != StudyStatus.CLOSED:
        _link(study)
    _people(study.id or 0)
    with reading() as session:
        rows = board(session, study)
    with st.container(horizontal=True):
        _simulating(study, [row.kind for row in rows if row.stage != "finished"])
        study_people.withdrawing(study, rows)


def _change(name: str, change: _Change) -> None:
    change.make(name)
    note((True, f"{name} {change.said}"))
    st.rerun()


def _closing(study: tables.Study) -> None:
    with st.popover("Close …", key="closing"):
        st.text("A closed study stays closed: nobody can join or go on. What was done is kept.")
        if st.button("Close it for good", key="study-close"):
            guarded(_change, study.name, _Change("", lifecycle.close, "is closed."))


def _link(study: tables.Study) -> None:
    parts = urlsplit(st.context.url or "")
    base = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
    st.caption(f"People join by this link, or at /participate with the code {study.join_code}:")
    st.code(f"{base}/participate?join={quote(study.join_code)}", language=None)


@st.fragment(run_every=_SECONDS)
def _people(study_id: int) -> None:
    with reading() as session:
        rows = board(session, session.get_one(tables.Study, study_id))
    st.text(study_people.summary(rows, now_ms()))
    show_rows(
        [study_people.cells(row, now_ms()) for row in rows],
        study_people.TITLES,
        numbers=study_people.NUMBERS,
        label="Participants",
    )


def _simulating(study: tables.Study, open_kinds: Sequence[str]) -> None:
    people = open_kinds.count(ParticipantKind.HUMAN)
    machines = len(open_kinds) - people
    if not open_kinds or study.status == StudyStatus.CLOSED:
        return
    with st.popover("Simulate …", key="simulating", disabled=study.status != StudyStatus.OPEN, help=_why(study)):
        st.text(
            f"{machines} simulated participants are not finished. They go the way of people, through the same queue."
        )
        if st.button("Play the simulated participants", key="simulate", disabled=not machines):
            guarded(_simulate, study.name, False)
        st.text("A dry run plays people's free places as well; make it on a copy of the study, not on the real one.")
        if st.button("Dry run: play everybody", key="simulate-all", disabled=not people):
            guarded(_simulate, study.name, True)


def _why(study: tables.Study) -> str | None:
    return None if study.status == StudyStatus.OPEN else "Open the study first"


def _simulate(name: str, everybody: bool) -> None:
    tally = simulated.simulate(name, bar_of("conditions played"), all_places=everybody)
    played = f"{tally.participants} participants played through {tally.conditions} conditions"
    note((True, f"{played}: {tally.decisions} decisions."), *((False, problem) for problem in tally.problems))
    st.rerun()
