"""The Runs page's section on plans: read a version, see what changed and where each line is from, edit it, pin it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.database import now_ms, reading, writing
from console.trials.planning import versions
from console.web.flash import flash, guarded
from console.web.sign_in import current_identity
from storage import tables

_SIGNS = {"same": "  ", "gone": "- ", "new": "+ "}


def plans_section() -> None:
    """Every plan with its versions; nothing where there is no plan."""
    with reading() as session:
        plans = versions.plans(session)
        if not plans:
            return
        st.header("Plans", anchor=False)
        which, number = st.columns(2)
        name, task_type = which.selectbox("Plan", plans, format_func=_called, key="plan")
        found = list(versions.versions(session, name, task_type))
        session.expunge_all()
    present = versions.current(found)
    shown = number.selectbox(
        "Version",
        range(len(found) - 1, -1, -1),
        format_func=lambda at: _labelled(found[at], found),
        index=len(found) - 1 - found.index(present),
        key=f"plan-version-{name}-{task_type}-{len(found)}",
    )
    _version(found, shown)


def _version(found: Sequence[tables.PlanVersion], at: int) -> None:
    plan = found[at]
    read, changed, edit = st.tabs(["The plan", "What changed", "Edit"])
    with read:
        _lines(plan)
        _pin_button(plan)
    with changed:
        changes = versions.differences(found[at - 1].text if at else "", plan.text)
        if any(kind != "same" for kind, _ in changes):
            st.code("\n".join(f"{_SIGNS[kind]}{line}" for kind, line in changes), language="diff", wrap_lines=True)
        else:
            st.caption("Nothing changed since the version before.")
    with edit:
        _form(plan, found[-1])


def _lines(plan: tables.PlanVersion) -> None:
    if not plan.text:
        st.caption("This version is empty: a plan begins without a line.")
        return
    rows = [
        {"line": one.line, "since version": one.version, "comes from": versions.source_in_words(one)}
        for one in versions.origins(plan)
    ]
    st.dataframe(rows, key=f"plan-lines-{plan.id}", hide_index=True)
    st.caption("Which trials and decisions a line comes from is what the model says that wrote it.")


def _pin_button(plan: tables.PlanVersion) -> None:
    words = "Unpin: the latest version counts again" if plan.pinned else "Pin: new runs go by this version"
    if st.button(words, key=f"pin-{plan.id}"):
        guarded(_pin, plan)


def _pin(plan: tables.PlanVersion) -> None:
    with writing() as session:
        versions.pin(session, session.get_one(tables.PlanVersion, plan.id), now_ms(), pinned=not plan.pinned)
    which = "the latest version" if plan.pinned else f"version {plan.version}"
    flash((True, f"New runs go by {which} of {_called((plan.name, plan.task_type))}."))
    st.rerun()


def _form(plan: tables.PlanVersion, latest: tables.PlanVersion) -> None:
    if plan.version != latest.version:
        st.caption(f"Version {latest.version} is the latest; choose it to edit the plan.")
        return
    with st.form(f"plan-form-{plan.id}", border=False):
        text = st.text_area("The plan, one step a line", plan.text, key=f"plan-text-{plan.id}", height=240)
        sent = st.form_submit_button("Save as the next version")
    if sent:
        guarded(_edit, plan, text)


def _edit(plan: tables.PlanVersion, text: str) -> None:
    identity = current_identity()
    with writing() as session:
        before = session.get_one(tables.PlanVersion, plan.id)
        added = versions.edit(session, before, text, identity.name if identity else "somebody", now_ms())
        number = added.version
    flash((True, f"{_called((plan.name, plan.task_type))} has version {number} now."))
    st.rerun()


def _called(plan: tuple[str, str]) -> str:
    name, task_type = plan
    return f"{name} ({task_type})" if task_type else name


def _labelled(plan: tables.PlanVersion, found: Sequence[tables.PlanVersion]) -> str:
    marks = [f"by {plan.author}", *(["pinned"] if plan.pinned else [])]
    return f"{plan.version}, {', '.join(marks)}{' (latest)' if plan is found[-1] else ''}"
