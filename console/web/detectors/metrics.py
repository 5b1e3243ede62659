"""Metrics on the Detectors page: figures, curves, thresholds, comparisons and costs of a run's evaluation dashboard."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from shlex import quote
from typing import Any

import pandas as pd
import streamlit as st

from console import runs
from console.analysis.metrics import bootstrap
from console.analysis.metrics.classification import Confusion, effective_reliability, macro_f1
from console.database import reading
from console.detection.evaluation import across, chart_data, comparison, paper
from console.detection.evaluation.dashboard import Dashboard, dashboard
from console.detection.evaluation.metrics import matrix, weighted
from console.detection.evaluation.scores import OWN
from console.errors import Refused
from console.language import counted
from console.runs.export.formats import as_csv
from console.trajectory.data_files import read_data
from console.web.run_files import exporting, show_run_chart
from console.web.widgets.chart import recorded
from console.web.widgets.tables import FigureCell, FigureColumn, show_figures

_COLUMNS = read_data(files(__package__) / "figure_columns.yaml", dict[str, FigureColumn])
_NO_PROBABILITY = "no probability is told; inferact recalibrate makes one of the scores"
_ONE_CLASS = "the labels are all of one kind, and this needs both"
_OVERLAID = {"macro_f1": "Macro-F1", "er": "ER", "pr_auc": "PR-AUC", "ece": "ECE"}


@st.cache_resource(max_entries=6, show_spinner="Measuring the detectors…")
def dashboard_of(_url: str, run_name: str, version: tuple[Any, ...]) -> Dashboard:
    """The evaluation dashboard of a run, worked out anew only where the version has changed."""
    with reading() as session:
        evaluation = dashboard(session, runs.get(session, run_name))
    evaluation.measure()
    return evaluation


def figures(evaluation: Dashboard) -> None:
    """The table of all figures, and all of it as CSV."""
    rows = {name: _cells(evaluation, name) for name in evaluation.figures}
    most = max(one.n for one in evaluation.known.values())
    show_figures(rows, _COLUMNS, [name for name, one in evaluation.known.items() if one.n == most])
    _without_unread(evaluation)
    st.caption(
        "With 95% intervals of a bootstrap. ★ is the best of its column, among the detectors that judged most. "
        "What was tuned or learnt on this run flatters itself here; see Within and across runs."
    )
    with st.container(horizontal=True):
        _table_button("Figures (CSV)", evaluation.figure_table, evaluation.run, "figures")
        _table_button(
            "All scores (CSV)", lambda: chart_data.score_table(evaluation.scores.values()), evaluation.run, "scores"
        )


@st.fragment
def across_runs() -> None:
    """Every detector twice: within each run with labels, and on runs that nothing was learnt or tuned on."""
    st.header("Within and across runs")
    st.caption(
        "What was tuned or learnt on a log flatters itself there. This measures each detector on runs that it learnt "
        "nothing from, beside two controls that only know how long a record is."
    )
    if not st.button("Measure across all runs", key="across"):
        return
    try:
        with reading() as session, st.spinner("Measuring across runs…"):
            rows = across.across(across.sources_of(session))
    except Refused as refusal:
        st.text(str(refusal))
        return
    st.dataframe(across.in_cells(rows), key="across-runs", hide_index=True, height="content")
    st.caption(across.NOTE)


def _without_unread(evaluation: Dashboard) -> None:
    for name, one in evaluation.known.items():
        if one.mode != OWN:
            st.text(f"{name}: {'all' if one.mode == 'paper' else 'some'} of its verdicts were made the paper's way.")
    for name, known in evaluation.figures.items():
        if known["parsed_only"]:
            read = known["parsed_only"]
            st.text(
                f"{name} on the {read['n']:,} whose replies could be read: Macro-F1 {read['macro_f1']:.3f}, "
                f"cost {read['cost']:,}, ER {read['er']:.3f}."
            )


def curves(evaluation: Dashboard) -> None:
    """PR, ROC and reliability; a sentence where a curve cannot be drawn."""
    for column, name in zip(st.columns(2), ("pr-curve", "roc-curve"), strict=True):
        with column:
            if evaluation.both_classes:
                show_run_chart(evaluation.run, name, evaluation.table(name))
            else:
                st.caption(f"{name.replace('-', ' ')}: {_ONE_CLASS}.")
    probabilities = evaluation.table("reliability")
    if len(probabilities):
        show_run_chart(evaluation.run, "reliability", probabilities)
    else:
        st.caption(
            "No reliability diagram: no detector here tells a probability. "
            f"inferact recalibrate {quote(evaluation.run)} makes one of scores and reviewers' labels."
        )


@st.fragment
def threshold(evaluation: Dashboard) -> None:
    """One detector: how its scores lie, and what each threshold would bring and cost."""
    st.header("What a threshold brings and costs")
    names = [*evaluation.figures, *(name for name in evaluation.scores if name not in evaluation.figures)]
    name = st.selectbox("Detector", names, key="threshold-detector")
    one = evaluation.scores[name]
    left, right = st.columns(2)
    with left:
        show_run_chart(evaluation.run, "score-histogram", chart_data.histogram_table(one), of=name)
    with right:
        sweep = chart_data.sweep_table(one, evaluation.population, halted_free=evaluation.halted_free)
        show_run_chart(evaluation.run, "threshold-sweep", sweep, of=name)
    _slider(evaluation, name)


@st.fragment
def _slider(evaluation: Dashboard, name: str) -> None:
    one = evaluation.scores[name]
    key = f"threshold-{evaluation.run}-{name}"
    at = st.slider("Flag above", 0.0, 1.0, min(max(one.threshold, 0.0), 1.0), 0.01, key=key)
    left, right = st.columns(2)
    with right:
        _inspections(evaluation, name, at)
    with left:
        known = evaluation.known.get(name)
        if known is None:
            st.caption("No confusion matrix: none of its trajectories has a label.")
            return
        counted = matrix(known, at)
        show_run_chart(evaluation.run, "confusion-matrix", chart_data.confusion_table(counted), of=name)
    with right:
        _worth(counted)


def _inspections(evaluation: Dashboard, name: str, at: float) -> None:
    table = chart_data.inspections_table(
        evaluation.scores[name], evaluation.population, at, evaluation.cap, halted_free=evaluation.halted_free
    )
    needed = int(table["inspections"].sum())
    sentence = f"**{counted(needed, 'inspection')}**"
    if evaluation.cap is None:
        sentence += "; the run has no budget."
    else:
        beyond = int(table["beyond_budget"].sum())
        sentence += f"; the budget allows {evaluation.cap:,} a trial" + (
            f", {beyond:,} {'is' if beyond == 1 else 'are'} beyond it." if beyond else ", enough."
        )
    st.markdown(sentence)
    st.dataframe(_filled(table), key=f"inspections-{name}", hide_index=True, height="content")
    st.code(f"inferact detect {quote(evaluation.run)} --method {quote(name)} --threshold {at:g}", language=None)


def _worth(counted: Confusion) -> None:
    cost = weighted(counted, *_costs())
    with st.container(horizontal=True):
        st.metric("Macro-F1", f"{macro_f1(counted):.3f}")
        st.metric("ER", f"{effective_reliability(counted):.3f}")
        st.metric("weighted cost", f"{cost:,.1f}")


@st.fragment
def pair(evaluation: Dashboard) -> None:
    """Two detectors on the same trajectories: is one better, or was it luck?"""
    st.header("One against another")
    left, right = st.columns(2)
    names = list(evaluation.figures)
    first = left.selectbox("Detector", names, key="pair-first")
    second = right.selectbox("against", [name for name in names if name != first], key="pair-second")
    tested = _paired(evaluation, evaluation.version, first, second)
    if not tested.n:
        st.caption("These two have judged no trajectory in common.")
        return
    rows = [_gain("Macro-F1", tested.macro_f1), _gain("AP", tested.ap)]
    st.dataframe(rows, key="pair", hide_index=True)
    test = tested.test
    st.text(
        f"On {tested.n:,} trajectories only {first} is right about {test.only_first:,}, only {second} about "
        f"{test.only_second:,} (McNemar, p = {test.p_value:.3g})."
    )


@st.cache_resource(max_entries=60, show_spinner="Comparing…")
def _paired(_evaluation: Dashboard, version: tuple[Any, ...], first: str, second: str) -> comparison.Pair:
    return comparison.pair(_evaluation.known[first], _evaluation.known[second])


def agreement(evaluation: Dashboard) -> None:
    """Which detectors flag the same."""
    if len(evaluation.scores) > 1:
        st.header("What they flag in common")
        show_run_chart(evaluation.run, "flag-overlap", evaluation.table("flag-overlap"))


def models(evaluation: Dashboard) -> None:
    """One method with several models, where there are such verdicts."""
    mixed = comparison.mixes(evaluation.known, evaluation.figures, "macro_f1").assign(metric="Macro-F1")
    for method, frame in mixed.groupby("method"):
        st.header(f"Models of {method}")
        show_run_chart(evaluation.run, "model-mixing", frame, of=str(method))


def beside_the_paper(evaluation: Dashboard) -> None:
    """The paper's figures beside one's own."""
    st.header("Published results")
    if evaluation.environment not in paper.ENVIRONMENTS:
        known, own = ", ".join(paper.ENVIRONMENTS), ", ".join(evaluation.environment.split(",")) or "several"
        st.caption(f"The InferAct paper has figures for {known}, each alone; this run is of {own}.")
        return
    metric = st.selectbox("Figure", list(_OVERLAID), format_func=_OVERLAID.__getitem__, key="published-metric")
    table = chart_data.published_table(evaluation.environment, evaluation.figures, metric, _OVERLAID[metric])
    show_run_chart(evaluation.run, "published-overlay", table, of=metric)
    st.caption(
        "Hollow marks are what the InferAct paper (v3, Tables 1 and 2) prints for its own models and tasks; they were "
        "not measured here."
    )


def spending(evaluation: Dashboard) -> None:
    """Requests, tokens, seconds and USD that each detector's verdicts rest on."""
    st.header("What they took")
    st.dataframe(
        _filled(evaluation.spending),
        key="spending",
        hide_index=True,
        column_config={
            "seconds": st.column_config.NumberColumn(format="%.2f"),
            "cost usd": st.column_config.NumberColumn("USD", format="%.4f"),
        },
    )
    _table_button("Table (CSV)", lambda: evaluation.spending, evaluation.run, "spending")
    if evaluation.spending["requests"].isna().all():
        st.caption("No model was asked: these detectors cost nothing but the seconds.")


