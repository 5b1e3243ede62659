"""How far reviewers agree, by every measure, with its interval."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import QUIET, error_bars, framed, series_styles

_APART = 0.16
MEASURES = {
    "percent": "equal labels",
    "cohen": "Cohen's kappa",
    "fleiss": "Fleiss' kappa",
    "alpha": "Krippendorff's alpha",
}
"""Measures of agreement by their name in the tables."""


def agreement(frame: pd.DataFrame) -> go.Figure:
    """Each measure as a point with its interval, a mark per group of reviewers.

    Columns: reviewers, measure, value, low, high, n (missing values are left out).
    """
    known = frame[frame["value"].notna()]
    measures = list(dict.fromkeys(known["measure"]))
    drawn = series_styles(known["reviewers"])
    figure = go.Figure()
    for place, (name, style) in enumerate(drawn.items()):
        rows = known[known["reviewers"] == name]
        shift = _APART * (place - (len(drawn) - 1) / 2)
        figure.add_scatter(
            x=rows["value"].to_list(),
            y=[measures.index(measure) + shift for measure in rows["measure"]],
            error_x=error_bars(rows, "value"),
            customdata=rows[["measure", "n"]].to_numpy().tolist(),
            name=name,
            mode="markers",
            marker={"color": style.colour, "symbol": style.mark, "size": 10},
            hovertemplate="%{customdata[0]}: %{x:.3f}<br>%{customdata[1]:,} checkpoints",
        )
    ticks = {
        "tickvals": list(range(len(measures))),
        "ticktext": [MEASURES.get(measure, measure) for measure in measures],
    }
    figure.update_yaxes(range=[len(measures) - 0.5, -0.5], **ticks)
    figure.add_vline(0, line={"color": QUIET, "width": 1, "dash": "dot"})
    height = max(300, 62 * len(measures) + 150)
    x = "1 is full agreement, 0 is as by chance (of equal labels: by share)"
    return framed(figure, "Agreement between reviewers", x, "measure", height=height)
