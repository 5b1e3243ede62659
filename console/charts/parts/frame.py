"""The frame around every chart: title, axes, legend, and as much room as they need."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

SHARE: dict[str, Any] = {"range": [-0.02, 1.02], "tickformat": ".0%"}
_TICKS = {"automargin": True, "zeroline": False}


def framed(figure: go.Figure, title: str, x: str, y: str, *, height: int = 400) -> go.Figure:
    """The figure with its title and what its axes show, in plain words with their units."""
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "font": {"size": 16}},
        height=height,
        margin={"t": 56, "r": 16, "b": 16, "l": 16},
        legend={"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0},
        hoverlabel={"namelength": -1},
    )
    figure.update_xaxes(title_text=x, **_TICKS)
    figure.update_yaxes(title_text=y, **_TICKS)
    return figure