def _cells(evaluation: Dashboard, name: str) -> dict[str, FigureCell]:
    known = evaluation.figures[name]
    counted = matrix(evaluation.known[name])
    cost = bootstrap.of_confusion(counted, lambda drawn: weighted(drawn, *_costs()))
    values = {**known, "weighted_cost": weighted(counted, *_costs()), "excluded": evaluation.excluded[name]}
    bounds = {**known["intervals"], "weighted_cost": cost and {"low": cost.low, "high": cost.high}}
    cells = {}
    for column in _COLUMNS:
        span = bounds.get(column)
        reason = _NO_PROBABILITY if column in ("ece", "brier") else _ONE_CLASS
        cells[column] = FigureCell(values[column], (span["low"], span["high"]) if span else None, reason)
    return cells


def _costs() -> tuple[float, float]:
    return st.session_state.get("miss_cost", 1.0), st.session_state.get("alarm_cost", 1.0)


def _gain(title: str, gain: comparison.Gain) -> dict[str, str]:
    if gain.value is None or gain.interval is None:
        return {"figure": title, "difference": "–", "95% interval": "–", "p": f"– ({_ONE_CLASS})"}
    return {
        "figure": title,
        "difference": f"{gain.value:+.3f}",
        "95% interval": f"{gain.interval.low:+.3f} to {gain.interval.high:+.3f}",
        "p": f"{gain.p_value:.3g}",
    }


def _filled(table: pd.DataFrame) -> pd.DataFrame:
    """The table for reading: without its empty columns, and with blanks for underscores."""
    return table.dropna(axis="columns", how="all").rename(columns=lambda name: str(name).replace("_", " "))


def _table_button(label: str, table: Callable[[], pd.DataFrame], run: str, name: str) -> None:
    file = f"{run}-{name}.csv"
    make = recorded(lambda: as_csv(table()), file, exporting(run))
    st.download_button(label, make, file, "text/csv", key=f"{name}-csv", on_click="ignore", type="tertiary")
