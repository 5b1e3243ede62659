"""Charts of user studies: success, times, decisions, agreement, feedback and contrasts."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.style import (
    ALIGNED,
    DOTTED,
    MISALIGNED,
    SHARE,
    SeriesStyle,
    error_bars,
    interval_texts,
    label_ends,
    paper_mark,
    series_styles,
    set_titles,
    split_series,
)
from console.analysis.statistics.estimates import contrast_title, number

AGREEMENT_MEASURES = {
    "percent": "equal labels",
    "cohen": "Cohen's kappa",
    "fleiss": "Fleiss' kappa",
    "alpha": "Krippendorff's alpha",
}
"""Measures of agreement by their name in the tables."""

_APART, _WIDEST = 0.05, 0.4
"""The distance between two lines of a trial, and the largest distance between the outermost lines, in trials."""
_MOST_BANDS = 6
"""The largest number of bands in a chart; more bands would hide each other, so only the whiskers are drawn."""


def study_success(frame: pd.DataFrame) -> go.Figure:
    """Draw the mean share of tasks solved by each trial, one line per condition (InferAct, Figure 25).

    Whiskers show the interval over participants, and a band shows +- SD if there are few conditions. Columns:
    condition, trial, participants, mean, low, high, sd (shares 0 to 1; low, high and sd may be missing).
    """
    figure = go.Figure()
    styles = series_styles(frame["condition"])
    apart = min(_APART, _WIDEST / len(styles)) if styles else 0.0
    for place, (name, style) in enumerate(styles.items()):
        line = frame[frame["condition"] == name].sort_values("trial")
        x = (line["trial"].astype(float) + apart * (place - (len(styles) - 1) / 2)).to_list()
        if len(styles) <= _MOST_BANDS:
            figure.add_trace(_band(line, x, name, style))
        deviations = ["" if pd.isna(sd) else f"± {sd:.1%}" for sd in line["sd"]]
        details = (interval_texts(line), deviations, line["participants"], line["trial"])
        hover = "trial %{customdata[3]}: %{y:.1%} %{customdata[1]}<br>95%: %{customdata[0]}"
        hover += "<br>%{customdata[2]} participants"
        _add_line(figure, name, style, line, (x, "mean"), details, hover)
    figure.update_yaxes(**SHARE).update_xaxes(dtick=1)
    set_titles(figure, "Tasks solved by each trial", "trial", "tasks solved, mean over participants", height=460)
    return label_ends(figure, *SHARE["range"])


def time_over_session(frame: pd.DataFrame) -> go.Figure:
    """Draw median seconds over the session. Columns: kind, first, last (positions), n, seconds, low, high."""
    figure, kinds = go.Figure(), {"human": "people", "rule": "simulated"}
    for kind, rows, style in split_series(frame, "kind"):
        line = rows.sort_values("first")
        middles, details = ((line["first"] + line["last"]) / 2).to_list(), (line["first"], line["last"], line["n"])
        hover = "decisions %{customdata[0]} to %{customdata[1]}: median %{y:.1f} s<br>%{customdata[2]:,} decisions"
        _add_line(figure, kinds.get(kind, kind), style, line, (middles, "seconds"), details, hover)
    highest = 1.05 * max([1.0, *frame["seconds"].dropna(), *frame["high"].dropna()])
    figure.update_yaxes(range=[0, highest])
    set_titles(figure, "Time per decision over the session", "number of the decision in the session", "median seconds")
    return label_ends(figure, 0, highest)


def override_by_score(frame: pd.DataFrame) -> go.Figure:
    """Draw the share of overrides by score. Columns: condition, bin_low, bin_high, n, share, low, high (0 to 1)."""
    figure = go.Figure()
    for condition, rows, style in split_series(frame[frame["share"].notna()], "condition"):
        line = rows.sort_values("bin_low")
        middles = ((line["bin_low"] + line["bin_high"]) / 2).to_list()
        details = (line["bin_low"], line["bin_high"], line["n"].astype(int), interval_texts(line))
        hover = "score %{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y:.1%} overridden<br>"
        hover += "95%: %{customdata[3]}<br>%{customdata[2]:,} decisions"
        _add_line(figure, condition, style, line, (middles, "share"), details, hover)
    figure.update_yaxes(**SHARE).update_xaxes(range=[0, 1])
    set_titles(figure, "Decisions that override the detector", "detector score", "share overridden")
    return label_ends(figure, *SHARE["range"])


def feedback_length(frame: pd.DataFrame) -> go.Figure:
    """Draw the success rate of the next trial by the length of the feedback, one line per condition.

    Columns: condition, words_low, words_high (bounds included), n, share, low, high (shares 0 to 1).
    """
    figure = go.Figure()
    known = frame[frame["share"].notna()].sort_values("words_low", kind="stable")
    for condition, line, style in split_series(known, "condition"):
        hover = "%{x} words: %{y:.1%} succeeded next<br>95%: %{customdata[1]}<br>%{customdata[0]:,} decisions"
        details = (line["n"].astype(int), interval_texts(line))
        _add_line(figure, condition, style, line, (_word_ranges(line), "share"), details, hover)
    categories = list(dict.fromkeys(_word_ranges(known)))
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=categories)
    figure.update_yaxes(**SHARE)
    set_titles(figure, "Feedback length and the next trial", "length of the feedback, words", "successful next trials")
    return label_ends(figure, *SHARE["range"])


def agreement(frame: pd.DataFrame) -> go.Figure:
    """Draw each measure of agreement by group of reviewers. Columns: reviewers, measure, value, low, high, n."""
    known = frame[frame["value"].notna()]
    measures = list(dict.fromkeys(known["measure"]))
    styles = series_styles(known["reviewers"])
    figure = go.Figure()
    for place, (name, style) in enumerate(styles.items()):
        rows = known[known["reviewers"] == name]
        shift = 0.16 * (place - (len(styles) - 1) / 2)
        figure.add_scatter(
            x=rows["value"].to_list(),
            y=[measures.index(measure) + shift for measure in rows["measure"]],
            error_x=error_bars(rows, "value"),
            customdata=rows[["measure", "n"]].to_numpy().tolist(),
            name=name,
            mode="markers",
            marker={"color": style.colour, "symbol": style.mark, "size": 10},
            hovertemplate="%{customdata[0]}: %{x:.3f}<br>%{customdata[1]:,} checkpoints",
        )
    labels = [AGREEMENT_MEASURES.get(measure, measure) for measure in measures]
    figure.update_yaxes(range=[len(measures) - 0.5, -0.5], tickvals=list(range(len(measures))), ticktext=labels)
    figure.add_vline(0, line=DOTTED)
    x = "1 is full agreement, 0 is chance<br>(equal labels: a share)"
    return set_titles(figure, "Agreement between reviewers", x, "measure", height=max(300, 62 * len(measures) + 150))


def contrast_forest(frame: pd.DataFrame) -> go.Figure:
    """Draw the estimate of each primary contrast or, without one, of each contrast of the first measure.

    Columns: contrast, kind, measure, estimate, low, high (low and high may be missing).
    """
    first = frame[(frame["kind"] == "primary") & frame["estimate"].notna()]
    shown = first if len(first) else frame[frame["estimate"].notna() & (frame["measure"] == frame["measure"].iloc[0])]
    # The addition turns a rounded -0.0 into 0.0.
    rounded = shown[["estimate", "low", "high"]].astype(float).round(3) + 0.0
    figure, rows = go.Figure(), list(range(len(shown)))
    figure.add_scatter(
        x=shown["estimate"].to_list(),
        y=rows,
        error_x=error_bars(shown, "estimate"),
        mode="markers",
        marker={"color": ALIGNED, "size": 10},
        showlegend=False,
        hoverinfo="skip",
    )
    # The texts are above their rows, so that they take no width from the intervals on a narrow page.
    values = rounded.itertuples(index=False, name=None)
    for row, name, (one, low, high) in zip(rows, shown["contrast"], values, strict=True):
        interval = "" if pd.isna(low) else f" ({number(low, '+.3f')} to {number(high, '+.3f')})"
        text = f"{escape(contrast_title(name))}<br><b>{number(one, '+.3f')}</b>{interval}"
        figure.add_annotation(
            x=0,
            xref="paper",
            y=row,
            yshift=10,
            yanchor="bottom",
            text=text,
            align="left",
            xanchor="left",
            showarrow=False,
        )
        figure.add_shape(type="line", x0=0, x1=0, y0=row - 0.12, y1=row + 0.3, line=DOTTED)
    figure.update_yaxes(range=[len(shown) - 0.6, -0.8], showticklabels=False, showgrid=False, zeroline=False)
    figure.update_xaxes(nticks=7, tickangle=0, zeroline=False)
    measure = str(shown["measure"].iloc[0]) if len(shown) else ""
    title = "Effects, each with its own 95% interval" if shown["low"].notna().any() else "Effects, without intervals"
    return set_titles(figure, title, f"difference in {measure}", "", height=150 + 74 * len(shown))


def user_study(frame: pd.DataFrame) -> go.Figure:
    """Draw the success of each detector after the last trial: filled marks for our values, hollow for published values.

    The published values are from the InferAct paper (Table 9). Whiskers show +- SD. Columns: detector, feedback, source
    (`here: ` or `paper: ` and the kind of reviewer), trial, percent, sd (may be missing).
    """
    last = frame[frame["trial"] == frame.groupby("source")["trial"].transform("max")]
    here = last["source"].str.startswith("here")
    figure = go.Figure()
    colours, symbols = {"words": ALIGNED, "binary": MISALIGNED}, ("circle", "square", "triangle-up")
    sources = list(dict.fromkeys(last.loc[here, "source"]))
    for (source, feedback), rows in last[here].groupby(["source", "feedback"], sort=False):
        symbol = symbols[sources.index(source) % len(symbols)]
        mark = {"color": colours.get(str(feedback), "#1a8b72"), "symbol": symbol, "size": 10}
        figure.add_trace(_deviations(rows, f"{source}, {feedback}", mark))
    for place, (source, rows) in enumerate(last[~here].groupby("source", sort=False)):
        figure.add_trace(_deviations(rows, str(source), paper_mark(place)))
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(range=[0, 100], ticksuffix="%")
    height = 190 + 34 * last["detector"].nunique()
    return set_titles(figure, "Success after the last trial: here and in the paper", "tasks solved", "", height=height)


def _add_line(
    figure: go.Figure,
    name: str,
    style: SeriesStyle,
    points: pd.DataFrame,
    axes: tuple[list[Any], str],
    details: tuple[Iterable[Any], ...],
    hover: str,
) -> None:
    """Add a line with error bars at these x, with the y of this column; `hover` refers to the columns `details`."""
    x, value = axes
    drawn = style.line(marks=True) | {"error_y": error_bars(points, value), "hovertemplate": hover}
    hovered = [list(row) for row in zip(*details, strict=True)]
    figure.add_scatter(x=x, y=points[value].to_list(), name=name, legendgroup=name, customdata=hovered, **drawn)


def _band(line: pd.DataFrame, x: list[float], name: str, style: SeriesStyle) -> go.Scatter:
    sd = line["sd"].fillna(0.0)
    upper, lower = (line["mean"] + sd).clip(0, 1), (line["mean"] - sd).clip(0, 1)
    return go.Scatter(
        x=[*x, *reversed(x)],
        y=[*upper.to_list(), *reversed(lower.to_list())],
        name=f"{name} +- SD",
        legendgroup=name,
        showlegend=False,
        fill="toself",
        fillcolor=style.colour,
        opacity=0.12,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
    )


def _word_ranges(rows: pd.DataFrame) -> list[str]:
    pairs = zip(rows["words_low"], rows["words_high"], strict=True)
    return [f"{low}" if low == high else f"{low} to {high}" for low, high in pairs]


def _deviations(rows: pd.DataFrame, name: str, marker: dict[str, object]) -> go.Scatter:
    return go.Scatter(
        x=rows["percent"].to_list(),
        y=rows["detector"].to_list(),
        error_x={"type": "data", "array": rows["sd"].fillna(0.0).to_list(), "thickness": 1.3, "width": 4},
        name=name,
        mode="markers",
        marker=marker,
        hovertemplate="%{y}: %{x:.1f}%",
    )
