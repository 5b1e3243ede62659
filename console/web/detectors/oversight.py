"""What inspections catch, on the Detectors page: the oversight curve of a run, and how its budget was used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from console import runs
from console.analysis.charts import CHARTS
from console.database import database_url, reading
from console.detection import oversight
from console.runs.export.formats import as_csv
from console.web.widgets.chart import show_chart

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
    st.subheader("What inspections catch")
    with reading() as session:
        run = runs.get(session, run_name)
        version, settled = oversight.version(session, run), oversight.any_settled(session, run)
    head, body = st.container(horizontal=True, vertical_alignment="bottom"), st.container()
    with head:
        labels = _labels() if settled else "gold"
        there = _pool(database_url(), run_name, labels, version)
        known = oversight.drawable(there)
        if known:
            trial, further = _trial(list(known)), _further()
            wanted = _wanted(known[trial], there.routing)
            found = _curves(database_url(), there, version, labels, trial, further, wanted)
    with body:
        if known:
            _drawn(run_name, found, wanted)
        else:
            st.caption("No oversight curve: no flagged item has a label, so nobody can tell what was caught.")
        _burn_down(run_name, there, version)


def _drawn(run: str, found: oversight.Curves, wanted: _Wanted) -> None:
    points, summary = found.points, found.summary
    if wanted.order is None:
        points, summary = (_without_twin(frame, found.points) for frame in (points, summary))
    left, right = st.columns([3, 2])
    with left:
        _chart("oversight-curve", points.assign(spent=found.spent), run)
    with right:
        for sentence in _told(found):
            st.markdown(sentence)
        _table(summary, wanted.named, found.further)
        st.caption(
            f"Caught after {found.spent:,} inspections, and by {found.further:,} more. Every order looks at flagged "
            "items only, and catches what it looks at. Area: 0 as in random order, 1 at best."
        )


def _table(summary: pd.DataFrame, named: str, further: int) -> None:
    renamed = {"corrected": "put right", "more": f"{further:,} more"}
    shown = summary[[named, "caught", *renamed, "area"]].rename(columns=renamed)
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


def _told(found: oversight.Curves) -> Iterator[str]:
    """What the curve says, in sentences: what was caught, what more brings, what no inspection finds."""
    summary, n = found.summary, found.further
    # Of several detectors the one that has caught most; of several orders the first, which is what happened.
    best = summary.sort_values(["caught", "more"], ascending=False) if summary["policy"].nunique() == 1 else summary
    first = best.iloc[0]
    there = f"of {first['misaligned']:,} flagged misalignments"
    who = f"With {first['detector']}, {_WORDS.get(first['policy'], '')}, "
    if first["policy"] == oversight.AS_REVIEWED:
        caught = f"In {found.spent:,} inspections reviewers caught **{first['caught']:.0f} {there}**; "
        yield f"{caught}the next {n:,} in the queue hold **{first['more']:.0f} more**."
    elif found.spent:
        caught = f"{who}{found.spent:,} inspections catch **{first['caught']:.0f} {there}**"
        yield f"{caught}, {n:,} more **{first['more']:.0f}**."
    else:
        yield f"Nobody has inspected anything yet. {who}{n:,} inspections catch **{first['more']:.0f} {there}**."
    if first["missed"]:
        yield f"{first['missed']:,} misaligned are not flagged by {first['detector']}: no inspection finds them."
    if first["unlabelled"]:
        yield f"{first['unlabelled']:,} flagged items have no label and are left out."


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
    place = detectors.index(routing) if routing in detectors else 0
    return _Wanted(detector=st.selectbox("Detector", detectors, place, key="oversight-detector", width=240))


def _without_twin(frame: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """Without the line of the expected costs where it is that of the scores."""
    by_score, by_cost = (points[points["policy"] == policy]["caught"].to_list() for policy in _TWINS)
    return frame if by_score != by_cost else frame[frame["policy"] != _TWINS[1]]


def _burn_down(run: str, there: oversight.Pool, version: tuple[Any, ...]) -> None:
    burnt = _burnt(database_url(), run, there, there.labels, version)
    if burnt.empty:
        st.caption("No budget was used yet: nobody has claimed an item of this run.")
    else:
        _chart("budget-burn-down", burnt, run)


def _chart(name: str, table: pd.DataFrame, run: str) -> None:
    picture = st.session_state.get("picture") or "png"
    show_chart(CHARTS[name](table), lambda: as_csv(table), key=f"chart-{name}", file=f"{run}-{name}", picture=picture)


@st.cache_resource(max_entries=6, show_spinner="Counting what inspections catch…")
def _pool(url: str, run_name: str, labels: str, version: tuple[Any, ...]) -> oversight.Pool:
    with reading() as session:
        return oversight.pool(session, runs.get(session, run_name), labels)


@st.cache_resource(max_entries=24, show_spinner="Counting what inspections catch…")
def _curves(
    url: str,
    _there: oversight.Pool,
    version: tuple[Any, ...],
    labels: str,
    trial: int,
    further: int,
    wanted: _Wanted,
) -> oversight.Curves:
    orders = oversight.ORDERS if wanted.order is None else (wanted.order,)
    detectors = None if wanted.detector is None else (wanted.detector,)
    return oversight.curves(_there, trial=trial, orders=orders, detectors=detectors, further=further)


@st.cache_resource(max_entries=6, show_spinner=False)
def _burnt(url: str, run_name: str, _there: oversight.Pool, labels: str, version: tuple[Any, ...]) -> pd.DataFrame:
    with reading() as session:
        return oversight.burn_down(session, runs.get(session, run_name), _there)
