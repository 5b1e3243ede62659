"""The audit section: who did what, the newest first, chosen by run, kind and who, with its CSV."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from console.database import database_url, reading
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.runs.export.formats.columns import iso
from console.web.run_files import exporting
from console.web.widgets.chart import recorded
from console.web.widgets.messages import show_empty_state
from console.web.widgets.tables import show_rows
from storage.engine import reading as reading_at

_SHOWN = 200
_ALL = "all"
_FILE = "audit.csv"


def show_audit() -> None:
    """Draws the section; every text in it is shown as it stands, never read as Markdown."""
    st.header("Audit", anchor=False)
    with reading() as session:
        names, kinds, people = audit_trail.choices(session)
    if not kinds:
        show_empty_state(
            "Nothing has happened yet", "Imports, settings, exports and studies stand here once there are any."
        )
        return
    which, what, who = st.columns(3)
    wanted = AuditFilter(
        _chosen(which.selectbox("Run", [_ALL, *names], key="audit_run")),
        _chosen(what.selectbox("What happened", [_ALL, *kinds], key="audit_kind")),
        _chosen(who.selectbox("Who", [_ALL, *people], key="audit_who")),
    )
    with reading() as session:
        found = audit_trail.entries(session, wanted, _SHOWN)
    if not found:
        show_empty_state("No such event", "Choose another run, kind or person.")
        return
    rows = [{"at": iso(one.at_ms)[:19].replace("T", " "), "said": audit_trail.sentence(one)} for one in found]
    show_rows(rows, {"at": "when (UTC)", "said": "what happened"}, label="Audit")
    st.download_button(
        "Download the audit",
        data=_csv(database_url(), wanted),
        file_name=_FILE,
        mime="text/csv",
        key="audit_download",
        on_click="ignore",
    )


def _chosen(value: str) -> str | None:
    return None if value == _ALL else value


def _csv(url: str, wanted: AuditFilter) -> Callable[[], str | bytes]:
    """The making of the file, which is recorded first and so stands in it."""

    def made() -> bytes:
        with reading_at(url) as session:
            return audit_trail.as_csv(audit_trail.entries(session, wanted))

    return recorded(made, _FILE, exporting(wanted.run))
