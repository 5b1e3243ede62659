"""Studies: design one, follow it, read its results, settle disagreements, report. For researchers."""

import streamlit as st

from console import runs
from console.database import reading
from console.pages import adjudicating, chosen_study, designing_study, study_sections
from console.pages.said import show_said
from console.studies import results
from console.studies.sessions import lifecycle
from storage.tables import RunKind

with reading() as session:
    studies = list(lifecycle.every(session))
    names = [study.name for study in studies]
    chosen = chosen_study.chosen_study(names)
    heads = {} if chosen else {study.name: results.headline(session, study.id or 0) for study in studies}
    run = runs.find(session, chosen_study.adjudicated_run())
    archives = [run.name for run in runs.every(session) if run.kind == RunKind.ARCHIVE]

st.title(f"Disagreements in {run.name}" if run else "Studies")
show_said()
if run:
    st.page_link("console/pages/runs.py", label=f"Back to the run {run.name}", query_params={"run": run.name})
    adjudicating.show_run(run)
elif chosen:
    study_sections.show(next(study for study in studies if study.name == chosen), names)
elif chosen_study.is_new() or not names:
    if names:
        st.button("All studies", type="tertiary", on_click=chosen_study.keep, args=(None,))
    else:
        st.text("No studies yet. Fill in the design of one, look at what it makes, and create it.")
    designing_study.show_new(archives)
else:
    study_sections.show_list(studies, heads)
