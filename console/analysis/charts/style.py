"""Chart style: layout, error bars, labels, and colours, dashes and marks that all readers can distinguish."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd
import plotly.graph_objects as go

SHARE: dict[str, Any] = {"range": [-0.02, 1.02], "tickformat": ".0%"}
_LEGEND_PX, _LINE_PX, _EDGE_PX = 54, 19, 16
"""The distance of the legend below the plot, the height of a line of the legend, and the margin without a legend."""
_TICKS = {"automargin": True, "zeroline": False}


def set_titles(figure: go.Figure, title: str, x: str, y: str, *, height: int = 400) -> go.Figure:
    """Set the layout of the figure: its title, the titles of its axes (with units), and its height in pixels."""
    named = sum(line.showlegend is not False for line in figure.data)
    # Each further line of the legend takes as much height as it needs below a narrow chart.
    more = _LINE_PX * (max(0, named - 3) + x.count("<br>"))
    height, legend = height + more, _LEGEND_PX + _LINE_PX * x.count("<br>")
    # In the margin, the legend keeps its distance from the axis when the width of the page changes.
    foot = legend + more + 2 * _EDGE_PX if named > 1 else _EDGE_PX
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "font": {"size": 16}},
        height=height,
        margin={"t": 56, "r": _EDGE_PX, "b": foot, "l": _EDGE_PX},
        legend={"orientation": "h", "yref": "container", "y": (foot - legend) / height, "yanchor": "top", "x": 0},
        hoverlabel={"namelength": -1},
    )
    # An empty title would take the room of a title.
    figure.update_xaxes(title_text=x or None, title_standoff=8, **_TICKS)
    return figure.update_yaxes(title_text=y or None, **_TICKS)


_APART_PX, _LETTER_PX, _FEW_LETTERS, _MOST_LETTERS = 15, 6.2, 24, 40


def label_ends(figure: go.Figure, low: float, high: float) -> go.Figure:
    """Replace the legend by a label at the end of each line, without overlaps on a y axis from `low` to `high`."""
    lines = [line for line in figure.data if line.showlegend is not False and len(line.y or ())]
    lines.sort(key=lambda line: line.y[-1])
    apart = (high - low) * _APART_PX / max(figure.layout.height - 130, _APART_PX)
    heights = [line.y[-1] for line in lines]
    for at in range(1, len(heights)):
        heights[at] = max(heights[at], heights[at - 1] + apart)
    heights = [min(y, high - apart * above) for above, y in zip(reversed(range(len(heights))), heights, strict=True)]
    names = _shorten_names([line.name for line in lines])
    for line, y, name in zip(lines, heights, names, strict=True):
        text = _mark_label(name, line.line.color, _SIGNS.get(line.marker.symbol, _LINE_SIGN))
        figure.add_annotation(text=text, x=1.01, xref="paper", xanchor="left", y=y, font={"size": 11}, showarrow=False)
    room = 24 + _LETTER_PX * (2 + max(map(len, names), default=0))
    return figure.update_layout(showlegend=False, margin={"r": room, "b": _EDGE_PX})


def _mark_label(name: str, colour: str, sign: str) -> str:
    """Return a label in the colour of the page's text, which every reader can read, after its line's sign."""
    return f'<span style="color:{colour}">{sign}</span> {escape(name)}'


def _shorten_names(names: Sequence[str]) -> list[str]:
    """Cut long names; cut them less if short ones would not differ."""
    for most in (_FEW_LETTERS, _MOST_LETTERS):
        cut = [name if len(name) <= most else f"{name[: most - 1]}…" for name in names]
        if len(set(cut)) == len(set(names)):
            break
    return cut


MISALIGNED, ALIGNED, QUIET = "#cb5924", "#2a80c8", "#707c8f"
DOTTED = {"color": QUIET, "width": 1, "dash": "dot"}
_SCALE, CELL_INK = [[0.0, "rgba(79, 147, 210, 0.1)"], [1.0, "rgba(79, 147, 210, 0.6)"]], "#17202e"
"""Colours of heat maps, which let a light or a dark page shine through and work in greyscale, and of their text."""

# Each colour is as dark on a light page as it is light on a dark one.
_COLOURS = ("#2a80c8", "#ae6d19", "#1a8b72", "#c1539e", "#cb5924", "#7e6ecb")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_SIGNS = {"circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲", "cross": "✚", "x": "✖"}
"""The marks of points, each with the character for it in a label."""
_MARKS, _LINE_SIGN = tuple(_SIGNS), "━"


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """The style of one series, usually a detector, in every chart."""

    colour: str
    dash: str
    mark: str

    def line(self, *, marks: bool = False) -> dict[str, Any]:
        """Return Plotly's options for a line of this style, with or without marks at its points."""
        drawn = {"mode": "lines", "line": {"color": self.colour, "dash": self.dash, "width": 2}}
        return drawn | {"mode": "lines+markers", "marker": {"symbol": self.mark, "size": 8}} if marks else drawn


