"""Export: the records of a run as files, and the audit log, for researchers."""

from functools import partial
from importlib.util import find_spec

import streamlit as st

from console import runs
from console.database import database_url, reading
from console.runs import export
from console.web.audit import show_audit
from console.web.run_picker import chosen_run, run_picker
from console.web.sign_in import by_browser
from console.web.widgets.messages import show_empty_state, show_problem

st.title("Export")
with reading() as session:
    run = chosen_run(session)
    names = [one.name for one in runs.list_runs(session)]
if run is None:
    show_empty_state("Nothing to export yet", "Import a log or start agents, then export the run.")
    st.page_link("console/web/pages/runs.py", label="Import a log")
    show_audit()
    st.stop()

_KINDS = {
    "decisions": "All decisions and their revisions: reviewer, decision, reason and time.",
    "items": "Items in the review queue: score, priority, status.",
    "trajectories": "The agents' trajectories: task, steps, outcome. You can import the JSONL file again.",
    "verdicts": "Each detector's verdict on each checkpoint: score, reasons, model, cost.",
    "budget": "The ledger of the inspection budget: units spent, returned and settled.",
    "events": "Events of the run by time.",
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
    st.download_button(
        "Download file",
        data=partial(export.download_layout, database_url(), name, run_name, asked_for, by=by_browser()),
        file_name=f"{run_name}-{name}.{layout.suffix}",
        mime=layout.media_type,
        key="download",
        type="primary",
        on_click="ignore",
    )


def offer_table(kind: str, suffix: str, run_name: str) -> None:
    """Draw the download of one kind of record as a table."""
    st.caption(_KINDS.get(kind, ""))
    pictures = (kind, suffix) == ("trajectories", "jsonl") and st.checkbox("Include pictures", key="with-pictures")
    st.download_button(
        "Download file",
        data=partial(
            export.download, database_url(), kind, run_name, suffix, researcher=True, by=by_browser(), pictures=pictures
        ),
        file_name=f"{run_name}-{kind}.{suffix}",
        mime=export.FORMATS[suffix].media_type,
        key="download",
        type="primary",
        on_click="ignore",
    )


pick, what, how = st.columns([2, 2, 1], vertical_alignment="bottom")
with pick:
    run_picker(names, run.name)
kind = what.selectbox("Content", [*export.KINDS, *export.LAYOUTS], key="export_kind")
if kind in export.LAYOUTS:
    offer_layout(kind, run.name)
else:
    offer_table(kind, how.selectbox("Format", list(export.FORMATS), key="export_format"), run.name)
show_audit()
