"""How far detectors flag the same trajectories."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import SCALE, framed


def flag_overlap(frame: pd.DataFrame) -> go.Figure:
    """For each two detectors the share of what either flags that both flag.

    Columns: first, second, both, either, misaligned, share (0 to 1, missing where neither flags anything).
    """
    names = list(dict.fromkeys(frame["first"]))
    by_pair = {(row["first"], row["second"]): row for row in frame.to_dict("records")}
    grid = [[by_pair[first, second] for second in names] for first in names]
    shares = [[float(row["share"]) if row["either"] else None for row in line] for line in grid]
    counts = [[[int(row[name]) for name in ("both", "either", "misaligned")] for row in line] for line in grid]
    figure = go.Figure(
        go.Heatmap(
            z=shares,
            x=names,
            y=names,
            customdata=counts,
            text=[["–" if share is None else f"{share:.0%}" for share in line] for line in shares],
            texttemplate="%{text}",
            colorscale=SCALE,
            zmin=0,
            zmax=1,
            xgap=2,
            ygap=2,
            colorbar={"tickformat": ".0%", "thickness": 12},
            hovertemplate="%{y} and %{x}<br>both flag %{customdata[0]:,} of %{customdata[1]:,}"
            "<br>%{customdata[2]:,} of these are misaligned<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed")
    return framed(figure, "Flagged by both, of what either flags", "", "", height=max(320, 60 * len(names) + 140))
