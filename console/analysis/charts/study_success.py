"""Success over trials in a user study, a line per condition (InferAct, Figure 25)."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import (
    SHARE,
    SeriesStyle,
    error_bars,
    framed,
    interval_text,
    label_ends,
    series_styles,
)

_APART, _WIDEST = 0.05, 0.4
"""How far lines stand beside each other, and all of them together at most, in trials."""
_MOST_BANDS = 6
"""More bands than that hide each other; whiskers stay, and the table has the SD."""


def study_success(frame: pd.DataFrame) -> go.Figure:
    """Mean share of tasks solved by each trial, over participants: whiskers are its interval, the band is +- SD.

    Columns: condition, trial, participants, mean, low, high, sd (shares 0 to 1; low, high and sd may be missing).
    """
    figure = go.Figure()
    drawn = series_styles(frame["condition"])
    apart = min(_APART, _WIDEST / len(drawn)) if drawn else 0.0
    for place, (name, style) in enumerate(drawn.items()):
        line = frame[frame["condition"] == name].sort_values("trial")
        x = (line["trial"].astype(float) + apart * (place - (len(drawn) - 1) / 2)).to_list()
        if len(drawn) <= _MOST_BANDS:
            figure.add_trace(_band(line, x, name, style))
        figure.add_trace(_line(line, x, name, style))
    figure.update_yaxes(**SHARE)
    figure.update_xaxes(dtick=1)
    framed(figure, "Tasks solved by each trial", "trial", "tasks solved, mean over participants", height=460)
    return label_ends(figure, *SHARE["range"])


def _line(line: pd.DataFrame, x: list[float], name: str, style: SeriesStyle) -> go.Scatter:
    rows = zip(line["low"], line["high"], line["sd"], line["participants"], line["trial"], strict=True)
    said = [[interval_text(low, high), _sd(sd), int(n), int(trial)] for low, high, sd, n, trial in rows]
    return go.Scatter(
        x=x,
        y=line["mean"].to_list(),
        error_y=error_bars(line, "mean"),
        customdata=said,
        name=name,
        legendgroup=name,
        **style.line(marks=True),
        hovertemplate="trial %{customdata[3]}: %{y:.1%} %{customdata[1]}<br>95%: %{customdata[0]}"
        "<br>%{customdata[2]} participants",
    )


def _band(line: pd.DataFrame, x: list[float], name: str, style: SeriesStyle) -> go.Scatter:
    sd = line["sd"].fillna(0.0)
    upper, lower = (line["mean"] + sd).clip(0, 1), (line["mean"] - sd).clip(0, 1)
    return go.Scatter(
        x=[*x, *reversed(x)],
        y=[*upper.to_list(), *reversed(lower.to_list())],
        name=f"{name} +- SD",
        legendgroup=name,
        showlegend=False,
        fill="toself",
        fillcolor=style.colour,
        opacity=0.12,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
    )


def _sd(sd: float) -> str:
    return "" if pd.isna(sd) else f"+- {sd:.1%}"
