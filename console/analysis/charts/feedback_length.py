"""Do more words to the agent help its next trial?"""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import SHARE, error_bars, framed, interval_text, label_ends, series_styles


def feedback_length(frame: pd.DataFrame) -> go.Figure:
    """The share of next trials that succeeded, by the number of words that the agent got, a line per condition.

    Columns: condition, words_low, words_high (both included), n, share, low, high (shares 0 to 1).
    """
    figure = go.Figure()
    known = frame[frame["share"].notna()].sort_values("words_low")
    spans = list(dict.fromkeys(zip(known["words_low"], known["words_high"], strict=True)))
    for name, style in series_styles(known["condition"]).items():
        line = known[known["condition"] == name]
        bounds = zip(line["n"], line["low"], line["high"], strict=True)
        figure.add_scatter(
            x=[_span(*span) for span in zip(line["words_low"], line["words_high"], strict=True)],
            y=line["share"].to_list(),
            error_y=error_bars(line, "share"),
            customdata=[[int(n), interval_text(low, high)] for n, low, high in bounds],
            name=name,
            **style.line(marks=True),
            hovertemplate="%{x} words: %{y:.1%} succeeded next<br>95%: %{customdata[1]}<br>%{customdata[0]:,} answers",
        )
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=[_span(*span) for span in spans])
    figure.update_yaxes(**SHARE)
    framed(figure, "Words to the agent and its next trial", "words of feedback", "next trials that succeeded")
    return label_ends(figure, *SHARE["range"])


def _span(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"
