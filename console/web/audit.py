"""The audit log on the Export page: events, newest first, filtered by run, kind and person, with a CSV."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from console.database import database_url, reading
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.runs.export.formats.columns import iso
from console.web.run_files import exporting
from console.web.widgets.chart import record_download
from console.web.widgets.messages import show_empty_state
from console.web.widgets.tables import show_rows
from storage.engine import reading as reading_at

_SHOWN = 200
_ALL = "all"
_FILE = "audit.csv"


def show_audit() -> None:
    """Draw the audit log with all text escaped."""
    st.header("Audit log", anchor=False)
    with reading() as session:
        names, kinds, people = audit_trail.list_choices(session)
    if not kinds:
        show_empty_state("No events yet", "Import a log or start agents to record the first event.")
        return
    which, what, who = st.columns(3)
    wanted = AuditFilter(
        _chosen(which.selectbox("Run", [_ALL, *names], key="audit_run")),
        _chosen(what.selectbox("Event", [_ALL, *kinds], key="audit_kind")),
        _chosen(who.selectbox("Person", [_ALL, *people], key="audit_who")),
    )
    with reading() as session:
        found = audit_trail.list_entries(session, wanted, _SHOWN)
    if not found:
        show_empty_state("No matching events", "Choose another run, event or person.")
        return
    rows = [{"at": iso(one.at_ms)[:19].replace("T", " "), "said": audit_trail.entry_sentence(one)} for one in found]
    show_rows(rows, {"at": "time (UTC)", "said": "event"}, label="Audit log")
    st.download_button(
        "Download audit log",
        data=_csv(database_url(), wanted),
        file_name=_FILE,
        mime="text/csv",
        key="audit_download",
        on_click="ignore",
    )


def _chosen(value: str) -> str | None:
    return None if value == _ALL else value


def _csv(url: str, wanted: AuditFilter) -> Callable[[], str | bytes]:
    """Return a function that records the download, then creates the CSV; the CSV includes the recorded download."""

    def made() -> bytes:
        with reading_at(url) as session:
            return audit_trail.as_csv(audit_trail.list_entries(session, wanted))

    return record_download(made, _FILE, exporting(wanted.run))
