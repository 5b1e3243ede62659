"""The board of a study: its status, the link for participants, a row per participant, and its controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from urllib.parse import quote, urlsplit

import streamlit as st

from console.auth.audit_log import acting
from console.database import now_ms, reading
from console.language import counted
from console.runs.export.formats import as_csv
from console.studies.sessions import joining, lifecycle, simulated
from console.studies.sessions.lifecycle import read_pilot
from console.studies.sessions.progress import Row, read_board
from console.studies.sessions.stages import NOT_IN, ParticipantStage
from console.studies.sessions.withdrawal import withdraw
from console.trajectory.strict_yaml import read_data
from console.web.flash import finish, refusals_shown
from console.web.runs.new_run import show_progress
from console.web.sign_in import by_browser
from console.web.studies.form_parts import WORDS
from console.web.widgets.chart import download
from console.web.widgets.status import age
from console.web.widgets.tables import show_rows
from storage import tables
from storage.tables import ParticipantKind, StudyStatus

_WORDS = read_data(files(__package__) / "board.yaml", dict[str, dict[str, str]])
TITLES, _STAGES = _WORDS["titles"], _WORDS["stages"]
NUMBERS = ("decided", "waiting", "oldest", "budget", "seen")
_NOBODY = (ParticipantStage.FREE, ParticipantStage.WITHDRAWN, *NOT_IN)


def summary(rows: Sequence[Row], now_ms: int) -> str:
    """Return a sentence with the numbers of joined and finished participants and of pending items."""
    people = [row for row in rows if row.kind == ParticipantKind.HUMAN and row.stage != ParticipantStage.WITHDRAWN]
    machines = [row for row in rows if row.kind != ParticipantKind.HUMAN]
    inside = sum(row.stage not in _NOBODY for row in people)
    waiting, oldest = sum(row.waiting for row in rows), min((row.oldest_ms for row in rows if row.oldest_ms), default=0)
    since = f", oldest {age(now_ms - oldest)}" if waiting and oldest else ""
    taken = f"{inside} of {counted(len(people), 'person')} joined, {_finished(people)} finished; " if people else ""
    played = f"{_finished(machines)} of {len(machines)} simulated finished; " if machines else ""
    pending = f"{counted(waiting, 'item')} pending{since}" if any(row.run for row in rows) else ""
    return f"{taken}{played}{pending}".removesuffix("; ") + "."


def _finished(rows: Sequence[Row]) -> int:
    return sum(row.stage == ParticipantStage.FINISHED for row in rows)


def cells(row: Row, now_ms: int) -> dict[str, str]:
    """Return the cells of a participant's row as texts, by column."""
    inside = row.stage not in _NOBODY
    place = f"{row.number} of {row.conditions}" if inside else ""
    return {
        "code": row.code,
        "kind": WORDS["kinds"][row.kind],
        "stage": _STAGES.get(row.stage, row.stage.replace("_", " ")),
        "condition": f"{place}: {row.condition}" if row.condition else place,
        "trial": f"{row.trial} of {row.trials}" if row.trial else "",
        "decided": f"{row.decided:,}" if inside else "",
        "waiting": f"{row.waiting:,}" if row.run else "",
        "oldest": age(now_ms - row.oldest_ms) if row.oldest_ms and row.waiting else "",
        "budget": f"{row.budget_left:,} of {row.budget_cap:,}" if row.budget_left is not None else "",
        "seen": f"{age(now_ms - row.last_seen_ms)} ago" if row.last_seen_ms else "",
        "completion": row.completion_code or "",
    }


def withdrawing(study: tables.Study, rows: Sequence[Row]) -> None:
    """Draw the form that withdraws a participant."""
    inside = {row.code: row.participant_id for row in rows if row.stage not in _NOBODY}
    if not inside:
        return
    removes = lifecycle.design_of(study).consent.withdrawal == "remove"
    fate = (
        "All data of the participant is deleted"
        if removes
        else "The participant's decisions stay under a new pseudonym"
    )
    with st.popover("Withdraw participant…", key="withdrawing"):
        code = st.selectbox("Participant", list(inside), index=None, key="withdraw-code", placeholder="choose")
        st.text(f"{fate}, as the consent states. A withdrawal cannot be undone.")
        sure = st.checkbox(f"Confirm {code}" if code else "Confirm participant", key=f"sure-{code}")
        if st.button("Withdraw participant", key="withdraw", disabled=not (code and sure)) and code:
            with refusals_shown():
                withdraw(inside[code])
                finish(f"Withdrew {code}.")


_SECONDS = 5
"""Seconds between two updates of the board."""


_CHANGES: dict[str, tuple[str, Callable[[str], tables.Study], str]] = {
    StudyStatus.DRAFT: ("Open study", lifecycle.open_study, "is open. People can join now."),
    StudyStatus.OPEN: ("Pause study", lifecycle.pause, "is paused. Participants keep their places."),
    StudyStatus.PAUSED: ("Resume study", lifecycle.open_study, "is open again."),
}
"""The button, the action and the message of the change that each status allows; every open study can also be closed."""
_MEANING = {
    StudyStatus.DRAFT: "Draft: people cannot join yet.",
    StudyStatus.OPEN: "Open: people can work, and join while a place is free.",
    StudyStatus.PAUSED: "Paused: participants keep their places and cannot continue.",
    StudyStatus.CLOSED: "Closed: participants cannot continue.",
}
_WITHOUT_PEOPLE = {
    StudyStatus.DRAFT: "Draft: open the study to run its simulated participants.",
    StudyStatus.OPEN: "Open: simulated participants can work. No places are left for people.",
    StudyStatus.PAUSED: "Paused: simulated participants keep their places and cannot continue.",
}
"""The meaning of a status if the design has no places for people; other statuses mean the same."""
_FINISHED = "All participants have finished. Read the results, then close the study."


