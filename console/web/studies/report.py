"""The Report section of a study: the report and its tables, to take away; it stands alone as each section does."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from console.database import database_url, now_ms, reading
from console.studies.report import bundle, stamped
from console.studies.results import TABLES, csv_files
from console.studies.sessions import lifecycle
from console.web.studies.results_data import Results, results_of
from console.web.studies.results_parts import download, say, told
from storage import tables


def show(study: tables.Study) -> None:
    """Makes the report when asked, and once for each state of the study."""
    found = results_of(study)
    say(
        "One zip, laid out for a repository such as OSF: report.html, which needs no network and prints on A4; the "
        "tidy CSVs that everything in it is computed from, and their codebook; every computed number and sentence, "
        "contrasts.csv among them; a script that computes them again; the plan; the materials; and checksums of all."
    )
    made = f"report-of-{study.id}"
    with st.container(horizontal=True):
        if st.button("Make the report", key="make-report", type="primary"):
            st.session_state[made] = found.version
        download(
            "Tables only (zip)",
            told(found, f"{study.name}-tables.zip", lambda: csv_files.archive(_frames(found))),
            f"{study.name}-tables.zip",
            "application/zip",
            "tables-zip",
        )
    if st.session_state.get(made) == found.version:
        packed = _report(database_url(), found)
        download(
            "Download the report (zip)",
            told(found, f"{study.name}-report.zip", lambda: packed),
            f"{study.name}-report.zip",
            "application/zip",
            "report-zip",
        )
    elif made in st.session_state:
        say("The study has moved on since the report was made; make it again to have what came since.")


@st.cache_resource(max_entries=4, show_spinner="Computing every table, drawing every plot…", hash_funcs={Results: repr})
def _report(_url: str, found: Results) -> bytes:
    with reading() as session:
        study = lifecycle.get(session, found.name)
        design, stamp = lifecycle.design_of(study), stamped(session, study, now_ms())
    return bundle(design, _frames(found), replace(stamp, data_version=found.version))


def _frames(found: Results) -> dict[str, pd.DataFrame]:
    return {name: found.frame(name) for name in TABLES}
