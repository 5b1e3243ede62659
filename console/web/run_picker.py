"""The run picker: the run that a page is about, chosen once, kept in the address, the same on every page."""

from __future__ import annotations

import streamlit as st

from console import runs
from console.auth.identity import Role
from console.database import Session
from console.language import _
from console.review import inbox
from console.web.sign_in import current_identity
from storage import tables


def chosen_run(session: Session) -> tables.Run | None:
    """The run of this browser tab: the one in the address, else the one with most waiting, else the newest."""
    wanted = st.session_state.get("run") or st.query_params.get("run")
    run = runs.find(session, wanted) if wanted else None
    if run is None or not _may_open(run):
        run = inbox.busiest_run(session)
    if run is not None:
        choose_run(run.name)
    return run


def _may_open(run: tables.Run) -> bool:
    """A participant's run of a study is for researchers; nobody else comes by it even by its name."""
    identity = current_identity()
    return run.study_id is None or (identity is not None and identity.has(Role.RESEARCHER))


def choose_run(name: str) -> None:
    """Makes this the tab's run."""
    st.session_state["run"] = name
    if st.query_params.get("run") != name:
        st.query_params["run"] = name


def run_picker(names: list[str], current: str) -> None:
    """The list of runs to choose from; the current one is among them even where it is archived."""
    names = names if current in names else [current, *names]
    # Whatever stood here on the page before: it names the run that this page is about.
    st.session_state["run_picker"] = current
    st.selectbox(_("Run"), names, key="run_picker", on_change=_pick, width=360)


def _pick() -> None:
    st.query_params.pop("id", None)
    choose_run(st.session_state["run_picker"])
