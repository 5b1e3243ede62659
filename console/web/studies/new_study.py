"""A new study: its design by the form or as YAML, what it would make of it, and the button that creates it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from pydantic import ValidationError

from console.database import now_ms
from console.errors import ConsoleError
from console.studies.design import Design, planned
from console.studies.design.yaml_file import dump, example, parse, sentence
from console.studies.sessions import lifecycle
from console.web.flash import flash, guarded
from console.web.studies import draft, picker, plan
from console.web.studies.form import show_form
from console.web.widgets.messages import problem_html, show_problem

UNNAMED = "unnamed"
"""What a design is called while its field for the name is empty."""


def show_new(archives: Sequence[str]) -> None:
    """Draws the form and the YAML, each with what it would make."""
    form, yaml = st.tabs(["Form", "YAML"], key="design_tab", on_change="rerun")
    if yaml.open:
        with yaml:
            _yaml()
        return
    with form:
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
    """Each field's first problem, where that field stands."""
    told: set[str] = set()
    for problem in failure.errors(include_url=False):
        field = str(problem["loc"][0]) if problem["loc"] else "factors"
        if field not in told and field in slots:
            told.add(field)
            one = ValidationError.from_exception_data("Design", [_again(problem)])
            slots[field](problem_html(sentence(one, Design, "Design", {}).removeprefix("Design: ")))


def _again(problem: Any) -> Any:
    return {"type": problem["type"], "loc": problem["loc"], "input": problem["input"], "ctx": problem.get("ctx", {})}


def _made(design: Design) -> None:
    """What the design would make, and the button."""
    places, nameless = planned(design), design.name == UNNAMED
    st.header("What this makes", anchor=False)
    plan.summary(design, places)
    with st.container(horizontal=True):
        why = "Name it first" if nameless else None
        if st.button("Create the study", key="create-study", type="primary", disabled=nameless, help=why):
            guarded(_create, design)
        plan.yaml_button(design)
    plan.show_plan(design, places)
    plan.show_power(design)


def _create(design: Design) -> None:
    with st.spinner("Sampling tasks, placing participants…"):
        lifecycle.create(design, now_ms())
    draft.forget()
    picker.keep(design.name, "board")
    flash((True, f"{design.name} is there. Open it on this page when people may join."))
    st.rerun()


def _yaml() -> None:
    left, right = st.columns(2, gap="large")
    with left:
        file = st.file_uploader("A design as YAML", type=["yaml", "yml"], key="design_file")
        text = st.text_area("or paste it", key="design_text", height=420, placeholder=example())
        given = file.getvalue().decode("utf-8-sig", "replace") if file else text
        if st.button("Put it into the form", key="take-over", type="primary"):
            _take_over(given, file.name if file else "The design")
    with right:
        mapping = draft.draft()
        design = _valid({**mapping, "name": mapping["name"].strip() or UNNAMED})
        st.markdown("The form as YAML" if design else "The form is not complete; this YAML works as it is:")
        st.code(dump(design) if design else example(), language="yaml", height=520)
        if design:
            plan.yaml_button(design)


def _take_over(text: str, where: str) -> None:
    if not text.strip():
        show_problem("Choose a file or paste a design first.")
        return
    try:
        design = parse(text, where)
    except ConsoleError as refusal:
        show_problem(str(refusal))
        return
    draft.replace(design.model_dump(mode="json"))
    flash((True, f"{design.name} stands in the form."))
    st.rerun()


def _valid(mapping: dict[str, Any]) -> Design | None:
    try:
        return Design.model_validate(mapping)
    except ValidationError:
        return None
