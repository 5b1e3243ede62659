"""Export: the records of a run as files, and the audit log, for researchers."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

import streamlit as st

from console.database import database_url, now_ms, reading
from console.runs import audit_trail, export, iso
from console.runs.audit_trail import AuditFilter
from console.trials import case_file
from console.web.run_files import exporting
from console.web.run_picker import chosen_run, run_picker
from console.web.sign_in import by_browser
from console.web.widgets.chart import download
from console.web.widgets.messages import next_step_row, show_empty_state, show_problem
from console.web.widgets.tables import show_rows
from storage.engine import reading as reading_at

_SHOWN = 50
_ALL = "All"
CASE_FILE = "case file"


def show_audit() -> None:
    """Draw the audit log with all text escaped."""
    st.header("Audit log", anchor=False)
    with reading() as session:
        names, kinds, people = audit_trail.list_choices(session)
    if not kinds:
        show_empty_state("No events yet", "Import a log or start agents to record the first event.")
        return
    with st.container(horizontal=True):
        wanted = AuditFilter(
            _chosen(st.selectbox("Run", [_ALL, *names], key="audit_run", width=340)),
            _chosen(st.selectbox("Event", [_ALL, *kinds], key="audit_kind", width=340)),
            _chosen(st.selectbox("Person", [_ALL, *people], key="audit_who", width=340)),
        )
    with reading() as session:
        found = audit_trail.list_entries(session, wanted, _SHOWN)
        count = audit_trail.count_entries(session, wanted)
    if not found:
        show_empty_state("No matching events", "Choose another run, event or person.")
        return
    # The file includes its own download, which is recorded first.
    make, leaving = partial(_csv, database_url(), wanted), exporting(wanted.run)
    download("Download audit log", make, "audit.csv", "text/csv", "audit_download", leaving=leaving)
    if count > len(found):
        st.caption(f"The latest {len(found)} of {count:,} events. The download has all of them.")
    rows = [{"at": iso(one.at_ms)[:19].replace("T", " "), "said": audit_trail.entry_sentence(one)} for one in found]
    show_rows(rows, {"at": "Time (UTC)", "said": "Event"}, label="Audit log")


def _chosen(value: str) -> str | None:
    return None if value == _ALL else value


def _csv(url: str, wanted: AuditFilter) -> bytes:
    with reading_at(url) as session:
        return audit_trail.as_csv(audit_trail.list_entries(session, wanted))


st.title("Export")
with reading() as session:
    run = chosen_run(session)
if run is None:
    show_empty_state("Nothing to export yet", "Import a log or start agents, then export the run.")
    next_step_row().page_link("console/web/pages/runs.py", label="Open Runs")
    show_audit()
    st.stop()

_KINDS = {
    "decisions": "All decisions and their revisions: reviewer, decision, reason and time.",
    "items": "Items in the review queue: score, priority, status.",
    "trajectories": "The agents' trajectories: task, steps, outcome. You can import the JSONL file again.",
    "verdicts": "Each detector's verdict on each checkpoint: score, reasons, model, cost.",
    "budget": "The ledger of the inspection budget: units spent, returned and settled.",
    "events": "Events of the run by time.",
    "corrections": "Requirement lines that reviewers corrected: the line, its quotes, reviewer and time.",
    "answers": "Answers to the questions of the run, one row per decision and question.",
    "allowed": "Checks that a gate's policy allowed at once: agent, tool, rule and time.",
}


def offer_layout(name: str, run_name: str) -> None:
    """Draw the download of a run in the format of another tool, with checkboxes for optional parts."""
    layout = export.LAYOUTS[name]
    st.caption(f"{layout.title}, a .{layout.suffix} file.")
    asked_for = [
        part for part in layout.takes if st.checkbox(f"Include {export.ASKED_FOR[part]}", key=f"with-{name}-{part}")
    ]
    if layout.needs and find_spec(layout.needs) is None:
        show_problem(f"This format needs {layout.needs}, which is not installed. Run: pip install {layout.needs}")
        return
    make = partial(export.download_layout, database_url(), name, run_name, asked_for, by=by_browser())
    download("Download file", make, f"{run_name}-{name}.{layout.suffix}", layout.media_type, "download", type="primary")


def offer_case_file(run_name: str) -> None:
    """Draw the download of the run's case file."""
    st.caption(
        "One HTML page for an auditor: decisions, budget, certificate, policies and the audit log. The page checks its "
        "own audit log when it is opened."
    )
    url, by = database_url(), by_browser()
    file, make = f"{run_name}-case-file.html", partial(case_file.make_case_file, url, run_name, by=by)
    download("Download file", lambda: make(at_ms=now_ms()), file, "text/html", "download", type="primary")


def offer_table(kind: str, suffix: str, run_name: str) -> None:
    """Draw the download of one kind of record as a table."""
    st.caption(_KINDS.get(kind, ""))
    pictures = (kind, suffix) == ("trajectories", "jsonl") and st.checkbox("Include pictures", key="with-pictures")
    make = partial(export.download, database_url(), kind, run_name, suffix, researcher=True, by=by_browser())
    file, media_type = f"{run_name}-{kind}.{suffix}", export.FORMATS[suffix].media_type
    download("Download file", partial(make, pictures=pictures), file, media_type, "download", type="primary")


choices = st.container(horizontal=True, vertical_alignment="bottom")
with choices:
    run_picker(run.name)
kind = choices.selectbox("Content", [*export.KINDS, CASE_FILE, *export.LAYOUTS], key="export_kind", width=340)
if kind == CASE_FILE:
    offer_case_file(run.name)
elif kind in export.LAYOUTS:
    offer_layout(kind, run.name)
else:
    offer_table(kind, choices.selectbox("Format", list(export.FORMATS), key="export_format", width=160), run.name)
show_audit()
