"""The Runs page's section on Actors that plan: the figures of their papers, and plans by how they were learnt."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from console.analysis.charts import CHARTS
from console.database import reading
from console.runs.export.formats import as_csv
from console.trials.planning import metrics
from console.web.run_files import exporting
from console.web.widgets.chart import show_chart
from storage import tables

PLANNERS = ("introspective", "autoplan")
"""The Actors that plan."""


def planners_section(run: tables.Run) -> None:
    """The figures of a run whose Actor plans, beside those that are printed."""
    st.header("How its Actor planned", anchor=False)
    with reading() as session:
        found, spent = metrics.figures(session, run), metrics.run_usage(session, run)
    st.dataframe([_figure(name, one) for name, one in found.items()], key=f"planned-{run.id}", hide_index=True)
    st.caption(f"Means over tasks, or over trials where it says so, with 95% intervals. {_spent(spent)}")
    if run.actor != "introspective" or found["success_rate"].value is None:
        return
    metric = st.selectbox("Beside the paper", list(metrics.FIGURES)[:-1], format_func=metrics.FIGURES.__getitem__)
    _overlay(metrics.overlay(found, metric), f"{run.name}-{metric}", run.name)
    st.caption(
        "Hollow marks are what Devil's Advocate prints for its own models in WebArena; they were not measured here."
    )


def trainings_section() -> None:
    """Success of plans by how they were learnt; nothing where no run has gone by a plan's last version."""
    with reading() as session:
        rows = metrics.trained(session)
    if not rows:
        return
    st.subheader("Plans by how they were learnt", anchor=False)
    st.dataframe([_training(one) for one in rows], key="trainings", hide_index=True, placeholder="–")
    st.caption(
        "Success in the first trial of other tasks by the last version that was learnt; the mean and the standard "
        "deviation are over trainings, each with a seed of its own. USD are known where prices are."
    )
    kinds = list(dict.fromkeys((one.environment, one.task_type) for one in rows))
    kind = st.selectbox("Beside the AutoPlan paper", kinds, format_func=lambda one: " ".join(filter(None, one)))
    _overlay(metrics.autoplan_overlay(rows, *kind), "-".join(filter(None, kind)), None)


def _overlay(table: pd.DataFrame, name: str, run: str | None) -> None:
    if table.empty or set(table["source"]) == {"here"}:
        st.caption("The paper has no figure for these tasks.")
        return
    figure = CHARTS["published-overlay"](table)
    file, leaving = f"{name}-published", exporting(run)
    show_chart(figure, lambda: as_csv(table), key=f"chart-planned-{name}", file=file, leaving=leaving)


def _figure(name: str, found: Any) -> dict[str, str]:
    value = "–" if found.value is None else f"{found.value:.2f}"
    span = f"{found.interval.low:.2f} to {found.interval.high:.2f}" if found.interval else "–"
    return {"figure": metrics.FIGURES[name], "mean": value, "95% interval": span, "tasks or trials": str(found.n)}


def _spent(spent: dict[str, float | None]) -> str:
    if not spent["requests"]:
        return "No request to a model was counted."
    cost = "at prices that are not known" if spent["cost_usd"] is None else f"for {spent['cost_usd']:.4f} USD"
    tokens = (spent["prompt_tokens"] or 0) + (spent["completion_tokens"] or 0)
    return f"All trials took {spent['requests']:,.0f} requests and {tokens:,.0f} tokens, {cost}."


def _training(one: metrics.TrainedPlan) -> dict[str, Any]:
    return {
        "environment": one.environment,
        "type": one.task_type,
        "batch": one.batch,
        "flaw": one.flaw,
        "revision": one.revision,
        "seeds": one.seeds,
        "success": f"{one.success:.1%}",
        "SD": None if one.sd is None else f"{one.sd:.1%}",
        "USD a training": one.usd_training,
        "USD a task": one.usd_inference_task,
    }
