"""A study's results for the Studies page; each table is read once per state of the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
import streamlit as st

from console.database import Session, database_url, reading
from console.studies import results
from console.studies.analysis import computations
from console.studies.results import TABLES, decisions, outcomes, read_judged, success
from console.studies.sessions import lifecycle
from storage import tables


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a study at one state of the database."""

    study_id: int
    name: str
    environment: str
    version: str
    people: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The state of each participant's rows, by pseudonym."""

    def frame(self, name: str) -> pd.DataFrame:
        """Return a tidy table as exported; the caller must not change the table."""
        rows = self.unordered(name)
        return rows.sort_values("decision_id", ignore_index=True) if name == "decisions" else rows

    def unordered(self, name: str) -> pd.DataFrame:
        """Like `frame`, but with the decisions in any order."""
        return _frame(database_url(), self.study_id, self.version, name, self.people)

    def table(self, name: str) -> pd.DataFrame:
        """Return a table computed by an analysis; the caller must not change the table."""
        return _table(database_url(), self, name)

    def headline(self) -> results.Headline:
        """Return the numbers at the top of the page."""
        return _headline(database_url(), self.study_id, self.version)


def results_of(study: tables.Study) -> Results:
    """Return the study's results at the current state of the database."""
    with reading() as session:
        now = results.data_versions(session, study.id or 0)
    return Results(
        study.id or 0, study.name, lifecycle.design_of(study).source.environment or "", now.study, now.people
    )


class _LazyFrames(dict[str, pd.DataFrame]):
    """The tidy tables of a study, each read on first use."""

    def __init__(self, found: Results) -> None:
        super().__init__()
        self._found = found

    def __missing__(self, name: str) -> pd.DataFrame:
        self[name] = self._found.unordered(name)
        return self[name]


@st.cache_resource(max_entries=32, show_spinner="Reading…")
def _frame(_url: str, study_id: int, version: str, name: str, _people: Mapping[str, str]) -> pd.DataFrame:
    with reading() as session:
        if name in _BY_PERSON:
            return _of_people(session, study_id, name, _people, _cached_rows(_url, study_id, name))
        return TABLES[name](session, study_id)


_BY_PERSON = {"decisions": decisions, "judged": read_judged, "outcomes": outcomes, "success": success}
"""The tables that are read again only for the participants whose state changed."""
_Kept = dict[str, tuple[str, pd.DataFrame]]


@st.cache_resource(max_entries=8, show_spinner=False)
def _cached_rows(_url: str, study_id: int, name: str) -> _Kept:
    """Return the cached rows of each participant and the state at which they were read, by pseudonym."""
    return {}


def _of_people(session: Session, study_id: int, name: str, people: Mapping[str, str], kept: _Kept) -> pd.DataFrame:
    read, had = _BY_PERSON[name], dict(kept)
    moved = [who for who, version in people.items() if who not in had or had[who][0] != version]
    if len(moved) > len(people) / 4:
        whole = read(session, study_id)
        parts: dict[str, pd.DataFrame] = {str(who): rows for who, rows in whole.groupby("participant")}
        now = {who: (version, parts.get(who, whole.iloc[:0])) for who, version in people.items()}
    else:
        now = {who: had[who] for who in people if who not in moved}
        now |= {who: (people[who], read(session, study_id, who)) for who in moved}
        whole = pd.concat([now[who][1] for who in people], ignore_index=True)
    kept.clear()
    kept.update(now)
    return whole


@st.cache_resource(max_entries=64, show_spinner="Computing…", hash_funcs={Results: repr})
def _table(_url: str, found: Results, name: str) -> pd.DataFrame:
    return computations()[name](_LazyFrames(found))


@st.cache_resource(max_entries=16, show_spinner=False)
def _headline(_url: str, study_id: int, version: str) -> results.Headline:
    with reading() as session:
        return results.headline(session, study_id)
