"""Charts of runs: success over trials, the oversight curve, and the use of a budget."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from console.analysis.charts.style import (
    DASHES,
    QUIET,
    SHARE,
    SeriesStyle,
    error_bars,
    label_last_points,
    name_coinciding_lines,
    series_styles,
    set_titles,
    split_series,
)

_ARMS = {
    "none": ("no feedback", "#767c86"),
    "binary": ("binary", "#ac6e1f"),
    "nl": ("words", "#2f6fde"),
    "full": ("full validation", "#278c5d"),
}
_ORDERS = pd.CategoricalDtype(["as reviewed", "priority", "expected-cost", "fp-first"])
_CHANCE, _IDEAL = "random", "ideal"
_BAND = "rgba(138, 148, 163, 0.22)"
_UNITS = (("hours", 1 / 60, 180.0), ("minutes", 1.0, 3.0), ("seconds", 60.0, 0.0))
"""Time units: the name, the number per minute, and the shortest duration in minutes that uses the unit."""


def success(summary: pd.DataFrame) -> go.Figure:
    """Draw the share of tasks solved by each trial, with one line per kind of feedback and one panel per environment.

    Columns: environment, arm (none, binary, nl, full), cap (percentage of trials that were not halted; may be missing),
    trial, and success, low, high (0 to 1).
    """
    panels = list(dict.fromkeys(summary["environment"]))
    figure = make_subplots(cols=max(1, len(panels)), shared_yaxes=True, subplot_titles=panels)
    caps = sorted(summary["cap"].dropna().unique(), reverse=True)
    for number, panel in enumerate(panels, 1):
        for line in _arms(summary[summary["environment"] == panel], caps, first=number == 1):
            figure.add_trace(line, row=1, col=number)
    figure.update_yaxes(range=[0, 1], tickformat=".0%").update_xaxes(title_text="trial", dtick=1)
    look = {"template": "plotly_white", "height": 460, "margin": {"t": 40, "r": 20}}
    return figure.update_layout(**look, yaxis_title="tasks solved", legend={"orientation": "h", "y": -0.2})


def _arms(panel: pd.DataFrame, caps: list[float], *, first: bool) -> Iterator[go.Scatter]:
    for _, line in panel.groupby(["arm", "cap"], dropna=False, sort=False):
        arm, cap = str(line["arm"].iloc[0]), float(line["cap"].astype(float).iloc[0])
        capped = not math.isnan(cap)
        name, colour = _ARMS.get(arm, (arm, "#555555"))
        name += f", {cap:.0f}%" if capped else ""
        yield go.Scatter(
            x=line["trial"],
            y=line["success"],
            error_y=error_bars(line, "success"),
            name=name,
            legendgroup=name,
            showlegend=first,
            mode="lines+markers",
            line={"color": colour, "dash": DASHES[caps.index(cap) % len(DASHES)] if capped else "solid"},
        )


def trial_success(frame: pd.DataFrame) -> go.Figure:
    """Draw the share of tasks solved up to each trial. Columns: trial, line (the line's label), solved, tasks."""
    figure, ends = go.Figure(), []
    for name, rows, style in split_series(frame, "line"):
        line = rows.sort_values("trial")
        share = (line["solved"] / line["tasks"]).to_list()
        figure.add_scatter(
            x=line["trial"].to_list(),
            y=share,
            name=name,
            customdata=line[["solved", "tasks"]].to_numpy().tolist(),
            hovertemplate="%{customdata[0]:,} of %{customdata[1]:,} by trial %{x}",
            **style.line(marks=True),
        )
        ends.append((float(line["trial"].iloc[-1]), share[-1], f"{name}: {share[-1]:.0%}", style.colour))
    figure.update_yaxes(**SHARE).update_xaxes(dtick=1)
    set_titles(figure, "Tasks solved in this trial or an earlier one", "trial", "share of the run's tasks")
    return label_last_points(figure, ends, gap=0.09)


def budget_burn_down(frame: pd.DataFrame) -> go.Figure:
    """Draw inspections and caught misalignments over time. Columns: trial, minute, used, caught, cap (if limited)."""
    figure = go.Figure()
    longest = float(frame["minute"].max()) if len(frame) else 0.0
    unit, per_minute, _ = next(entry for entry in _UNITS if longest >= entry[2])
    ends = []
    for trial, line, style in split_series(frame, "trial"):
        x = (line["minute"] * per_minute).to_list()
        for column, dash in (("used", "solid"), ("caught", "dot")):
            if line[column].notna().any():
                label = f"trial {trial}: {line[column].iloc[-1]:,.0f} {column}"
                figure.add_scatter(
                    x=x,
                    y=line[column].to_list(),
                    name=label,
                    mode="lines+markers" if len(line) < 2 else "lines",
                    line={"color": style.colour, "width": 2, "dash": dash, "shape": "hv"},
                    hovertemplate="%{y:,} after %{x:.1f} " + unit,
                )
                ends.append((x[-1], float(line[column].iloc[-1]), label, style.colour))
    for cap in sorted(frame["cap"].dropna().unique()):
        annotation = {"text": f"budget {cap:,.0f}", "xanchor": "left", "x": 0}
        figure.add_hline(float(cap), line={"color": QUIET, "width": 1, "dash": "dash"}, annotation=annotation)
    highest = max([1.0, *frame["used"].astype(float), *frame["cap"].dropna().astype(float)])
    # Without a step, the axis of a small count has fractions.
    figure.update_yaxes(range=[0, 1.2 * highest], dtick=1 if highest < 6 else None)
    titled = set_titles(figure, "Budget used over time", f"{unit} since the trial's first claim", "inspections")
    return label_last_points(titled, ends, gap=0.08 * highest, beside=True)


def oversight_curve(frame: pd.DataFrame) -> go.Figure:
    """Draw the number of misalignments caught against the number of inspections.

    The chart compares several orders for one detector, or several detectors in one order. Columns: detector, policy,
    inspections, caught, low, high, corrected, spent. `low` and `high` are bounds for random order and missing for other
    orders. `spent` inspections have been made.
    """
    figure = go.Figure()
    detectors = list(dict.fromkeys(frame["detector"]))
    by_order = len(detectors) < 2
    names = frame["policy" if by_order else "detector"]
    styles = series_styles(names[names.isin(_ORDERS.categories)].astype(_ORDERS) if by_order else names)
    for name in dict.fromkeys(names):
        line = frame[names == name]
        # A detector is called "random" as well.
        by_chance = by_order and name == _CHANCE
        figure.add_traces(list(_random_order(line) if by_chance else _order(line, str(name), styles.get(name))))
    if len(frame) and (spent := int(frame["spent"].iloc[0])):
        stroke, label = {"color": QUIET, "width": 1, "dash": "dash"}, f"inspected: {spent:,}"
        figure.add_vline(spent, line=stroke, annotation_text=label, annotation_position="top")
    figure.update_yaxes(rangemode="tozero")
    title = "Misalignments caught by inspections" + (f": {detectors[0]}" if len(detectors) == 1 else "")
    set_titles(figure, title, "inspections of flagged trajectories", "misalignments caught", height=440)
    shown = [line for line in name_coinciding_lines(figure).data if line.showlegend is not False]
    if by_order and len(shown) == 1:
        shown[0].update(name="every order catches the same", line={"dash": "solid"})
    return figure.update_layout(hovermode="x unified", legend={"traceorder": "normal"})


def _order(line: pd.DataFrame, name: str, style: SeriesStyle | None) -> Iterator[go.Scatter]:
    colour, dash = (style.colour, style.dash) if style else (QUIET, "dot")
    stroke = {"color": colour, "dash": dash, "width": 2}
    drawn = {"x": line["inspections"].to_list(), "mode": "lines", "hovertemplate": "%{y:,}"}
    label = "ideal order" if name == _IDEAL else name
    yield go.Scatter(y=line["caught"].to_list(), name=label, line=stroke, **drawn)
    if name == "as reviewed" and line["corrected"].max() > 0:
        thin = {**stroke, "width": 1, "dash": "dash"}
        yield go.Scatter(y=line["corrected"].to_list(), name="as reviewed: corrected", line=thin, **drawn)


def _random_order(line: pd.DataFrame) -> Iterator[go.Scatter]:
    x = line["inspections"].to_list()
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    yield go.Scatter(x=x, y=line["high"].to_list(), **edge)
    yield go.Scatter(x=x, y=line["low"].to_list(), fill="tonexty", fillcolor=_BAND, **edge)
    yield go.Scatter(
        x=x,
        y=line["caught"].to_list(),
        name="random order, 95%",
        mode="lines",
        line={"color": QUIET, "width": 2},
        hovertemplate="%{y:,.1f}",
    )


def protocols(frame: pd.DataFrame) -> go.Figure:
    """Draw safety against usefulness, one point for each run, or condition of a study, with its protocol.

    Columns: run or condition, protocol, reviewers, and safety, usefulness with _low and _high (0 to 1).
    """
    figure, unit = go.Figure(), "run" if "run" in frame else "condition"
    is_only_one = unit == "condition" and frame["protocol"].nunique() == 1
    for name, rows, style in split_series(frame, unit if is_only_one else "protocol"):
        figure.add_scatter(
            x=rows["usefulness"].to_list(),
            y=rows["safety"].to_list(),
            error_x=_bars_of(rows, "usefulness"),
            error_y=_bars_of(rows, "safety"),
            name=name,
            customdata=rows[[unit, "reviewers"]].to_numpy().tolist(),
            hovertemplate="%{customdata[0]}<br>safety %{y:.1%}, usefulness %{x:.1%}; reviewers: %{customdata[1]}",
            **style.line(marks=True) | {"mode": "markers"},
        )
    figure.update_yaxes(**SHARE).update_xaxes(**SHARE)
    axes = ("usefulness: tasks solved", "safety: no misaligned effect")
    return set_titles(name_coinciding_lines(figure), "Safety against usefulness", *axes)


def _bars_of(rows: pd.DataFrame, name: str) -> dict[str, Any]:
    return error_bars(rows.assign(low=rows[f"{name}_low"], high=rows[f"{name}_high"]), name)
