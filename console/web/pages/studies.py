"""Studies: the design, conduct, results and report of a study, and its disagreements, for researchers."""

import streamlit as st

from console import runs
from console.database import reading
from console.studies import results
from console.studies.sessions import lifecycle
from console.web.flash import show_messages
from console.web.studies import adjudication, new_study, picker, sections
from storage.tables import RunKind

with reading() as session:
    studies = list(lifecycle.list_studies(session))
    names = [study.name for study in studies]
    chosen = next((study for study in studies if study.name == st.query_params.get("study")), None)
    heads = {} if chosen else {study.name: results.headline(session, study.id or 0) for study in studies}
    run = runs.find(session, st.query_params.get("adjudicate", ""))
    archives = [run.name for run in runs.list_runs(session) if run.kind == RunKind.ARCHIVE]

st.title(f"Disagreements in {run.name}" if run else "Studies", anchor=False)
show_messages()
if run:
    st.page_link("console/web/pages/runs.py", label=f"Open run {run.name}", query_params={"run": run.name})
    adjudication.show_run(run)
elif chosen:
    sections.show(chosen, names)
elif "new" in st.query_params or not names:
    if names:
        st.button("All studies", type="tertiary", on_click=picker.keep, args=(None,))
    else:
        st.text("No studies yet. Fill in a design, check the preview, then create the study.")
    new_study.show_new(archives)
else:
    sections.show_list(studies, heads)
