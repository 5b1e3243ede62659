"""Plans of agents on the Runs page: the versions of each plan, and planning metrics next to the published metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from console.analysis.charts import CHARTS
from console.analysis.statistics.estimates import number, range_text
from console.database import now_ms, reading, writing
from console.runs.export.formats import as_csv
from console.trials.planning import metrics, versions
from console.web.flash import finish, refusals_shown
from console.web.run_files import exporting
from console.web.sign_in import current_identity
from console.web.widgets.chart import show_chart
from console.web.widgets.tables import show_grid, show_rows
from storage import tables


def plans_section() -> None:
    """Draw every plan with its versions; draw nothing if no plan exists."""
    with reading() as session:
        plans = versions.list_plans(session)
        if not plans:
            return
        st.header("Plans", anchor=False)
        which, number = st.columns(2)
        name, task_type = which.selectbox("Plan", plans, format_func=_called, key="plan")
        found = list(versions.list_versions(session, name, task_type))
        session.expunge_all()
    present = versions.choose_current(found)
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
        if st.button("Unpin version" if plan.pinned else "Pin version", key=f"pin-{plan.id}"):
            with refusals_shown():
                with writing() as session:
                    pinned = session.get_one(tables.PlanVersion, plan.id)
                    versions.pin_version(session, pinned, now_ms(), pinned=not plan.pinned)
                which = "the latest version" if plan.pinned else f"version {plan.version}"
                finish(f"New runs use {which} of {_called((plan.name, plan.task_type))}.")
    with changed:
        changes = versions.diff_lines(found[at - 1].text if at else "", plan.text)
        if any(kind != "same" for kind, _ in changes):
            shown = "\n".join(f"{versions.SIGNS[kind]}{line}" for kind, line in changes)
            st.code(shown, language="diff", wrap_lines=True)
        else:
            st.caption("No changes since the previous version.")
    with edit:
        _form(plan, found[-1])


def _lines(plan: tables.PlanVersion) -> None:
    if note := versions.describe_update(plan):
        st.warning(note)
    if not plan.text:
        st.caption("This version is empty. Edit the plan to add a line.")
        return
    rows = [
        {"line": one.line, "since": str(one.version), "from": versions.describe_source(one)}
        for one in versions.list_line_origins(plan)
    ]
    show_rows(rows, {"line": "Line", "since": "Since version", "from": "Comes from"}, numbers=("since",), label="Plan")
    st.caption("Each line lists its trials and decisions, as reported by the model that wrote the line.")


def _form(plan: tables.PlanVersion, latest: tables.PlanVersion) -> None:
    if plan.version != latest.version:
        st.caption(f"Select version {latest.version}, the latest, to edit the plan.")
        return
    with st.form(f"plan-form-{plan.id}", border=False):
        text = st.text_area("Plan (one step per line)", plan.text, key=f"plan-text-{plan.id}", height=240)
        sent = st.form_submit_button("Save plan")
    if sent:
        identity = current_identity()
        with refusals_shown():
            with writing() as session:
                before = session.get_one(tables.PlanVersion, plan.id)
                added = versions.edit_plan(session, before, text, identity.name if identity else "somebody", now_ms())
                number = added.version
            finish(f"{_called((plan.name, plan.task_type))} is saved as version {number}.")


def _called(plan: tuple[str, str]) -> str:
    name, task_type = plan
    return f"{name} ({task_type})" if task_type else name


def _labelled(plan: tables.PlanVersion, found: Sequence[tables.PlanVersion]) -> str:
    marks = [f"by {plan.author}", *(["pinned"] if plan.pinned else [])]
    return f"{plan.version}, {', '.join(marks)}{' (latest)' if plan is found[-1] else ''}"


PLANNERS = ("introspective", "autoplan")
"""The actors that make plans."""


def planners_section(run: tables.Run) -> None:
    """Draw the planning metrics of a run next to the published metrics."""
    st.header("Planning figures", anchor=False)
    with reading() as session:
        found, spent = metrics.compute_figures(session, run), metrics.get_run_usage(session, run)
    show_grid([_figure(name, one) for name, one in found.items()], "Planning figures", key=f"planned-{run.id}")
    st.caption(f"Means over tasks or trials, as named, with 95% intervals. {_spent(spent)}")
    if run.actor != "introspective" or found["success_rate"].value is None:
        return
    metric = st.selectbox("Compare with the paper", list(metrics.FIGURES)[:-1], format_func=metrics.FIGURES.__getitem__)
    _overlay(metrics.build_overlay(found, metric), f"{run.name}-{metric}", run.name)
    st.caption("Hollow marks show the figures published in Devil's Advocate for its own models in WebArena.")


def trainings_section() -> None:
    """Draw the success of trained plans; draw nothing if no run uses a trained plan."""
    with reading() as session:
        rows = metrics.list_trained_plans(session)
    if not rows:
        return
    st.subheader("Trained plans", anchor=False)
    show_grid([_training(one) for one in rows], "Trained plans", key="trainings", placeholder="–")
    st.caption(
        "Success of the last learned version in the first trial of other tasks. Mean and standard deviation are over "
        "trainings with different seeds. The cost in USD needs known prices."
    )
    kinds = list(dict.fromkeys((one.environment, one.task_type) for one in rows))
    kind = st.selectbox("Compare with the AutoPlan paper", kinds, format_func=lambda one: " ".join(filter(None, one)))
    _overlay(metrics.build_autoplan_overlay(rows, *kind), "-".join(filter(None, kind)), None)


def _overlay(table: pd.DataFrame, name: str, run: str | None) -> None:
    if table.empty or set(table["source"]) == {"here"}:
        st.caption("The paper reports no figure for these tasks.")
        return
    figure = CHARTS["published-overlay"](table)
    file, leaving = f"{name}-published", exporting(run)
    show_chart(figure, lambda: as_csv(table), key=f"chart-planned-{name}", file=file, leaving=leaving)


def _figure(name: str, found: Any) -> dict[str, str]:
    value = "–" if found.value is None else number(found.value, ".2f")
    span = range_text(found.interval, ".2f")
    return {"Figure": metrics.FIGURES[name], "Mean": value, "95% interval": span, "Tasks or trials": str(found.n)}


def _spent(spent: dict[str, float | None]) -> str:
    if not spent["requests"]:
        return "No model requests."
    cost = "at unknown cost" if spent["cost_usd"] is None else f"for {spent['cost_usd']:.4f} USD"
    tokens = (spent["prompt_tokens"] or 0) + (spent["completion_tokens"] or 0)
    return f"All trials used {spent['requests']:,.0f} requests and {tokens:,.0f} tokens, {cost}."


def _training(one: metrics.TrainedPlan) -> dict[str, Any]:
    return {
        "Environment": one.environment,
        "Type": one.task_type or None,
        "Batch": one.batch,
        "Flaw": "yes" if one.flaw else "no",
        "Revision": "yes" if one.revision else "no",
        "Seeds": one.seeds,
        "Success": f"{one.success:.1%}",
        "SD": None if one.sd is None else f"{one.sd:.1%}",
        "USD per training": one.usd_training,
        "USD per task": one.usd_inference_task,
    }
