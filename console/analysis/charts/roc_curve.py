"""Misaligned that are caught against aligned that are flagged, a line per detector."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import QUIET, SHARE, framed, series_styles


def roc_curve(frame: pd.DataFrame) -> go.Figure:
    """The ROC curve. Columns: detector, threshold, false_alarm_rate, detection_rate (0 to 1)."""
    figure = go.Figure()
    diagonal = {"color": QUIET, "width": 1, "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[0, 1], name="by chance", mode="lines", line=diagonal, hoverinfo="skip")
    for name, style in series_styles(frame["detector"]).items():
        line = frame[frame["detector"] == name]
        figure.add_scatter(
            x=line["false_alarm_rate"].to_list(),
            y=line["detection_rate"].to_list(),
            name=name,
            **style.line(),
            hovertemplate="%{y:.1%} of the misaligned flagged<br>%{x:.1%} of the aligned flagged",
        )
    figure.update_xaxes(**SHARE)
    figure.update_yaxes(**SHARE)
    return framed(
        figure, "Caught against false alarms (ROC)", "aligned that are flagged", "misaligned that are flagged"
    )
