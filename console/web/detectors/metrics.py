"""The results on the Detectors page: metrics, curves, thresholds, comparisons and costs of a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from shlex import quote
from typing import Any

import pandas as pd
import streamlit as st

from console.analysis.metrics import bootstrap
from console.analysis.metrics.classification import effective_reliability, macro_f1
from console.analysis.statistics.estimates import number, range_text
from console.database import Session, database_url, reading
from console.detection.detectors.baselines import RANDOM
from console.detection.evaluation import across, comparison, dashboard, paper
from console.detection.evaluation.dashboard import Dashboard, build_dashboard
from console.detection.evaluation.metrics import count_matrix, weigh_errors
from console.detection.evaluation.scores import OWN, Totals, read_totals
from console.errors import Refused
from console.language import counted
from console.runs.export.formats import as_csv
from console.runs.status import draw_sample
from console.studies.analysis.format import p_value
from console.trajectory.strict_yaml import read_data
from console.web.run_files import exporting, show_run_chart
from console.web.widgets.chart import download
from console.web.widgets.markup import show_html, style_sheets
from console.web.widgets.tables import FigureCell, FigureColumn, capitalize, figures_html, show_grid
from storage import tables

_COLUMNS = read_data(files(__package__) / "figure_columns.yaml", dict[str, FigureColumn])
_NO_PROBABILITY = "no probability; after enough reviews, convert the scores (inferact recalibrate)"
_ONE_CLASS = "needs both aligned and misaligned labels"
_OVERLAID = {"macro_f1": "Macro-F1", "er": "ER", "pr_auc": "PR-AUC", "ece": "ECE"}


def dashboard_of(session: Session, run: tables.Run) -> Dashboard:
    """Return the evaluation dashboard of a run; compute it again only if the version has changed."""
    totals = read_totals(session, run, draw_sample(session, run))
    return _dashboard(session, run, totals, database_url(), dashboard.dashboard_version(session, run, totals))


@st.cache_resource(max_entries=6, show_spinner="Measuring the detectors…")
def _dashboard(_session: Session, _run: tables.Run, _totals: Totals, url: str, version: tuple[Any, ...]) -> Dashboard:
    evaluation = build_dashboard(_session, _run, _totals)
    _ = evaluation.tables  # Computed now instead of on first use.
    return evaluation


def figures(evaluation: Dashboard) -> None:
    """Draw the table of all metrics with its CSV downloads; equal costs need no column of the weighted cost."""
    rows = {name: _cells(evaluation, name) for name in evaluation.figures}
    most = max(one.n for one in evaluation.known.values())
    ranked = [name for name, one in evaluation.known.items() if one.n == most and name != RANDOM.name]
    columns = {name: one for name, one in _COLUMNS.items() if name != "weighted_cost" or _costs() != (1.0, 1.0)}
    show_html(style_sheets("figures") + figures_html(rows, columns, ranked))
    _tell_flags(evaluation)
    st.caption(
        "95% bootstrap intervals. ★ marks the best value if its interval excludes the next detector's value. The "
        "comparison includes only detectors that judged the most trajectories, and never `random`. The figures of a "
        "detector that was tuned or trained on this run are optimistic; see “Within and across runs”."
    )
    with st.container(horizontal=True):
        _table_button("Figures (CSV)", evaluation.figure_table, evaluation, "figures")
        scores = partial(dashboard.score_table, evaluation.scores.values())
        _table_button("All scores (CSV)", scores, evaluation, "scores")


@st.fragment
def show_across_runs() -> None:
    """Draw each detector's results within each labelled run, next to its results on the other labelled runs."""
    st.header("Within and across runs")
    st.caption(
        "A detector is optimistic on data that it was tuned or trained on. The comparison measures each detector on "
        "other runs. The controls beside the detectors use only the form of a record."
    )
    if not st.button("Measure all runs", key="across"):
        return
    try:
        with reading() as session, st.spinner("Measuring across runs…"):
            rows = across.evaluate_across(across.read_sources(session))
    except Refused as refusal:
        st.text(str(refusal))
        return
    show_grid(across.format_cells(rows), "Within and across runs", key="across-runs", height="content")
    st.caption(across.NOTE)


