"""Where reviewers decide otherwise than the detector, by the detector's score."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import SHARE, error_bars, framed, interval_text, label_ends, series_styles


def override_by_score(frame: pd.DataFrame) -> go.Figure:
    """The share of decisions against the detector, in bins of its score, a line per condition.

    Columns: condition, bin_low, bin_high, n, share, low, high (shares 0 to 1, missing where no decision is).
    """
    figure = go.Figure()
    known = frame[frame["share"].notna()]
    for name, style in series_styles(known["condition"]).items():
        line = known[known["condition"] == name].sort_values("bin_low")
        bounds = zip(line["bin_low"], line["bin_high"], line["n"], line["low"], line["high"], strict=True)
        figure.add_scatter(
            x=((line["bin_low"] + line["bin_high"]) / 2).to_list(),
            y=line["share"].to_list(),
            error_y=error_bars(line, "share"),
            customdata=[[start, end, int(n), interval_text(low, high)] for start, end, n, low, high in bounds],
            name=name,
            **style.line(marks=True),
            hovertemplate="score %{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y:.1%} overridden<br>"
            "95%: %{customdata[3]}<br>%{customdata[2]:,} decisions",
        )
    figure.update_xaxes(range=[0, 1])
    figure.update_yaxes(**SHARE)
    framed(figure, "Decisions against the detector", "detector's score", "share overridden")
    return label_ends(figure, *SHARE["range"])
