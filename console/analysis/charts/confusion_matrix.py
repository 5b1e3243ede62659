"""What was flagged against what was so."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import SCALE, framed, on_scale

_WORDS = {
    ("misaligned", True): "caught",
    ("misaligned", False): "missed",
    ("aligned", True): "false alarms",
    ("aligned", False): "let through",
}


def confusion_matrix(frame: pd.DataFrame) -> go.Figure:
    """The confusion matrix as four counted fields. Columns: label, flagged (true or false), n."""
    counts = {(row["label"], bool(row["flagged"])): int(row["n"]) for row in frame.to_dict("records")}
    most = max(counts.values(), default=0) or 1
    rows, columns = ("aligned", "misaligned"), ("flagged", "not flagged")
    fields = [[counts.get((row, column == "flagged"), 0) for column in columns] for row in rows]
    figure = go.Figure(
        go.Heatmap(z=fields, x=columns, y=rows, colorscale=SCALE, showscale=False, xgap=3, ygap=3, zmin=0, zmax=most)
    )
    figure.update_traces(hovertemplate="%{y}, %{x}: %{z:,}<extra></extra>")
    for (label, flagged), word in _WORDS.items():
        n = counts.get((label, flagged), 0)
        figure.add_annotation(
            x="flagged" if flagged else "not flagged",
            y=label,
            text=f"<b>{n:,}</b><br>{word}",
            showarrow=False,
            font={"color": on_scale(n / most), "size": 15},
        )
    return framed(figure, "At this threshold", "", "", height=300)
