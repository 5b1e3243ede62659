"""Success of each detector after the last trial, in one's own study and in the InferAct paper's (its Table 9)."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import ALIGNED, MISALIGNED, QUIET, framed

_HERE = {"words": (ALIGNED, "circle"), "binary": (MISALIGNED, "square")}
_OTHER = ("#1fa386", "triangle-up")
_PRINTED = ("diamond-open", "circle-open", "square-open")


def user_study(frame: pd.DataFrame) -> go.Figure:
    """A row for each detector: filled as measured here, hollow as the paper prints it; whiskers are +- SD.

    Columns: detector, feedback, source (here, or whose feedback in the paper), trial, percent, sd (may be missing).
    """
    here = frame[frame["source"] == "here"]
    ends = frame[frame["trial"] == frame.groupby("source")["trial"].transform("max")]
    figure = go.Figure()
    for feedback in dict.fromkeys(here["feedback"]):
        colour, mark = _HERE.get(feedback, _OTHER)
        rows = ends[(ends["source"] == "here") & (ends["feedback"] == feedback)]
        figure.add_trace(_points(rows, f"here, {feedback}", {"color": colour, "symbol": mark, "size": 10}))
    for place, source in enumerate(dict.fromkeys(frame.loc[frame["source"] != "here", "source"])):
        hollow = {"color": QUIET, "symbol": _PRINTED[place % len(_PRINTED)], "size": 10, "line": {"width": 2}}
        figure.add_trace(_points(ends[ends["source"] == source], source, hollow))
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(range=[0, 100], ticksuffix="%")
    height = 190 + 34 * ends["detector"].nunique()
    framed(figure, "Success after the last trial: here and in the paper", "tasks solved", "", height=height)
    return figure.update_layout(legend={"y": -80 / (height - 100)})


def _points(rows: pd.DataFrame, name: str, marker: dict[str, object]) -> go.Scatter:
    whisker = {"type": "data", "array": rows["sd"].fillna(0.0).to_list(), "thickness": 1.3, "width": 4}
    return go.Scatter(
        x=rows["percent"].to_list(),
        y=rows["detector"].to_list(),
        error_x=whisker,
        name=name,
        mode="markers",
        marker=marker,
        hovertemplate="%{y}: %{x:.1f}%",
    )
