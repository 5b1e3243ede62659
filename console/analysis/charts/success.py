"""Success over trials: a line per way of giving feedback, a panel per environment."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

_COLOURS = {"none": "#8a8f98", "binary": "#d98c2b", "nl": "#2f6fde", "full": "#2b9a66"}
_NAMES = {"none": "no feedback", "binary": "binary", "nl": "words", "full": "full validation"}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def success(summary: pd.DataFrame) -> go.Figure:
    """Shares solved by each trial with their intervals.

    Columns: environment, arm (none, binary, nl, full), cap (per cent of the non-halted, or missing), trial, and
    success, low, high (0 to 1).
    """
    panels = list(dict.fromkeys(summary["environment"]))
    figure = make_subplots(cols=max(1, len(panels)), shared_yaxes=True, subplot_titles=panels)
    caps = sorted(summary["cap"].dropna().unique(), reverse=True)
    for number, panel in enumerate(panels, 1):
        for line in _lines(summary[summary["environment"] == panel], caps, first=number == 1):
            figure.add_trace(line, row=1, col=number)
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    figure.update_xaxes(title_text="trial", dtick=1)
    figure.update_layout(template="plotly_white", legend={"orientation": "h", "y": -0.2}, height=460)
    figure.update_layout(yaxis_title="tasks solved", margin={"t": 40, "r": 20})
    return figure


def _lines(panel: pd.DataFrame, caps: list[float], *, first: bool) -> Iterator[go.Scatter]:
    for _, line in panel.groupby(["arm", "cap"], dropna=False, sort=False):
        arm, cap = str(line["arm"].iloc[0]), float(line["cap"].astype(float).iloc[0])
        capped = not math.isnan(cap)
        name = _NAMES.get(arm, arm) + (f", {cap:.0f}%" if capped else "")
        yield go.Scatter(
            x=line["trial"],
            y=line["success"],
            error_y={
                "type": "data",
                "array": line["high"] - line["success"],
                "arrayminus": line["success"] - line["low"],
                "thickness": 1,
                "width": 3,
            },
            name=name,
            legendgroup=name,
            showlegend=first,
            mode="lines+markers",
            line={
                "color": _COLOURS.get(arm, "#555555"),
                "dash": _DASHES[caps.index(cap) % len(_DASHES)] if capped else "solid",
            },
        )
