"""A study's results as its page reads them: each table once for each state of the database."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from console.database import database_url, reading
from console.studies import results
from console.studies.analysis import computations
from console.studies.results import TABLES
from console.studies.sessions import lifecycle
from storage import tables


@dataclass(frozen=True, slots=True)
class Results:
    """A study whose results are asked for, and the state of the database that they are of."""

    study_id: int
    name: str
    environment: str
    version: str

    def frame(self, name: str) -> pd.DataFrame:
        """One of the tidy tables; nobody may change it."""
        return _frame(database_url(), self.study_id, self.version, name)

    def table(self, name: str) -> pd.DataFrame:
        """One of the tables that the analyses compute; nobody may change it."""
        return _table(database_url(), self, name)

    def headline(self) -> results.Headline:
        """The numbers at the head of the page."""
        return _headline(database_url(), self.study_id, self.version)


def results_of(study: tables.Study) -> Results:
    """The study's results in the present state of the database."""
    with reading() as session:
        version = results.data_version(session, study.id or 0)
    return Results(study.id or 0, study.name, lifecycle.design_of(study).source.environment or "", version)


class _LazyFrames(dict[str, pd.DataFrame]):
    """The tidy tables of a study, each read when it is first asked for."""

    def __init__(self, found: Results) -> None:
        super().__init__()
        self._found = found

    def __missing__(self, name: str) -> pd.DataFrame:
        self[name] = self._found.frame(name)
        return self[name]


@st.cache_resource(max_entries=32, show_spinner="Reading…")
def _frame(_url: str, study_id: int, version: str, name: str) -> pd.DataFrame:
    with reading() as session:
        return TABLES[name](session, study_id)


@st.cache_resource(max_entries=64, show_spinner="Computing…", hash_funcs={Results: repr})
def _table(_url: str, found: Results, name: str) -> pd.DataFrame:
    return computations()[name](_LazyFrames(found))


@st.cache_resource(max_entries=16, show_spinner=False)
def _headline(_url: str, study_id: int, version: str) -> results.Headline:
    with reading() as session:
        return results.headline(session, study_id)
