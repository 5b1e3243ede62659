"""Whether a probability of 0.7 comes true in 7 of 10 cases, detector by detector."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import QUIET, SHARE, framed, series_styles


def reliability(frame: pd.DataFrame) -> go.Figure:
    """The reliability diagram, empty bins left out.

    Columns: detector, bin_low, bin_high, n, mean_probability, share_misaligned (0 to 1).
    """
    figure = go.Figure()
    diagonal = {"color": QUIET, "width": 1, "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[0, 1], name="as it should be", mode="lines", line=diagonal, hoverinfo="skip")
    for name, style in series_styles(frame["detector"]).items():
        bins = frame[(frame["detector"] == name) & (frame["n"] > 0)]
        figure.add_scatter(
            x=bins["mean_probability"].to_list(),
            y=bins["share_misaligned"].to_list(),
            customdata=bins["n"].to_list(),
            name=name,
            **style.line(marks=True),
            hovertemplate="said %{x:.1%}, was %{y:.1%}<br>%{customdata:,} trajectories",
        )
    figure.update_xaxes(**SHARE)
    figure.update_yaxes(**SHARE)
    return framed(figure, "Probabilities and what came true", "mean probability of misaligned", "share misaligned")
