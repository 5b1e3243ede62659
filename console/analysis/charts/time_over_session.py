"""How long decisions take as a session goes on: do people tire, or get faster?"""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import error_bars, framed, label_ends, series_styles

_KINDS = {"human": "people", "rule": "simulated"}


def time_over_session(frame: pd.DataFrame) -> go.Figure:
    """Seconds per decision by its place in the session; whiskers span the middle half of the decisions.

    Columns: kind (human or rule), first, last (places in the session), n, seconds (median), low, high (quartiles).
    """
    figure = go.Figure()
    for name, style in series_styles(frame["kind"]).items():
        line = frame[frame["kind"] == name].sort_values("first")
        figure.add_scatter(
            x=((line["first"] + line["last"]) / 2).to_list(),
            y=line["seconds"].to_list(),
            error_y=error_bars(line, "seconds"),
            customdata=line[["first", "last", "n"]].to_numpy().tolist(),
            name=_KINDS.get(name, name),
            **style.line(marks=True),
            hovertemplate="decisions %{customdata[0]} to %{customdata[1]}: median %{y:.1f} s<br>"
            "%{customdata[2]:,} decisions",
        )
    highest = 1.05 * max([1.0, *frame["seconds"].dropna(), *frame["high"].dropna()])
    figure.update_yaxes(range=[0, highest])
    framed(figure, "Time per decision over the session", "decision of the session", "seconds, median")
    return label_ends(figure, 0, highest)
