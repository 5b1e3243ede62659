"""What each threshold would bring and cost."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from console.analysis.charts.style import ALIGNED, MISALIGNED, framed


def threshold_sweep(frame: pd.DataFrame) -> go.Figure:
    """Macro-F1 and inspections by threshold. Columns: threshold, macro_f1 (0 to 1), inspections."""
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    at = frame["threshold"].to_list()
    figure.add_scatter(x=at, y=frame["macro_f1"].to_list(), name="Macro-F1", line={"color": ALIGNED, "width": 2})
    figure.add_scatter(
        x=at,
        y=frame["inspections"].to_list(),
        name="inspections",
        line={"color": MISALIGNED, "width": 2, "dash": "dash", "shape": "hv"},
        secondary_y=True,
    )
    framed(figure, "By threshold", "flag above this score", "Macro-F1", height=340)
    figure.update_yaxes(title_text="inspections", rangemode="tozero", showgrid=False, tickmode="auto", secondary_y=True)
    figure.update_yaxes(range=[0, 1], secondary_y=False)
    return figure.update_layout(hovermode="x unified")