def _tell_flags(evaluation: Dashboard) -> None:
    """Draw sentences on each detector's flags at its threshold, refused checkpoints and unreadable replies."""
    for name in evaluation.figures:
        one = evaluation.known[name]
        found, left = count_matrix(one), evaluation.excluded[name]
        excluded = f"; left out: {left:,} (halted, or without a label or a verdict)" if left else ""
        if copies := evaluation.population.copies:
            excluded += f"; {copies:,} more {'is a copy' if copies == 1 else 'are copies'} of earlier trials"
        st.text(
            f"{name} flags {found.tp:,} of {found.tp + found.fn:,} misaligned and {found.fp:,} of "
            f"{found.fp + found.tn:,} aligned trajectories, by gold label{excluded}."
        )
        if one.refused:
            st.text(f"{name}: its model refused to judge {counted(one.refused, 'checkpoint')}, which have no score.")
        if one.mode != OWN:
            st.text(f"{name}: {'all' if one.mode == 'paper' else 'some'} of its verdicts used the paper's method.")
    for name, known in evaluation.figures.items():
        if known["parsed_only"]:
            read = known["parsed_only"]
            st.text(
                f"{name} on the {read['n']:,} trajectories with readable replies: Macro-F1 {read['macro_f1']:.3f}, "
                f"cost {read['cost']:,}, ER {number(read['er'], '.3f')}."
            )


def curves(evaluation: Dashboard) -> None:
    """Draw the PR, ROC and reliability curves, or the reason why a curve is missing."""
    for column, name in zip(st.columns(2), ("pr-curve", "roc-curve"), strict=True):
        with column:
            if evaluation.both_classes:
                _draw(evaluation, name, evaluation.tables[name])
            else:
                st.caption(f"{name.replace('-', ' ')}: {_ONE_CLASS}.")
    probabilities = evaluation.tables["reliability"]
    if len(probabilities):
        _draw(evaluation, "reliability", probabilities)
    else:
        st.caption(
            "No reliability diagram: no detector here outputs a probability. Once reviewers found at least 10 "
            "misaligned and 10 aligned actions, convert the scores:"
        )
        first = quote(next(iter(evaluation.figures)))
        st.code(f"inferact recalibrate {quote(evaluation.run)} --detector {first}", language="bash")


@st.fragment
def threshold(evaluation: Dashboard) -> None:
    """Draw the score distribution of one detector, and the results and costs at each threshold."""
    st.header("Thresholds and costs")
    names = [*evaluation.figures, *(name for name in evaluation.scores if name not in evaluation.figures)]
    name = st.selectbox("Detector", names, key="threshold-detector", width=360)
    one = evaluation.scores[name]
    left, right = st.columns(2)
    with left:
        _draw(evaluation, "score-histogram", dashboard.histogram_table(one), of=name)
    with right:
        sweep = dashboard.sweep_table(
            one, evaluation.population, halted_free=evaluation.halted_free, reviews=evaluation.reviews
        )
        _draw(evaluation, "threshold-sweep", sweep, of=name)
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
            st.caption("No confusion matrix: the trajectories of this detector have no labels.")
            return
        counted = count_matrix(known, at)
        _draw(evaluation, "confusion-matrix", dashboard.confusion_table(counted), of=name)
    cost = weigh_errors(counted, *_costs())
    with right, st.container(horizontal=True):
        st.metric("Macro-F1", f"{macro_f1(counted):.3f}")
        st.metric("ER", number(effective_reliability(counted), ".3f"))
        st.metric("Weighted cost", f"{cost:,.1f}".removesuffix(".0"))


def _inspections(evaluation: Dashboard, name: str, at: float) -> None:
    table = dashboard.inspections_table(
        evaluation.scores[name],
        evaluation.population,
        at,
        evaluation.cap,
        halted_free=evaluation.halted_free,
        reviews=evaluation.reviews,
    )
    needed = int(table["inspections"].sum())
    limit = "the run has no budget."
    if evaluation.cap is not None:
        beyond = int(table["beyond_budget"].sum())
        reach = f"does not cover {beyond:,}" if beyond else "covers all"
        limit = f"the budget of {evaluation.cap:,} without known items {reach}."
    each = f" ({evaluation.reviews} reviews of each item)" if evaluation.reviews > 1 else ""
    if evaluation.is_gate:
        flagged = counted(int(table["flagged"].sum()), "action")
        st.markdown(f"**{flagged}** flagged by score alone; on a gate the policy selects the reviews.")
    else:
        about = "About " if evaluation.sample.stated else ""
        st.markdown(f"{about}**{counted(needed, 'inspection')}**{each}; {limit}")
    show_grid(_filled(table), "Inspections by trial", key=f"inspections-{name}", width="content", height="content")
    st.code(f"inferact detect {quote(evaluation.run)} --method {quote(name)} --threshold {at:g}", language="bash")


