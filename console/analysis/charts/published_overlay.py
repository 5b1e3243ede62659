"""One's own results with the paper's beside them."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import ALIGNED, QUIET, framed

_HOLLOW = ("diamond-open", "square-open", "triangle-up-open")


def published_overlay(frame: pd.DataFrame) -> go.Figure:
    """A figure of each detector: filled as measured here, hollow as the paper prints it.

    Columns: detector, source (here, or the paper and its model), value, low, high (missing where unknown), metric.
    """
    figure = go.Figure()
    here = frame[frame["source"] == "here"]
    figure.add_scatter(
        x=here["value"].to_list(),
        y=here["detector"].to_list(),
        error_x={
            "type": "data",
            "symmetric": False,
            "array": (here["high"] - here["value"]).to_list(),
            "arrayminus": (here["value"] - here["low"]).to_list(),
            "thickness": 1.5,
            "width": 5,
        },
        name="measured here, 95% interval",
        mode="markers",
        marker={"color": ALIGNED, "size": 11},
    )
    elsewhere = frame[frame["source"] != "here"]
    for place, source in enumerate(dict.fromkeys(elsewhere["source"])):
        rows = elsewhere[elsewhere["source"] == source]
        mark = {"color": QUIET, "size": 10, "symbol": _HOLLOW[place % len(_HOLLOW)], "line": {"width": 2}}
        at = rows["value"].to_list(), rows["detector"].to_list()
        figure.add_scatter(x=at[0], y=at[1], name=source, mode="markers", marker=mark)
    figure.update_yaxes(autorange="reversed", type="category")
    metric = str(frame["metric"].iloc[0]) if len(frame) else ""
    height = 180 + 38 * frame["detector"].nunique()
    return framed(figure, f"{metric}: here and in the paper", metric, "", height=height)
