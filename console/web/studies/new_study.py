"""A new study: its design as form or YAML, a preview, and the button that creates it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st
from pydantic import ValidationError

from console.database import now_ms
from console.studies.design import Design, plan_all
from console.studies.design.yaml_file import dump, example, parse
from console.studies.sessions import lifecycle
from console.trajectory.strict_yaml import describe_failure
from console.web.flash import finish, refusals_shown
from console.web.studies import draft, picker, plan
from console.web.studies.form import show_form
from console.web.widgets.browser import name_drop_zones
from console.web.widgets.messages import problem_html, show_problem

UNNAMED = "unnamed"
"""The name of a design whose name field is empty."""


def show_new(archives: Sequence[str]) -> None:
    """Draw the form or the YAML, whichever tab is open, with a preview."""
    form, yaml = st.tabs(["Form", "YAML"], key="design_tab", on_change="rerun")
    if yaml.open:
        with yaml:
            _yaml()
        return
    with form, st.container(key="new-design"):
        left, right = st.columns([3, 2], gap="large")
        with left:
            design = _formed(archives)
        with right:
            if design:
                _made(design)


def _formed(archives: Sequence[str]) -> Design | None:
    mapping, slots = show_form(draft.draft(), archives)
    draft.keep(mapping)
    try:
        return Design.model_validate({**mapping, "name": mapping["name"].strip() or UNNAMED})
    except ValidationError as failure:
        _complain(failure, slots)
        return None


def _complain(failure: ValidationError, slots: dict[str, Callable[[str], object]]) -> None:
    told: set[str] = set()
    for problem in failure.errors(include_url=False):
        field = str(problem["loc"][0]) if problem["loc"] else "factors"
        if field not in told and field in slots:
            told.add(field)
            kept: Any = {name: problem.get(name, {}) for name in ("type", "loc", "input", "ctx")}
            one = ValidationError.from_exception_data("Design", [kept])
            slots[field](problem_html(describe_failure(one, Design, "Design").removeprefix("Design: ")))


def _made(design: Design) -> None:
    places, nameless = plan_all(design), design.name == UNNAMED
    st.header("Preview", anchor=False)
    plan.summary(design, places)
    with st.container(horizontal=True):
        if st.button("Create study", key="create-study", type="primary", disabled=nameless):
            _create(design)
        plan.yaml_button(design)
    if nameless:
        st.caption("Enter a name in the form to create the study.")
    plan.show_plan(design, places)
    plan.show_power(design)


@refusals_shown()
def _create(design: Design) -> None:
    with st.spinner("Sampling tasks, placing participants…"):
        lifecycle.create(design, now_ms())
    draft.forget()
    picker.keep(design.name, "board")
    why = "when people can join" if design.participants.human else "to run its simulated participants"
    finish(f"Created {design.name}. Open the study on its board {why}.")


def _yaml() -> None:
    name_drop_zones()
    left, right = st.columns(2, gap="large")
    with left:
        file = st.file_uploader("Design file (YAML)", type=["yaml", "yml"], key="design_file")
        text = st.text_area("or paste the YAML", key="design_text", height=420, placeholder=example())
        given = file.getvalue().decode("utf-8-sig", "replace") if file else text
        if st.button("Load design", key="take-over", type="primary"):
            _take_over(given, file.name if file else "The design")
    with right:
        mapping = draft.draft()
        design = None
        with suppress(ValidationError):
            design = Design.model_validate({**mapping, "name": mapping["name"].strip() or UNNAMED})
        st.markdown("The form as YAML" if design else "The form is incomplete. This example is valid:")
        st.code(dump(design) if design else example(), language="yaml", wrap_lines=True)
        if design:
            plan.yaml_button(design)


def _take_over(text: str, where: str) -> None:
    if not text.strip():
        show_problem("No design given. Choose a file or paste a design, then load it.")
        return
    with refusals_shown():
        design = parse(text, where)
        draft.replace(design.model_dump(mode="json"))
        finish(f"Loaded {design.name} into the form.")
