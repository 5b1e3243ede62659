"""A study's design as it was made: what it compares, who gets what, what is registered beforehand."""

from __future__ import annotations

import streamlit as st

from console.database import reading
from console.pages import planning_study, registering
from console.studies.design.yaml_file import dump
from console.studies.sessions import lifecycle
from storage import tables


def show(study: tables.Study) -> None:
    """Draws the design, its plan and its files."""
    design = lifecycle.design_of(study)
    with reading() as session:
        places = lifecycle.places(session, study)
    planning_study.summary(design, places)
    with st.container(horizontal=True):
        planning_study.yaml_button(design)
        planning_study.allocation_button(design, places)
        registering.preregistration_button(design, places)
    planning_study.show_plan(design, places)
    registering.show_power(design)
    registering.show_preregistration(design, places)
    with st.expander("The whole design as YAML"):
        st.code(dump(design), language="yaml")
