"""The people of a study in words: a line for all of them, a row for each, and how one is withdrawn."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.pages.said import guarded, note
from console.studies.sessions import lifecycle
from console.studies.sessions.progress import Row
from console.studies.sessions.stages import ParticipantStage
from console.studies.sessions.withdrawal import withdraw
from console.widgets.waiting_list import age
from storage import tables
from storage.tables import ParticipantKind

TITLES = {
    "code": "participant",
    "kind": "kind",
    "stage": "now",
    "condition": "condition",
    "trial": "trial",
    "decided": "decided",
    "waiting": "waiting",
    "oldest": "oldest",
    "budget": "budget left",
    "seen": "last seen",
}
NUMBERS = ("decided", "waiting", "oldest", "budget", "seen")

_STAGES = {
    "free": "free place",
    "consent": "reads the consent",
    "questions": "answers questions",
    "instructions": "reads instructions",
    "practice": "practises",
    "introduction": "before a condition",
    "review": "reviews",
    "agents_working": "agents at work",
    "break": "has a break",
    "finished": "finished",
    "withdrawn": "withdrawn",
}
_NOBODY = (ParticipantStage.FREE, ParticipantStage.WITHDRAWN, ParticipantStage.DECLINED)


def summary(rows: Sequence[Row], now_ms: int) -> str:
    """How many are in, how many are through, what waits."""
    people = [row for row in rows if row.kind == ParticipantKind.HUMAN and row.stage != ParticipantStage.WITHDRAWN]
    inside = sum(row.stage not in _NOBODY for row in people)
    finished = sum(row.stage == ParticipantStage.FINISHED for row in rows)
    waiting, oldest = sum(row.waiting for row in rows), min((row.oldest_ms for row in rows if row.oldest_ms), default=0)
    since = f", the oldest for {age(now_ms - oldest)}" if waiting and oldest else ""
    taken = f"{inside} of {len(people)} people joined, " if people else ""
    return f"{taken}{finished} of {len(rows)} finished, {waiting:,} items wait{since}."


def cells(row: Row, now_ms: int) -> dict[str, str]:
    """A participant as words."""
    inside = row.stage not in _NOBODY
    place = f"{row.number} of {row.conditions}" if inside else ""
    return {
        "code": row.code,
        "kind": "person" if row.kind == ParticipantKind.HUMAN else row.kind,
        "stage": _STAGES.get(row.stage, row.stage.replace("_", " ")),
        "condition": f"{place}: {row.condition}" if row.condition else place,
        "trial": f"{row.trial} of {row.trials}" if row.trial else "",
        "decided": f"{row.decided:,}" if inside else "",
        "waiting": f"{row.waiting:,}" if row.run else "",
        "oldest": age(now_ms - row.oldest_ms) if row.oldest_ms and row.waiting else "",
        "budget": f"{row.budget_left:,} of {row.budget_cap:,}" if row.budget_left is not None else "",
        "seen": f"{age(now_ms - row.last_seen_ms)} ago" if row.last_seen_ms else "",
    }


def withdrawing(study: tables.Study, rows: Sequence[Row]) -> None:
    """Takes a participant out of the study, once it is confirmed."""
    inside = {row.code: row.participant_id for row in rows if row.stage not in _NOBODY}
    if not inside:
        return
    removes = lifecycle.design_of(study).consent.withdrawal == "remove"
    fate = "Everything they did is removed" if removes else "What they did stays under another pseudonym"
    with st.popover("Withdraw …", key="withdrawing"):
        code = st.selectbox("Participant", list(inside), index=None, key="withdraw-code", placeholder="choose")
        st.text(f"{fate}, as the consent says. It cannot be undone.")
        sure = st.checkbox(f"I mean {code}" if code else "I mean this participant", key=f"sure-{code}")
        if st.button("Withdraw them", key="withdraw", disabled=not (code and sure)) and code:
            guarded(_withdraw, code, inside[code])


def _withdraw(code: str, participant_id: int) -> None:
    withdraw(participant_id)
    note((True, f"{code} is withdrawn."))
    st.rerun()
