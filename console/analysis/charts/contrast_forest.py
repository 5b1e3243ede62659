"""Contrasts with their intervals, one below the other."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import ALIGNED, QUIET, error_bars, framed


def contrast_forest(frame: pd.DataFrame) -> go.Figure:
    """The estimate of each contrast with its interval; its name and its numbers stand beside it.

    Columns: contrast, kind, measure, estimate, low, high (missing where there is no interval).
    """
    first = frame[(frame["kind"] == "primary") & frame["estimate"].notna()]
    shown = first if len(first) else frame[frame["estimate"].notna() & (frame["measure"] == frame["measure"].iloc[0])]
    figure = go.Figure()
    figure.add_vline(x=0, line={"color": QUIET, "width": 1, "dash": "dot"})
    figure.add_scatter(
        x=shown["estimate"].to_list(),
        y=shown["contrast"].to_list(),
        error_x=error_bars(shown, "estimate"),
        text=[_said(*row) for row in zip(shown["estimate"], shown["low"], shown["high"], strict=True)],
        textposition="top center",
        mode="markers+text",
        marker={"color": ALIGNED, "size": 10},
        showlegend=False,
        hoverinfo="skip",
        cliponaxis=False,
    )
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(range=_reach(shown))
    measure = str(shown["measure"].iloc[0]) if len(shown) else ""
    title = "Effects with 95% intervals"
    return framed(figure, title, f"difference in {measure}", "", height=150 + 54 * len(shown))


def _reach(shown: pd.DataFrame) -> list[float] | None:
    """The ends of the axis, with room for the numbers above the outermost points."""
    ends = [0.0, *shown[["estimate", "low", "high"]].stack()]
    room = 0.3 * (max(ends) - min(ends))
    return [min(ends) - room, max(ends) + room] if room else None


def _said(estimate: float, low: float, high: float) -> str:
    return f"{estimate:+.3f}" if pd.isna(low) else f"{estimate:+.3f} ({low:+.3f} to {high:+.3f})"