def series_styles(names: pd.Series[Any]) -> dict[str, SeriesStyle]:
    """Return a style for each name in a column; in a categorical column, a category has one style in all charts."""
    shown = list(dict.fromkeys(names))
    order = list(names.cat.categories) if isinstance(names.dtype, pd.CategoricalDtype) else shown
    return {
        # Two series of one colour have different marks.
        name: SeriesStyle(
            _COLOURS[at % len(_COLOURS)], DASHES[at % len(DASHES)], _MARKS[(at + at // len(_COLOURS)) % len(_MARKS)]
        )
        for at, name in enumerate(order)
        if name in shown
    }


def split_series(frame: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame, SeriesStyle]]:
    """Yield each value of the column with its rows and its style."""
    for name, style in series_styles(frame[column]).items():
        yield name, frame[frame[column] == name], style


def label_last_points(
    figure: go.Figure, ends: Sequence[tuple[float, float, str, str]], gap: float, *, beside: bool = False
) -> go.Figure:
    """Replace the legend by labels (x, y, label, colour), at least `gap` apart on the y axis.

    Lines that end at the same point share a label; a thin line joins a label that had to move to its point. With
    `beside`, the labels are to the right of all lines; if a line ends before the others, the legend stays instead.
    """
    shared: dict[tuple[float, float], list[tuple[str, str]]] = {}
    for x, y, label, colour in ends:
        shared.setdefault((x, y), []).append((label, colour))
    place, width = -math.inf, max((end[0] for end in ends), default=0.0)
    if beside and any(x < 0.9 * width for x, _y in shared):
        return figure
    heights = sorted(y for _x, y in shared)
    for (x, y), labels in sorted(shared.items(), key=lambda end: end[0][1]):
        # The lower of two close lines has its label below, so that the upper line does not cross it.
        below = not beside and place == -math.inf and len(heights) > 1 and heights[1] - y < 2 * gap
        place = max(y, place + gap)
        moved, before = place - y > gap / 2, 2 * x > width
        drawn = {"arrowhead": 0, "arrowwidth": 1, "arrowcolor": labels[0][1], "standoff": 2}
        # The tail of the arrow is the label's place, in units of the axes.
        shift = {"xshift": 6, "yshift": -2} if beside else {"yshift": -6 if below else 6}
        at = 1.03 * width if beside else x
        drawn |= {"showarrow": True, "ax": at, "ay": place, "axref": "x", "ayref": "y"} if moved else shift
        figure.add_annotation(
            x=x,
            y=y,
            text=" ".join(_mark_label(label, colour, _LINE_SIGN) for label, colour in labels),
            xanchor="right" if before and not beside else "left",
            yanchor="top" if below else "bottom",
            font={"size": 13},
            **({"showarrow": False} | drawn),
        )
        place -= gap * below
    if beside:
        room = 24 + 7 * max((sum(len(name) + 3 for name, _ in labels) for labels in shared.values()), default=0)
        figure.update_xaxes(range=[0, 1.03 * width or 1]).update_layout(margin={"r": room})
    return figure.update_layout(showlegend=False, margin={"b": _EDGE_PX})


def name_coinciding_lines(figure: go.Figure) -> go.Figure:
    """Draw lines with the same points as one line, whose entry in the legend names all of them."""
    first: dict[tuple[tuple[float, ...], tuple[float, ...]], go.Scatter] = {}
    for line in figure.data:
        if line.showlegend is False or not line.name:
            continue
        known = first.setdefault((tuple(line.x), tuple(line.y)), line)
        if known is not line:
            known.name = f"{known.name} = {line.name}"
            line.update(showlegend=False, visible="markers" in line.mode)
    return figure


def heat_map(
    cells: list[list[float | None]], columns: Sequence[str], rows: Sequence[str], form: str, **drawn: Any
) -> go.Figure:
    """Return a heat map with the value in each cell, in the number format `form`; a missing value is a dash."""
    text = [["–" if cell is None else format(cell, form) for cell in row] for row in cells]
    options = {"text": text, "texttemplate": "%{text}", "colorscale": _SCALE, "xgap": 2, "ygap": 2}
    options |= {"textfont": {"color": CELL_INK}} | drawn
    figure = go.Figure(go.Heatmap(z=cells, x=columns, y=rows, **options))
    return figure.update_xaxes(showgrid=False).update_yaxes(showgrid=False)


def paper_mark(place: int) -> dict[str, Any]:
    """Return the hollow mark of the published source at this index."""
    symbols = ("diamond-open", "circle-open", "square-open", "triangle-up-open")
    return {"color": QUIET, "symbol": symbols[place % len(symbols)], "size": 10, "line": {"width": 2}}


def error_bars(frame: pd.DataFrame, value: str) -> dict[str, Any]:
    """Return Plotly's error bars from the columns low and high; a point without an interval has no error bar."""
    up, down = frame["high"] - frame[value], frame[value] - frame["low"]
    lengths = {"array": _clean(up), "arrayminus": _clean(down)}
    return {"type": "data", "symmetric": False, **lengths, "thickness": 1.3, "width": 4}


def interval_texts(frame: pd.DataFrame) -> list[str]:
    """Return the interval of each row as text, from the columns low and high (shares, 0 to 1)."""
    return [
        "no interval" if pd.isna(low) or pd.isna(high) else f"{low:.1%} to {high:.1%}"
        for low, high in zip(frame["low"], frame["high"], strict=True)
    ]


def _clean(lengths: pd.Series[float]) -> list[float]:
    return [max(0.0, length) for length in lengths.fillna(0.0).to_list()]