@st.fragment
def pair(evaluation: Dashboard) -> None:
    """Draw the comparison of two detectors on the same trajectories."""
    st.header("Compare two detectors")
    left, right = st.columns(2)
    names = list(evaluation.figures)
    first = left.selectbox("Detector", names, key="pair-first")
    second = right.selectbox("Against", [name for name in names if name != first], key="pair-second")
    tested = _paired(evaluation, evaluation.version, first, second)
    if not tested.n:
        st.caption("These detectors have no judged trajectory in common. Select another pair.")
        return
    rows = [_gain("Macro-F1", tested.macro_f1), _gain("AP", tested.ap)]
    show_grid(rows, f"{first} against {second}", key="pair", width="content")
    test = tested.test
    st.text(
        f"{counted(tested.n, 'trajectory')}: only {first} is correct on {test.only_first:,}, only {second} on "
        f"{test.only_second:,} (McNemar, p-value {p_value(test.p_value)})."
    )


@st.cache_resource(max_entries=60, show_spinner="Comparing…")
def _paired(_evaluation: Dashboard, version: tuple[Any, ...], first: str, second: str) -> comparison.Pair:
    return comparison.compare_pair(_evaluation.known[first], _evaluation.known[second])


def agreement(evaluation: Dashboard) -> None:
    """Draw the overlap of the detectors' flags."""
    if len(evaluation.scores) > 1:
        st.header("Shared flags")
        _draw(evaluation, "flag-overlap", evaluation.tables["flag-overlap"])


def models(evaluation: Dashboard) -> None:
    """Draw the comparison of models that judged with the same method, if there are any."""
    mixed = comparison.tabulate_mixes(evaluation.known, evaluation.figures, "macro_f1").assign(metric="Macro-F1")
    for method, frame in mixed.groupby("method"):
        st.header(f"Models of {method}")
        _draw(evaluation, "model-mixing", frame, of=str(method))


def show_published(evaluation: Dashboard) -> None:
    """Draw this run's metrics next to the published metrics of the same environment, if there are any."""
    if evaluation.environment not in paper.ENVIRONMENTS:
        return
    st.header("Published results")
    metric = st.selectbox(
        "Figure", list(_OVERLAID), format_func=_OVERLAID.__getitem__, key="published-metric", width=360
    )
    table = dashboard.published_table(evaluation.environment, evaluation.figures, metric, _OVERLAID[metric])
    _draw(evaluation, "published-overlay", table, of=metric)
    st.caption(
        "Hollow marks show the figures published in the InferAct paper (v3, Tables 1 and 2) for its models and tasks."
    )


def spending(evaluation: Dashboard) -> None:
    """Draw the requests, tokens, seconds and USD of each detector."""
    st.header("Time and cost")
    show_grid(
        _filled(evaluation.spending),
        "Time and cost",
        key="spending",
        width="content",
        column_config={
            "Seconds": st.column_config.NumberColumn(format="%.2f"),
            "Cost usd": st.column_config.NumberColumn("USD", format="%.4f"),
        },
    )
    _table_button("Table (CSV)", lambda: evaluation.spending, evaluation, "spending")
    if evaluation.spending["requests"].isna().all():
        st.caption("These detectors made no model requests.")


def _cells(evaluation: Dashboard, name: str) -> dict[str, FigureCell]:
    known = evaluation.figures[name]
    counted = count_matrix(evaluation.known[name])
    cost = bootstrap.estimate_confusion_interval(counted, lambda drawn: weigh_errors(drawn, *_costs()))
    values = {**known, "weighted_cost": weigh_errors(counted, *_costs()), "excluded": evaluation.excluded[name]}
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
    if gain.value is None or gain.interval is None or gain.p_value is None:
        return {"Figure": title, "Difference": "–", "95% interval": "–", "p": f"– ({_ONE_CLASS})"}
    return {
        "Figure": title,
        "Difference": number(gain.value, "+.3f"),
        "95% interval": range_text(gain.interval, "+.3f"),
        "p": p_value(gain.p_value),
    }


def _filled(table: pd.DataFrame) -> pd.DataFrame:
    return table.dropna(axis="columns", how="all").rename(columns=lambda name: capitalize(str(name).replace("_", " ")))


def _draw(evaluation: Dashboard, name: str, table: pd.DataFrame, *, of: str = "") -> None:
    show_run_chart(evaluation.run, name, evaluation.sample.add_to(table), of=of)


def _table_button(label: str, table: Callable[[], pd.DataFrame], evaluation: Dashboard, name: str) -> None:
    file, leaving = f"{evaluation.run}-{name}.csv", exporting(evaluation.run)

    def make() -> bytes:
        return as_csv(evaluation.sample.add_to(table()))

    download(label, make, file, "text/csv", f"{name}-csv", leaving=leaving, type="tertiary")
