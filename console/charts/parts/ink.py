"""Colours that are told apart in light and dark and by the colour-blind; dashes and marks say the same once more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

MISALIGNED, ALIGNED, QUIET = "#d9622b", "#3b8fd6", "#8a94a3"
LABELS = {"misaligned": MISALIGNED, "aligned": ALIGNED}
SCALE = [[0.0, "#e3edf7"], [0.5, "#6aa5d8"], [1.0, "#174f8a"]]
"""Of heat maps; light to dark, so that it reads in grey as well."""

_COLOURS = ("#3b8fd6", "#e0912a", "#1fa386", "#c765a8", "#d9622b", "#8d7fd1")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "x")


@dataclass(frozen=True, slots=True)
class Ink:
    """How one detector is drawn in every chart."""

    colour: str
    dash: str
    mark: str


def inks(names: pd.Series[Any]) -> dict[str, Ink]:
    """An ink for each name of a column; a categorical one has its inks by category, so that all its charts agree."""
    there = list(dict.fromkeys(names))
    order = list(names.cat.categories) if isinstance(names.dtype, pd.CategoricalDtype) else there
    return {name: _ink(order.index(name)) for name in order if name in there}


def _ink(place: int) -> Ink:
    return Ink(_COLOURS[place % len(_COLOURS)], _DASHES[place % len(_DASHES)], _MARKS[place % len(_MARKS)])


def on_scale(share: float) -> str:
    """The colour of a text that stands on that part (0 to 1) of the scale."""
    return "#ffffff" if share > 0.62 else "#17202e"
