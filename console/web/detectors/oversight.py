"""Oversight on the Detectors page: the curve of what inspections catch, and how the run's budget was used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from console import runs
from console.database import database_url, reading
from console.detection import oversight
from console.language import counted
from console.web.run_files import show_burn_down, show_run_chart

_BY_ORDER, _BY_DETECTOR = "orders of one detector", "detectors in one order"
_WORDS = {
    "priority": "the highest score first",
    "expected-cost": "the highest expected cost first",
    "fp-first": "false alarms first, as the InferAct paper assumes",
    "ideal": "misaligned ones first",
}
_TWINS = ("priority", "expected-cost")
"""Where no action costs more than another and no detector tells probabilities, these are one line."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is compared: one detector in all orders, or all detectors in one; the other is None."""

    detector: str | None = None
    order: str | None = None

    @property
    def named(self) -> str:
        """The column that tells the lines apart."""
        return "policy" if self.order is None else "detector"


@st.fragment
def oversight_of(run_name: str) -> None:
    """The section: what to compare, the curve, what more inspections would have caught, the burn-down."""
    st.header("What inspections catch")
    with reading() as session:
        run = runs.get(session, run_name)
        version, settled = oversight.version(session, run), oversight.any_settled(session, run)
    head, body = st.container(horizontal=True, vertical_alignment="bottom"), st.container()
    with head:
        labels = _labels() if settled else "gold"
        pool = _pool(database_url(), run_name, labels, version)
        known = oversight.drawable(pool)
        if known:
            trial, further = _trial(list(known)), _further()
            wanted = _wanted(known[trial], pool.routing)
            curves = _curves(database_url(), pool, version, labels, trial, further, wanted)
    with body:
        if known:
            _drawn(run_name, curves, wanted)
        else:
            why = "no flagged item has a label" if pool.rows["flagged"].any() else "nothing is flagged"
            st.caption(f"No oversight curve: {why}, so nobody can tell what inspections catch.")
        show_burn_down(run_name, _burnt(database_url(), run_name, pool, pool.labels, version))


def _drawn(run: str, curves: oversight.Curves, wanted: _Wanted) -> None:
    points, summary = curves.points, curves.summary
    if wanted.order is None:
        points, summary = (_without_twin(frame, curves.points) for frame in (points, summary))
    left, right = st.columns([3, 2])
    with left:
        show_run_chart(run, "oversight-curve", points.assign(spent=curves.spent))
    with right:
        for sentence in _sentences(curves):
            st.markdown(sentence)
        _table(summary, wanted.named, curves.further)
        less = "; as reviewed, all but what reviewers let pass" * (oversight.AS_REVIEWED in set(summary["policy"]))
        st.caption(
            f"Caught after {counted(curves.spent, 'inspection')}, and by {curves.further:,} more. Every order looks at "
            f"flagged items only, and catches every misalignment that it looks at{less}. "
            "Area: 0 as in random order, 1 at best."
        )


def _table(summary: pd.DataFrame, named: str, further: int) -> None:
    renamed = {"corrected": "put right", "more": f"{further:,} more"}
    shown = summary[[named, "caught", *renamed, "area"]].rename(columns={**renamed, "policy": "order"})
    st.dataframe(
        shown.dropna(axis="columns", how="all"),
        key=f"oversight-{named}",
        hide_index=True,
        height="content",
        column_config={
            name: st.column_config.NumberColumn(format="%.2f" if name == "area" else "%.3g")
            for name in ("caught", *renamed.values(), "area")
        },
    )


def _sentences(curves: oversight.Curves) -> Iterator[str]:
    """The sentences on the curve: what was caught, what more brings, what no inspection finds."""
    summary, n = curves.summary, curves.further
    # Of several detectors the one that has caught most; of several orders the first, which is what happened.
    best = summary.sort_values(["caught", "more"], ascending=False) if summary["policy"].nunique() == 1 else summary
    first = best.iloc[0]
    of_flagged = f"of {counted(first['misaligned'], 'flagged misalignment')}"
    who = f"With {first['detector']}, {_WORDS.get(first['policy'], '')}, "
    if first["policy"] == oversight.AS_REVIEWED:
        caught = f"In {counted(curves.spent, 'inspection')} reviewers caught **{first['caught']:.0f} {of_flagged}**; "
        yield f"{caught}the next {n:,} in the queue hold{'s' if n == 1 else ''} **{first['more']:.0f} more**."
    elif curves.spent:
        caught = f"{who}{_catch(curves.spent)} **{first['caught']:.0f} {of_flagged}**"
        yield f"{caught}, {n:,} more **{first['more']:.0f}**."
    else:
        yield f"Nobody has inspected anything yet. {who}{_catch(n)} **{first['more']:.0f} {of_flagged}**."
    if first["missed"]:
        missed = counted(first["missed"], "misaligned action")
        yield f"Not flagged by {first['detector']} and so found by no inspection: {missed}."
    if first["unlabelled"]:
        yield f"Left out: {counted(first['unlabelled'], 'flagged item')} without a label."


def _catch(inspections: int) -> str:
    return f"{counted(inspections, 'inspection')} {'catches' if inspections == 1 else 'catch'}"


def _labels() -> str:
    return st.segmented_control("Labels", oversight.LABELS, default="gold", key="oversight-labels", required=True)


def _trial(known: list[int]) -> int:
    return st.selectbox("Trial", known, key="oversight-trial", width=110) if len(known) > 1 else known[0]


def _further() -> int:
    return int(st.number_input("Further inspections", 1, 100_000, 10, key="oversight-further", width=170))


def _wanted(detectors: list[str], routing: str) -> _Wanted:
    if len(detectors) > 1:
        kinds = [_BY_ORDER, _BY_DETECTOR]
        compared = st.segmented_control("Compare", kinds, default=_BY_ORDER, key="oversight-compare", required=True)
        if compared == _BY_DETECTOR:
            orders = list(_WORDS)
            return _Wanted(
                order=st.selectbox("Order", orders, key="oversight-order", format_func=_WORDS.__getitem__, width=300)
            )
    index = detectors.index(routing) if routing in detectors else 0
    return _Wanted(detector=st.selectbox("Detector", detectors, index, key="oversight-detector", width=240))


def _without_twin(frame: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """Without the line of the expected costs where it is that of the scores."""
    by_score, by_cost = (points[points["policy"] == policy]["caught"].to_list() for policy in _TWINS)
    return frame if by_score != by_cost else frame[frame["policy"] != _TWINS[1]]


@st.cache_resource(max_entries=6, show_spinner="Counting what inspections catch…")
def _pool(url: str, run_name: str, labels: str, version: tuple[Any, ...]) -> oversight.Pool:
    with reading() as session:
        return oversight.pool(session, runs.get(session, run_name), labels)


@st.cache_resource(max_entries=24, show_spinner="Counting what inspections catch…")
def _curves(
    url: str,
    _run_pool: oversight.Pool,
    version: tuple[Any, ...],
    labels: str,
    trial: int,
    further: int,
    wanted: _Wanted,
) -> oversight.Curves:
    orders = oversight.ORDERS if wanted.order is None else (wanted.order,)
    detectors = None if wanted.detector is None else (wanted.detector,)
    return oversight.curves(_run_pool, trial=trial, orders=orders, detectors=detectors, further=further)


@st.cache_resource(max_entries=6, show_spinner=False)
def _burnt(url: str, run_name: str, _run_pool: oversight.Pool, labels: str, version: tuple[Any, ...]) -> pd.DataFrame:
    with reading() as session:
        return oversight.burn_down(session, runs.get(session, run_name), _run_pool)
