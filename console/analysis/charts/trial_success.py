"""Tasks solved by the end of each trial of a run, and those of them on which no reviewer had answered."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import SHARE, framed, label_last_points, series_styles


def trial_success(frame: pd.DataFrame) -> go.Figure:
    """Two lines, labelled at their ends. Columns: trial, line (its label), solved, tasks (what the share is of)."""
    figure = go.Figure()
    ends = []
    for name, style in series_styles(frame["line"]).items():
        line = frame[frame["line"] == name].sort_values("trial")
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
    label_last_points(figure, ends, gap=0.09)
    figure.update_yaxes(**SHARE)
    figure.update_xaxes(dtick=1)
    title = "Solved, with reviewers and without" if len(ends) > 1 else "Solved by the end of each trial"
    return framed(figure, title, "trial", "share of the run's tasks")
