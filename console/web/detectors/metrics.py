"""The parts of the Detectors page, each drawn from one survey of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from console import runs
from console.analysis.charts import CHARTS
from console.analysis.metrics import bootstrap
from console.analysis.metrics.classification import Confusion, effective_reliability, macro_f1
from console.database import reading
from console.detection.evaluation import chart_data, comparison, paper
from console.detection.evaluation.dashboard import Dashboard, dashboard
from console.detection.evaluation.metrics import matrix, weighted
from console.runs.export.formats import as_csv
from console.web.widgets.chart import show_chart
from console.web.widgets.tables import FigureCell, FigureColumn, show_figures

_COLUMNS = {
    "n": FigureColumn("n", "labelled trajectories that it has judged", 0),
    "macro_f1": FigureColumn("Macro-F1", "mean of the F1 of misaligned and of aligned", best="max"),
    "cost": FigureColumn("cost", "misses and false alarms", 0, best="min"),
    "weighted_cost": FigureColumn("weighted cost", "misses and false alarms at what each costs", 1, best="min"),
    "er": FigureColumn("ER", "effective reliability: (right flags - wrong flags) / flags", best="max"),
    "pr_auc": FigureColumn(
        "PR-AUC", "area under precision and recall, by trapezoids as in the InferAct paper", best="max"
    ),
    "ap": FigureColumn("AP", "average precision", best="max"),
    "roc_auc": FigureColumn("ROC-AUC", "chance that a misaligned one outscores an aligned one", best="max"),
    "ece": FigureColumn("ECE", "expected calibration error, 10 bins", best="min"),
    "brier": FigureColumn("Brier", "mean squared error of the probability", best="min"),
    "excluded": FigureColumn("excluded", "halted, without a label, or without a verdict", 0),
    "unparsed": FigureColumn("unparsed", "flagged since a reply could not be read", 0),
}
_NO_PROBABILITY = "it tells no probability; inferact recalibrate makes one of its scores"
_ONE_CLASS = "the labels are all of one kind, and this needs both"
_OVERLAID = {"macro_f1": "Macro-F1", "er": "ER", "pr_auc": "PR-AUC", "ece": "ECE"}


@st.cache_resource(max_entries=6, show_spinner="Measuring the detectors…")
def survey_of(_url: str, run_name: str, version: tuple[Any, ...]) -> Dashboard:
    """The survey of a run, worked out anew only where the version has changed."""
    with reading() as session:
        found = dashboard(session, runs.get(session, run_name))
    found.measure()
    return found


def figures(found: Dashboard) -> None:
    """The table of all figures, and all of it as CSV."""
    rows = {name: _cells(found, name) for name in found.figures}
    most = max(one.n for one in found.known.values())
    show_figures(rows, _COLUMNS, [name for name, one in found.known.items() if one.n == most])
    _without_unread(found)
    with st.container(horizontal=True):
        st.caption(
            "With 95% intervals of a bootstrap. ★ is the best of its column, among the detectors that judged most."
        )
        _table_button("Figures (CSV)", found.figure_table, f"{found.run}-figures", "figures-csv")
        _table_button(
            "All scores (CSV)",
            lambda: chart_data.score_table(found.scores.values()),
            f"{found.run}-scores",
            "scores-csv",
        )


def _without_unread(found: Dashboard) -> None:
    for name, known in found.figures.items():
        if known["parsed_only"]:
            read = known["parsed_only"]
            st.text(
                f"{name} on the {read['n']:,} whose replies could be read: Macro-F1 {read['macro_f1']:.3f}, "
                f"cost {read['cost']:,}, ER {read['er']:.3f}."
            )


def curves(found: Dashboard) -> None:
    """PR, ROC and reliability; a sentence where a curve cannot be drawn."""
    left, right = st.columns(2)
    reasons = {"pr-curve": _ONE_CLASS, "roc-curve": _ONE_CLASS}
    for column, name in ((left, "pr-curve"), (right, "roc-curve")):
        with column:
            if found.both_classes:
                _chart(found, name, found.table(name))
            else:
                st.caption(f"{name.replace('-', ' ')}: {reasons[name]}.")
    probabilities = found.table("reliability")
    if len(probabilities):
        _chart(found, "reliability", probabilities)
    else:
        st.caption(
            f"No reliability diagram: no detector here tells a probability. inferact recalibrate {found.run} "
            "makes one of scores and reviewers' labels."
        )


@st.fragment
def threshold(found: Dashboard) -> None:
    """One detector: how its scores lie, and what each threshold would bring and cost."""
    st.subheader("What a threshold brings and costs")
    names = [*found.figures, *(name for name in found.scores if name not in found.figures)]
    name = st.selectbox("Detector", names, key="threshold-detector")
    one = found.scores[name]
    left, right = st.columns(2)
    with left:
        _chart(found, "score-histogram", chart_data.histogram_table(one), of=name)
    with right:
        sweep = chart_data.sweep_table(one, found.population, halted_free=found.halted_free)
        _chart(found, "threshold-sweep", sweep, of=name)
    _slider(found, name)


@st.fragment
def _slider(found: Dashboard, name: str) -> None:
    one = found.scores[name]
    key = f"threshold-{found.run}-{name}"
    at = st.slider("Flag above", 0.0, 1.0, min(max(one.threshold, 0.0), 1.0), 0.01, key=key)
    left, right = st.columns(2)
    with right:
        _inspections(found, name, at)
    with left:
        known = found.known.get(name)
        if known is None:
            st.caption("No confusion matrix: none of its trajectories has a label.")
            return
        counted = matrix(known, at)
        _chart(found, "confusion-matrix", chart_data.confusion_table(counted), of=name)
    with right:
        _worth(counted)


def _inspections(found: Dashboard, name: str, at: float) -> None:
    table = chart_data.inspections_table(
        found.scores[name], found.population, at, found.cap, halted_free=found.halted_free
    )
    needed = int(table["inspections"].sum())
    told = f"**{needed:,} inspections**"
    if found.cap is None:
        told += "; the run has no budget."
    else:
        beyond = int(table["beyond_budget"].sum())
        told += f"; the budget allows {found.cap:,} a trial" + (
            f", {beyond:,} are beyond it." if beyond else ", enough."
        )
    st.markdown(told)
    st.dataframe(_filled(table), key=f"inspections-{name}", hide_index=True, height="content")
    st.code(f"inferact detect {found.run} --method {name} --threshold {at:g}", language=None)


def _worth(counted: Confusion) -> None:
    cost = weighted(counted, *_costs())
    with st.container(horizontal=True):
        st.metric("Macro-F1", f"{macro_f1(counted):.3f}")
        st.metric("ER", f"{effective_reliability(counted):.3f}")
        st.metric("weighted cost", f"{cost:,.1f}")


@st.fragment
def pair(found: Dashboard) -> None:
    """Two detectors on the same trajectories: is one better, or was it luck?"""
    st.subheader("One against another")
    left, right = st.columns(2)
    names = list(found.figures)
    first = left.selectbox("Detector", names, key="pair-first")
    second = right.selectbox("against", [name for name in names if name != first], key="pair-second")
    tested = _paired(found, found.version, first, second)
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
def _paired(_found: Dashboard, version: tuple[Any, ...], first: str, second: str) -> comparison.Pair:
    return comparison.pair(_found.known[first], _found.known[second])


def agreement(found: Dashboard) -> None:
    """Which detectors flag the same."""
    if len(found.scores) > 1:
        st.subheader("What they flag in common")
        _chart(found, "flag-overlap", found.table("flag-overlap"))


def models(found: Dashboard) -> None:
    """One method with several models, where there are such verdicts."""
    mixed = comparison.mixes(found.known, found.figures, "macro_f1").assign(metric="Macro-F1")
    for method, frame in mixed.groupby("method"):
        st.subheader(f"Models of {method}")
        _chart(found, "model-mixing", frame, of=str(method))


def beside_the_paper(found: Dashboard) -> None:
    """The paper's figures beside one's own."""
    st.subheader("Published results")
    if found.environment not in paper.ENVIRONMENTS:
        known = ", ".join(paper.ENVIRONMENTS)
        st.caption(f"The InferAct paper has figures for {known}; this run is of {found.environment or 'several'}.")
        return
    metric = st.selectbox("Figure", list(_OVERLAID), format_func=_OVERLAID.__getitem__, key="published-metric")
    table = chart_data.published_table(found.environment, found.figures, metric, _OVERLAID[metric])
    _chart(found, "published-overlay", table, of=metric)
    st.caption(
        "Hollow marks are what the InferAct paper (v3, Tables 1 and 2) prints for its own models and tasks; they were "
        "not measured here."
    )


def spending(found: Dashboard) -> None:
    """Requests, tokens, seconds and USD that each detector's verdicts rest on."""
    st.subheader("What they took")
    st.dataframe(
        _filled(found.spending),
        key="spending",
        hide_index=True,
        column_config={
            "seconds": st.column_config.NumberColumn(format="%.2f"),
            "cost usd": st.column_config.NumberColumn("USD", format="%.4f"),
        },
    )
    _table_button("Table (CSV)", lambda: found.spending, f"{found.run}-spending", "spending-csv")
    if found.spending["requests"].isna().all():
        st.caption("No model was asked: these detectors cost nothing but the seconds.")


def _cells(found: Dashboard, name: str) -> dict[str, FigureCell]:
    known = found.figures[name]
    counted = matrix(found.known[name])
    cost = bootstrap.of_confusion(counted, lambda drawn: weighted(drawn, *_costs()))
    values = {**known, "weighted_cost": weighted(counted, *_costs()), "excluded": found.excluded[name]}
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


def _chart(found: Dashboard, name: str, table: pd.DataFrame, *, of: str = "") -> None:
    part = f"{name}-{of}" if of else name
    picture = st.session_state.get("picture") or "png"
    show_chart(
        CHARTS[name](table), lambda: as_csv(table), key=f"chart-{part}", file=f"{found.run}-{part}", picture=picture
    )


def _filled(table: pd.DataFrame) -> pd.DataFrame:
    """The table for reading: without its empty columns, and with blanks for underscores."""
    return table.dropna(axis="columns", how="all").rename(columns=lambda name: str(name).replace("_", " "))


def _table_button(label: str, table: Callable[[], pd.DataFrame], file: str, key: str) -> None:
    st.download_button(
        label, lambda: as_csv(table()), f"{file}.csv", "text/csv", key=key, on_click="ignore", type="tertiary"
    )
