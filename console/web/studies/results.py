"""The results and the report of a study; only the selected analysis is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from console.database import database_url, now_ms, reading
from console.studies.analysis import ANALYSES
from console.studies.report import bundle, make_stamp
from console.studies.results import TABLES, Headline, condition_runs, csv_files
from console.studies.sessions import lifecycle
from console.web.detectors import oversight
from console.web.studies import picker, results_parts
from console.web.studies.results_data import Results, results_of
from console.web.widgets.chart import download
from console.web.widgets.markup import show_html
from console.web.widgets.messages import show_empty_state
from console.web.widgets.status import status_html
from storage import tables


def show(study: tables.Study) -> None:
    """Draw the headline and the selected analysis."""
    found = results_of(study)
    head = found.headline()
    _headline(head)
    if not head.decisions and not head.arms_done:
        start = "invite people or run" if head.places > head.simulated else "run its"
        show_empty_state("No results yet", f"Open the study on its board, then {start} simulated participants.")
        return
    titles = {name: analysis.tab for name, analysis in ANALYSES.items()}
    key = picker.chosen_view("Part", titles, "part", "study_part")
    chosen = results_parts.show(found, key, ANALYSES[key])
    if key in EXTRAS:
        EXTRAS[key](found, chosen)


def _headline(head: Headline) -> None:
    people = head.places - head.simulated
    mean = f", <b>{head.mean_seconds:.0f} s</b> each on average" if head.mean_seconds is not None else ""
    parts = (
        f"people finished <b>{head.finished} of {people}</b>" if people else "simulated reviewers only",
        f"conditions done <b>{head.arms_done} of {head.arms}</b>{' including simulated' if head.simulated else ''}",
        f"decisions by people <b>{head.human_decisions:,}</b>{mean}" if people else "",
        f"decisions by simulated reviewers <b>{head.decisions - head.human_decisions:,}</b>" if head.simulated else "",
        "without practice and checks",
    )
    show_html(status_html(parts))


def _participant(found: Results, chosen: Mapping[str, str]) -> None:
    """Draw a choice of participants, and the oversight curve of the participant's run under the selected condition."""
    condition = chosen.get("condition")
    with reading() as session:
        begun = [run for run in condition_runs.condition_runs(session, found.study_id) if run.run_id is not None]
    inside = {run.participant: run.run_id for run in begun if condition in (None, run.condition)}
    if not inside:
        st.text("No condition has started yet. Inspections appear after the first decision.")
        return
    who = st.selectbox("Participant", list(inside), key="study-participant", width=320)
    with reading() as session:
        run = session.get_one(tables.Run, inside[who])
    st.caption(f"The charts below show only {who}.")
    oversight.show_oversight(run.name)


EXTRAS: dict[str, Callable[[Results, Mapping[str, str]], None]] = {"oversight": _participant}
"""Functions that draw a further section below an analysis, by the key of the analysis, from the user's choices."""


def show_report(study: tables.Study) -> None:
    """Draw the downloads of the report and its tables; create the report once per version of the results."""
    found = results_of(study)
    st.text(
        "A zip file for a repository such as OSF. The file contains a report, the data tables with a codebook, all "
        "results, the plan, the materials and checksums. A script in the file recomputes all results."
    )
    made = f"report-of-{study.id}"
    with st.container(horizontal=True):
        place = st.empty()
        if place.button("Create report", key="make-report", type="primary"):
            st.session_state[made] = found.version
        if st.session_state.get(made) == found.version:
            packed = _report(database_url(), found)
            with place:
                _download_zip("Download report (zip)", found, "report", lambda: packed, type="primary")
        _download_zip("Tables only (zip)", found, "tables", lambda: csv_files.archive(_frames(found)))
    if st.session_state.get(made, found.version) != found.version:
        st.text("The study has new data since the report was created. Create the report again to include the new data.")


def _download_zip(label: str, found: Results, name: str, make: Callable[[], bytes], **look: Any) -> None:
    file, leaving = f"{found.name}-{name}.zip", results_parts.exporting(found)
    download(label, make, file, "application/zip", f"{name}-zip", leaving=leaving, **look)


@st.cache_resource(max_entries=4, show_spinner="Computing every table, drawing every plot…", hash_funcs={Results: repr})
def _report(_url: str, found: Results) -> bytes:
    with reading() as session:
        study = lifecycle.get(session, found.name)
        design, stamp = lifecycle.design_of(study), make_stamp(session, study, now_ms())
    return bundle(design, _frames(found), replace(stamp, data_version=found.version))


def _frames(found: Results) -> dict[str, pd.DataFrame]:
    return {name: found.frame(name) for name in TABLES}
