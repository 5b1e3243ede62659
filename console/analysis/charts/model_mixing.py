"""One method with different models to infer the agent's task and to verify it."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import SCALE, framed


def model_mixing(frame: pd.DataFrame) -> go.Figure:
    """A figure of one method by inference and verification model (InferAct, section 5.3).

    Columns: inference, verification, value (missing where undefined), metric (its name, the same in all rows).
    """
    inference = list(dict.fromkeys(frame["inference"]))
    verification = list(dict.fromkeys(frame["verification"]))
    values = {
        (row["inference"], row["verification"]): float(row["value"])
        for row in frame.dropna(subset=["value"]).to_dict("records")
    }
    grid = [[values.get((first, second)) for second in verification] for first in inference]
    metric = str(frame["metric"].iloc[0]) if len(frame) else ""
    figure = go.Figure(
        go.Heatmap(
            z=grid,
            x=verification,
            y=inference,
            text=[["–" if value is None else f"{value:.3f}" for value in line] for line in grid],
            texttemplate="%{text}",
            colorscale=SCALE,
            xgap=2,
            ygap=2,
            colorbar={"thickness": 12},
            hovertemplate="infers: %{y}<br>verifies: %{x}<br>%{text}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category")
    height = max(320, 60 * len(inference) + 160)
    return framed(figure, f"{metric} by models", "model that verifies", "model that infers", height=height)
