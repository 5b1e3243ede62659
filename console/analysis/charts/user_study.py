"""Success of each detector after the last trial, in one's own study and in the InferAct paper's (its Table 9)."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import ALIGNED, MISALIGNED, QUIET, framed

_COLOURS = {"words": ALIGNED, "binary": MISALIGNED}
_OTHER = "#1fa386"
_MEASURED, _PRINTED = ("circle", "square", "triangle-up"), ("diamond-open", "circle-open", "square-open")


def user_study(frame: pd.DataFrame) -> go.Figure:
    """A row for each detector: filled as measured here, hollow as the paper prints it; whiskers are +- SD.

    Columns: detector, feedback, source (`here: ` and whose feedback, or `paper: ` and whose), trial, percent, sd (may
    be missing).
    """
    ends = frame[frame["trial"] == frame.groupby("source")["trial"].transform("max")]
    here = ends["source"].str.startswith("here")
    figure = go.Figure()
    measured, printed = (list(dict.fromkeys(ends.loc[of, "source"])) for of in (here, ~here))
    for (source, feedback), rows in ends[here].groupby(["source", "feedback"], sort=False):
        mark = _MEASURED[measured.index(source) % len(_MEASURED)]
        filled = {"color": _COLOURS.get(str(feedback), _OTHER), "symbol": mark, "size": 10}
        figure.add_trace(_points(rows, f"{source}, {feedback}", filled))
    for place, source in enumerate(printed):
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
