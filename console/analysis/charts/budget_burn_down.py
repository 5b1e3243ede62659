"""How a budget was used up over time, and what it had caught by then; a pair of lines per trial."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import QUIET, framed, label_last_points, series_styles

_UNITS = (("hours", 1 / 60, 180.0), ("minutes", 1.0, 3.0), ("seconds", 60.0, 0.0))
"""Unit, how many are a minute, and from how many minutes on it is used."""


def budget_burn_down(frame: pd.DataFrame) -> go.Figure:
    """Inspections used over time. Columns: trial, minute, used, caught, cap (missing where there is none)."""
    figure = go.Figure()
    longest = float(frame["minute"].max()) if len(frame) else 0.0
    unit, per_minute, _ = next(entry for entry in _UNITS if longest >= entry[2])
    ends = []
    for trial, style in series_styles(frame["trial"]).items():
        line = frame[frame["trial"] == trial]
        at = (line["minute"] * per_minute).to_list()
        for column, width, dash in (("used", 2, "solid"), ("caught", 2, "dot")):
            if line[column].notna().any():
                figure.add_scatter(
                    x=at,
                    y=line[column].to_list(),
                    name=f"trial {trial}: {column}",
                    mode="lines+markers" if len(line) < 2 else "lines",
                    line={"color": style.colour, "width": width, "dash": dash, "shape": "hv"},
                    hovertemplate="%{y:,} after %{x:.1f} " + unit,
                )
                last = float(line[column].iloc[-1])
                ends.append((at[-1], last, f"trial {trial}: {last:,.0f} {column}", style.colour))
    for cap in sorted(frame["cap"].dropna().unique()):
        figure.add_hline(
            float(cap),
            line={"color": QUIET, "width": 1, "dash": "dash"},
            annotation={"text": f"cap {cap:.0f}", "xanchor": "left", "x": 0},
        )
    highest = max([1.0, *frame["used"].astype(float), *frame["cap"].dropna().astype(float)])
    label_last_points(figure, ends, gap=0.08 * highest)
    figure.update_yaxes(range=[0, 1.2 * highest])
    return framed(figure, "How the budget was used", f"{unit} since the trial's first claim", "inspections")
