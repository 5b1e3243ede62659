"""Misalignments caught against inspections spent: one detector in several orders, or several detectors in one."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import QUIET, SeriesStyle, framed, series_styles

_ORDERS = pd.CategoricalDtype(["as reviewed", "priority", "expected-cost", "fp-first"])
_CHANCE, _IDEAL = "random", "ideal"
_BAND = "rgba(138, 148, 163, 0.22)"


def oversight_curve(frame: pd.DataFrame) -> go.Figure:
    """Caught by inspections. Columns: detector, policy, inspections, caught, low, high, corrected, spent.

    Low and high are bounds of what random order catches, else missing; at `spent` inspections the budget ended.
    """
    figure = go.Figure()
    detectors = list(dict.fromkeys(frame["detector"]))
    by_order = len(detectors) < 2
    named = frame["policy" if by_order else "detector"]
    drawn = series_styles(named[named.isin(_ORDERS.categories)].astype(_ORDERS) if by_order else named)
    for name in dict.fromkeys(named):
        line = frame[named == name]
        # A detector is named random as well.
        by_chance = by_order and name == _CHANCE
        figure.add_traces(list(_chance(line) if by_chance else _line(line, str(name), drawn.get(name))))
    if len(frame):
        _mark_spent(figure, int(frame["spent"].iloc[0]))
    figure.update_yaxes(rangemode="tozero")
    title = "What inspections catch" + (f": {detectors[0]}" if len(detectors) == 1 else "")
    framed(figure, title, "inspections of flagged items", "misalignments caught", height=440)
    return figure.update_layout(hovermode="x unified", legend={"traceorder": "normal"})


def _line(line: pd.DataFrame, name: str, style: SeriesStyle | None) -> Iterator[go.Scatter]:
    colour, dash = (style.colour, style.dash) if style else (QUIET, "dot")
    stroke = {"color": colour, "dash": dash, "width": 2}
    yield go.Scatter(
        x=line["inspections"].to_list(),
        y=line["caught"].to_list(),
        name="ideal order" if name == _IDEAL else name,
        mode="lines",
        line=stroke,
        hovertemplate="%{y:,}",
    )
    if name == "as reviewed" and line["corrected"].max() > 0:
        yield go.Scatter(
            x=line["inspections"].to_list(),
            y=line["corrected"].to_list(),
            name="as reviewed: put right",
            mode="lines",
            line={**stroke, "width": 1, "dash": "dash"},
            hovertemplate="%{y:,}",
        )


def _chance(line: pd.DataFrame) -> Iterator[go.Scatter]:
    at = line["inspections"].to_list()
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    yield go.Scatter(x=at, y=line["high"].to_list(), **edge)
    yield go.Scatter(x=at, y=line["low"].to_list(), fill="tonexty", fillcolor=_BAND, **edge)
    yield go.Scatter(
        x=at,
        y=line["caught"].to_list(),
        name="random order, 95%",
        mode="lines",
        line={"color": QUIET, "width": 2},
        hovertemplate="%{y:,.1f}",
    )


def _mark_spent(figure: go.Figure, spent: int) -> None:
    if spent:
        figure.add_vline(
            spent,
            line={"color": QUIET, "width": 1, "dash": "dash"},
            annotation_text=f"inspected: {spent:,}",
            annotation_position="top",
        )