def show(study: tables.Study) -> None:
    """Draw the study's status, the link for participants, and their progress."""
    with reading() as session:
        rows = read_board(session, study)
    # A dry run takes the places that the design has for people.
    has_people = any(row.kind == ParticipantKind.HUMAN for row in rows)
    means = _MEANING if has_people else _MEANING | _WITHOUT_PEOPLE
    if all(row.stage == ParticipantStage.FINISHED for row in rows):
        means = means | dict.fromkeys((StudyStatus.OPEN, StudyStatus.PAUSED), _FINISHED)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(means[StudyStatus(study.status)], width="content")
        if study.status != StudyStatus.CLOSED:
            label, make, said = _CHANGES[study.status]
            if not has_people:
                said = said.replace("People can join", "Simulated participants can start")
            if st.button(label, key=f"study-{label}", type="primary" if label == "Open study" else "secondary"):
                _change(study.name, make, said)
            with st.popover("Close study…", key="closing"):
                st.text("You cannot reopen a closed study, but its data is kept.")
                if st.button("Close study", key="study-close"):
                    _change(study.name, lifecycle.close, "is closed.")
    if has_people and study.status != StudyStatus.CLOSED:
        _link(study)
    _people(study.id or 0)
    with st.container(horizontal=True):
        _simulating(study, [row.kind for row in rows if row.stage != "finished"])
        withdrawing(study, rows)
        if any(row.kind == ParticipantKind.HUMAN and row.stage not in _NOBODY for row in rows):
            payments = partial(_payments, study)
            download("Payment list (CSV)", payments, f"{study.name}-payments.csv", "text/csv", "payments")


@refusals_shown()
def _change(name: str, make: Callable[[str], tables.Study], said: str) -> None:
    make(name)
    finish(f"{name} {said}")


def _link(study: tables.Study) -> None:
    parts = urlsplit(st.context.url or "")
    base = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
    recruiting = lifecycle.design_of(study).recruiting
    link = f"{base}/participate?join={quote(study.join_code)}"
    if platform := recruiting.of_platform:
        adds = (
            f"inserts {platform.person} for each person"
            if platform.link
            else f"appends {platform.person} and its other parameters"
        )
        st.caption(f"Recruiting by {platform.title}. Enter this link on {platform.title}, which {adds}:")
        st.code("&".join(filter(None, [link, platform.link])), language=None, wrap_lines=True)
    elif not recruiting.by_invitation:
        once = "Once the study is open, people" if study.status != StudyStatus.OPEN else "People"
        st.caption(f"{once} join with this link, or at /participate with the code {study.join_code}:")
        st.code(link, language=None)
    with st.popover("Invitation links…", key="inviting"):
        _invite(study, base)


def _invite(study: tables.Study, base: str) -> None:
    count = int(st.number_input("Number of links", 1, joining.MOST_LINKS, 1, key="invite-count"))
    tokens: list[str] = []
    if st.button("Create links", key="invite"):
        with acting(by_browser()):
            tokens = joining.invite(study.name, count)
    with reading() as session:
        made, used = joining.invitations(session, study)
    st.text(f"Links created: {made}. Links used: {used}. Copy new links now: they are shown only once.")
    if tokens:
        st.code("\n".join(f"{base}/participate?invitation={token}" for token in tokens), language=None)


@st.fragment(run_every=_SECONDS)
def _people(study_id: int) -> None:
    with reading() as session:
        study = session.get_one(tables.Study, study_id)
        rows, design = read_board(session, study), lifecycle.design_of(study)
        pilot = read_pilot(session, study, design)
    st.text(summary(rows, now_ms()))
    if pilot:
        st.text(pilot.describe(design))
    show_rows([cells(row, now_ms()) for row in rows], TITLES, numbers=NUMBERS, label="Participants")


def _payments(study: tables.Study) -> bytes:
    from console.studies.results import record_export  # imported on demand, because it is slow to load
    from console.studies.results.participants import payments

    with reading() as session:
        frame = payments(session, study)
    record_export(study.name, "the payment list", by_browser())
    return as_csv(frame)


def _simulating(study: tables.Study, open_kinds: Sequence[str]) -> None:
    people = open_kinds.count(ParticipantKind.HUMAN)
    machines = len(open_kinds) - people
    if not open_kinds or study.status == StudyStatus.CLOSED:
        return
    if study.status != StudyStatus.OPEN:
        st.caption(f"To simulate participants, {_CHANGES[study.status][0].split()[0].lower()} the study.")
        return
    with st.popover("Simulate…", key="simulating"):
        are = f"{counted(machines, 'simulated participant')} {'is' if machines == 1 else 'are'}"
        st.text(f"{are} not finished. A simulated participant takes the same steps as a person.")
        if st.button("Run simulated participants", key="simulate", disabled=not machines):
            _simulate(study.name, False)
        st.text("A dry run also fills the places of people. Use a copy of the study.")
        if st.button("Start dry run", key="simulate-all", disabled=not people):
            _simulate(study.name, True)


@refusals_shown()
def _simulate(name: str, everybody: bool) -> None:
    tally = simulated.simulate(name, show_progress("conditions completed"), all_places=everybody)
    played = f"participants {tally.participants}, conditions {tally.conditions}, decisions {tally.decisions}"
    finish(f"Simulation finished: {played}.")
