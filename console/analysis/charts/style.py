"""Chart style: the frame around every chart, its colours, dashes and marks, and its error bars.

Colours are told apart in light and dark and by the colour-blind; dashes and marks say the same once more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
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


_APART_PX, _LETTER_PX, _MOST_LETTERS = 15, 6.2, 24


def label_ends(figure: go.Figure, low: float, high: float) -> go.Figure:
    """Writes each line's name at its end in its colour, apart from one another, in the place of a legend.

    `low` and `high` are the ends of the y axis; a long name is cut, and pointing at the line tells it whole.
    """
    lines = [line for line in figure.data if line.showlegend is not False and len(line.y or ())]
    lines.sort(key=lambda line: line.y[-1])
    apart = (high - low) * _APART_PX / max(figure.layout.height - 130, _APART_PX)
    below = [line.y[-1] for line in lines]
    for at in range(1, len(below)):
        below[at] = max(below[at], below[at - 1] + apart)
    over = max(0.0, below[-1] - high) if below else 0.0
    named = [line.name if len(line.name) <= _MOST_LETTERS else f"{line.name[: _MOST_LETTERS - 1]}…" for line in lines]
    for line, y, name in zip(lines, below, named, strict=True):
        said = {"text": name, "font": {"size": 11, "color": line.line.color}, "showarrow": False}
        figure.add_annotation(x=1.01, xref="paper", xanchor="left", y=y - over, **said)
    room = 24 + _LETTER_PX * max(map(len, named), default=0)
    return figure.update_layout(showlegend=False, margin={"r": room})


MISALIGNED, ALIGNED, QUIET = "#d9622b", "#3b8fd6", "#8a94a3"
LABELS = {"misaligned": MISALIGNED, "aligned": ALIGNED}
SCALE = [[0.0, "#e3edf7"], [0.5, "#6aa5d8"], [1.0, "#174f8a"]]
"""Of heat maps; light to dark, so that it reads in grey as well."""

_COLOURS = ("#3b8fd6", "#e0912a", "#1fa386", "#c765a8", "#d9622b", "#8d7fd1")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "x")


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """How one series, mostly a detector, is drawn in every chart."""

    colour: str
    dash: str
    mark: str

    def line(self, *, marks: bool = False) -> dict[str, Any]:
        """How Plotly draws the series as a line, with marks at its points or without."""
        drawn = {"mode": "lines", "line": {"color": self.colour, "dash": self.dash, "width": 2}}
        return drawn | {"mode": "lines+markers", "marker": {"symbol": self.mark, "size": 8}} if marks else drawn


def series_styles(names: pd.Series[Any]) -> dict[str, SeriesStyle]:
    """A style for each name of a column; a categorical one has them by category, so that all its charts agree."""
    shown = list(dict.fromkeys(names))
    order = list(names.cat.categories) if isinstance(names.dtype, pd.CategoricalDtype) else shown
    return {name: _style(order.index(name)) for name in order if name in shown}


def _style(place: int) -> SeriesStyle:
    return SeriesStyle(_COLOURS[place % len(_COLOURS)], _DASHES[place % len(_DASHES)], _MARKS[place % len(_MARKS)])


def label_last_points(figure: go.Figure, ends: Sequence[tuple[float, float, str, str]], gap: float) -> None:
    """Names lines where they end, each in its colour, (x, y, label, colour); labels lie `gap` apart at least, in y.

    So nobody has to find a line in a legend, which the figure then has not.
    """
    place, width = -math.inf, max((end[0] for end in ends), default=0.0)
    for x, y, label, colour in sorted(ends, key=lambda end: end[1]):
        place = max(y, place + gap)
        figure.add_annotation(
            x=x,
            y=place,
            text=label,
            showarrow=False,
            xanchor="right" if 2 * x > width else "left",
            yanchor="bottom",
            yshift=6,
            font={"color": colour, "size": 13},
        )
    figure.update_layout(showlegend=False)


def on_scale(share: float) -> str:
    """The colour of a text that stands on that part (0 to 1) of the scale."""
    return "#ffffff" if share > 0.62 else "#17202e"


def error_bars(frame: pd.DataFrame, value: str) -> dict[str, Any]:
    """Plotly's error bars from the columns low and high; a point without an interval has none."""
    up, down = frame["high"] - frame[value], frame[value] - frame["low"]
    reach = {"array": _present(up), "arrayminus": _present(down)}
    return {"type": "data", "symmetric": False, **reach, "thickness": 1.3, "width": 4}


def interval_text(low: object, high: object) -> str:
    """An interval of shares in words, or that there is none."""
    if pd.isna(low) or pd.isna(high):  # type: ignore[call-overload]
        return "no interval"
    return f"{low:.1%} to {high:.1%}"


def _present(lengths: pd.Series[float]) -> list[float]:
    return [max(0.0, length) for length in lengths.fillna(0.0).to_list()]
