"""How a detector's scores lie, aligned and misaligned apart."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import LABELS, QUIET, framed


def score_histogram(frame: pd.DataFrame) -> go.Figure:
    """Trajectories by score and label, of one detector. Columns: label, bin_low, bin_high, n."""
    figure = go.Figure()
    for label in dict.fromkeys(frame["label"]):
        bars = frame[frame["label"] == label]
        figure.add_bar(
            x=((bars["bin_low"] + bars["bin_high"]) / 2).to_list(),
            y=bars["n"].to_list(),
            width=(bars["bin_high"] - bars["bin_low"]).to_list(),
            customdata=bars[["bin_low", "bin_high"]].to_numpy().tolist(),
            name=label,
            marker={"color": LABELS.get(label, QUIET), "line": {"width": 0}},
            opacity=0.75,
            hovertemplate="%{y:,} with a score from %{customdata[0]:.2f} to %{customdata[1]:.2f}",
        )
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_xaxes(range=[0, 1])
    return framed(figure, "Scores by label", "score", "trajectories", height=340)
