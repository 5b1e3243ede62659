"""The run picker: each page is about one run, which the address stores."""

from __future__ import annotations

import streamlit as st

from console import runs
from console.auth.people import Role
from console.database import Session, reading
from console.language import _
from console.review import inbox
from console.web.sign_in import current_identity
from storage import tables


def chosen_run(session: Session) -> tables.Run | None:
    """Return this tab's run: the run in the address, else the run with the most pending items, else the newest."""
    wanted = st.session_state.get("run") or st.query_params.get("run")
    run = runs.find(session, wanted) if wanted else None
    if run is None or not _may_open(run):
        run = inbox.find_busiest_run(session)
    if run is not None:
        choose_run(run.name)
    return run


def _may_open(run: tables.Run) -> bool:
    """Return whether the visitor may open the run; only researchers may open a participant's run."""
    identity = current_identity()
    return run.study_id is None or (identity is not None and identity.has(Role.RESEARCHER))


def choose_run(name: str) -> None:
    """Select this run for the tab."""
    st.session_state["run"] = name
    if st.query_params.get("run") != name:
        st.query_params["run"] = name


def run_picker(current: str, *, archived: bool = False) -> None:
    """Draw the list of runs, with `archived` also archived runs; include the current run in any case."""
    with reading() as session:
        names = [run.name for run in runs.list_runs(session, archived=archived)]
    names = names if current in names else [current, *names]
    # Overwrite the selection of the previous page.
    st.session_state["run_picker"] = current
    st.selectbox(_("Run"), names, key="run_picker", on_change=_pick, width=340)


def _pick() -> None:
    st.query_params.pop("id", None)
    choose_run(st.session_state["run_picker"])
