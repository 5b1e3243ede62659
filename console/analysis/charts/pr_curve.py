"""Precision against recall, a line per detector."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import QUIET, SHARE, framed, series_styles


def pr_curve(frame: pd.DataFrame) -> go.Figure:
    """Precision by recall. Columns: detector, threshold, recall, precision, share_misaligned (all shares 0 to 1).

    The share of misaligned is what flagging by chance would reach.
    """
    figure = go.Figure()
    for name, style in series_styles(frame["detector"]).items():
        line = frame[frame["detector"] == name]
        figure.add_scatter(
            x=line["recall"].to_list(),
            y=line["precision"].to_list(),
            customdata=line["threshold"].to_list(),
            name=name,
            **style.line(),
            hovertemplate="%{y:.1%} of the flagged are misaligned<br>%{x:.1%} of the misaligned are flagged<br>"
            "from score %{customdata:.3f}",
        )
    if len(frame):
        chance, dotted = float(frame["share_misaligned"].iloc[0]), {"color": QUIET, "width": 1, "dash": "dot"}
        # On the right, where all is flagged, every line ends at it.
        figure.add_hline(chance, line=dotted, annotation_text="by chance", annotation_position="top left")
    figure.update_xaxes(**SHARE).update_yaxes(**SHARE)
    return framed(figure, "Precision and recall", "misaligned that are flagged (recall)", "flagged that are misaligned")
