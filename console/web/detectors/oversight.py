"""Oversight on the Detectors page: the curve of caught misalignments, and the budget used over time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from console import runs
from console.analysis.statistics.estimates import number
from console.database import database_url, reading
from console.detection import oversight
from console.language import counted
from console.runs.status import Sample
from console.web.run_files import show_burn_down, show_run_chart
from console.web.widgets.tables import show_grid
from storage.tables import RunKind

_BY_ORDER, _BY_DETECTOR = "orders of one detector", "detectors in one order"
_WORDS = {
    "priority": "highest score first",
    "expected-cost": "highest expected cost first",
    "fp-first": "false alarms first, as the InferAct paper assumes",
    "ideal": "misaligned ones first",
}
_TWINS = ("priority", "expected-cost")
"""The orders whose curves are equal if all actions have one cost and the detector outputs no probability."""

_PLAYED = (
    "The curves label flagged actions of a live run by running each in a copy of its environment. The metrics of "
    "detectors use gold labels only."
)

_Wanted = tuple[str | None, str | None]
"""The comparison to draw: one detector in all orders (the order is None), or all detectors in one order."""


@st.fragment
def show_oversight(run_name: str) -> None:
    """Draw the oversight section: the choice of curves, the curves, further inspections and the burn-down."""
    st.header("Inspections and caught misalignments")
    with reading() as session:
        run = runs.get(session, run_name)
        version, settled = oversight.pool_version(session, run), oversight.has_settled_labels(session, run)
        is_live, is_routed = run.kind == RunKind.LIVE, run.detector is not None
    head, body = st.container(horizontal=True, vertical_alignment="bottom"), st.container()
    with head:
        labels = "gold"
        if settled:
            labels = st.segmented_control(
                "Labels", oversight.LABELS, default="gold", key="oversight-labels", required=True
            )
        pool = _pool(database_url(), run_name, labels, version)
        known = oversight.list_drawable(pool)
        if known:
            trials = list(known)
            trial = st.selectbox("Trial", trials, key="oversight-trial", width=110) if len(trials) > 1 else trials[0]
            further = int(st.number_input("Further inspections", 1, 100_000, 10, key="oversight-further", width=170))
            wanted = _wanted(known[trial], pool.routing)
            curves = _curves(database_url(), pool, version, labels, trial, further, wanted)
    with body:
        if known:
            undecided = _tell_undecided(pool.routing, known[trial], is_routed=is_routed)
            _drawn(run_name, curves, wanted, undecided, pool.sample)
            if is_live and labels == oversight.LABELS[0]:
                st.caption(_PLAYED)
        else:
            why = (
                f"no flagged trajectory has {'a gold' if labels == 'gold' else 'a settled'} label"
                if pool.rows["flagged"].any()
                else "nothing is flagged"
            )
            st.caption(f"No oversight curve: {why}.")
        show_burn_down(run_name, _burnt(database_url(), run_name, pool, pool.labels, version))


def _tell_undecided(routing: str, flaggers: list[str], *, is_routed: bool) -> str:
    if is_routed and routing not in flaggers:
        return f"{routing} selects the items of this run, and flagged no labelled trajectory of this trial."
    return "No flagged trajectory of this trial is decided yet."


def _drawn(run: str, curves: oversight.Curves, wanted: _Wanted, undecided: str, sample: Sample) -> None:
    points, summary = curves.points, curves.summary
    if wanted[1] is None:
        by_score, by_cost = (points[points["policy"] == policy]["caught"].to_list() for policy in _TWINS)
        if by_score == by_cost:
            points, summary = (frame[frame["policy"] != _TWINS[1]] for frame in (points, summary))
    left, right = st.columns([3, 2])
    with left:
        show_run_chart(run, "oversight-curve", sample.add_to(points.assign(spent=curves.spent)))
    with right:
        for sentence in _sentences(curves, undecided):
            st.markdown(sentence)
        _table(summary, "policy" if wanted[1] is None else "detector", curves.further)
        less = "; “as reviewed” excludes misalignments that reviewers approved"
        told = (
            " “Corrected” counts caught actions whose task succeeded later."
            if summary["corrected"].notna().any()
            else ""
        )
        told += " Area: 0 for a random order, 1 at best." if summary["area"].notna().any() else ""
        st.caption(
            f"Misalignments caught in the first {counted(curves.spent, 'flagged trajectory')}, and in "
            f"{curves.further:,} more. The curves inspect flagged trajectories only, and every inspected misalignment "
            f"is caught{less if oversight.AS_REVIEWED in set(summary['policy']) else ''}.{told}"
        )


def _table(summary: pd.DataFrame, named: str, further: int) -> None:
    renamed = {"caught": "Caught", "corrected": "Corrected", "more": f"Up to {further:,} more", "area": "Area"}
    shown = summary[[named, *renamed]].rename(columns={**renamed, "policy": "Order", "detector": "Detector"})
    filled = shown.dropna(axis="columns", how="all")
    forms = {name: ".2f" if name == "Area" else ".3g" for name in renamed.values() if name in filled}
    show_grid(
        filled.style.format({name: partial(number, form=form) for name, form in forms.items()}, na_rep="–"),
        key=f"oversight-{named}",
        label="Misalignments caught",
        width="content",
        height="content",
    )


def _sentences(curves: oversight.Curves, undecided: str) -> Iterator[str]:
    """Yield sentences on the misalignments caught so far, caught by further inspections, not flagged, and excluded."""
    summary, n = curves.summary, curves.further
    # Of several detectors, take the one that caught most; of several orders, take the first, which is the actual order.
    best = summary.sort_values(["caught", "more"], ascending=False) if summary["policy"].nunique() == 1 else summary
    first = best.iloc[0]
    of_flagged, left = f"of {counted(first['misaligned'], 'flagged misalignment')}", first["flagged"] - first["spent"]
    who = f"With {first['detector']}, {_WORDS.get(first['policy'], '')}, "
    if first["policy"] == oversight.AS_REVIEWED:
        rest = f"; the next {_contain(min(n, left))} **{first['more']:.0f} more**" if left else ""
        items = counted(first["spent"], "flagged trajectory")
        yield f"Reviewers decided {items} and caught **{first['caught']:.0f} {of_flagged}**{rest}."
    elif first["spent"]:
        caught = f"{who}the first {_contain(first['spent'])} **{first['caught']:.0f} {of_flagged}**"
        yield f"{caught}, {min(n, left):,} more **{first['more']:.0f}**."
    else:
        yield f"{undecided} {who}the first {_contain(min(n, left))} **{first['more']:.0f} {of_flagged}**."
    if first["missed"]:
        missed = counted(first["missed"], "misaligned trajectory")
        yield f"Not flagged by {first['detector']}, so not on the curves: {missed}."
    if first["unlabelled"]:
        yield f"Excluded: {counted(first['unlabelled'], 'flagged trajectory')} without a label."


def _contain(items: int) -> str:
    return "flagged trajectory contains" if items == 1 else f"{counted(items, 'flagged trajectory')} contain"


def _wanted(detectors: list[str], routing: str) -> _Wanted:
    if len(detectors) > 1:
        kinds = [_BY_ORDER, _BY_DETECTOR]
        compared = st.segmented_control("Compare", kinds, default=_BY_ORDER, key="oversight-compare", required=True)
        if compared == _BY_DETECTOR:
            named = _WORDS.__getitem__
            return None, st.selectbox("Order", list(_WORDS), key="oversight-order", format_func=named, width=300)
    index = detectors.index(routing) if routing in detectors else 0
    return st.selectbox("Detector", detectors, index, key="oversight-detector", width=240), None


@st.cache_resource(max_entries=6, show_spinner="Counting caught misalignments…")
def _pool(url: str, run_name: str, labels: str, version: tuple[Any, ...]) -> oversight.Pool:
    with reading() as session:
        return oversight.read_pool(session, runs.get(session, run_name), labels)


@st.cache_resource(max_entries=24, show_spinner="Counting caught misalignments…")
def _curves(
    url: str,
    _run_pool: oversight.Pool,
    version: tuple[Any, ...],
    labels: str,
    trial: int,
    further: int,
    wanted: _Wanted,
) -> oversight.Curves:
    detector, order = wanted
    orders = oversight.ORDERS if order is None else (order,)
    detectors = None if detector is None else (detector,)
    return oversight.compute_curves(_run_pool, trial=trial, orders=orders, detectors=detectors, further=further)


@st.cache_resource(max_entries=6, show_spinner=False)
def _burnt(url: str, run_name: str, _run_pool: oversight.Pool, labels: str, version: tuple[Any, ...]) -> pd.DataFrame:
    with reading() as session:
        return oversight.tabulate_burn_down(session, runs.get(session, run_name), _run_pool)
