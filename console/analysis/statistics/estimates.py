"""Estimates: a figure with its interval, and the few ways to get one from a handful of participants.

Their distributions are those of scipy.special. The tests and intervals of scipy.stats and statsmodels take a second to
load, which the first page of a study's results cannot wait for, so what is asked there is put together here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from console.analysis.metrics.bootstrap import Interval
from console.errors import BadInput

LEVEL = 0.95
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, its interval and two-sided p-value; where one of them is None the note says why.

    `n` counts what the interval is over (participants, units, ...), `df` are the degrees of freedom of a t interval.
    """

    value: float | None
    interval: Interval | None = None
    p_value: float | None = None
    n: int = 0
    df: float | None = None
    note: str = ""

    @property
    def bounds(self) -> tuple[float, float] | tuple[None, None]:
        """The ends of the interval, None for both where there is none."""
        return (self.interval.low, self.interval.high) if self.interval else (None, None)


def undefined(note: str, n: int = 0) -> Estimate:
    """No figure, and the reason."""
    return Estimate(None, n=n, note=note)


def of_t(value: float, error: float, df: float, n: int, level: float = LEVEL, note: str = "") -> Estimate:
    """The t interval and the test against zero of a figure with this standard error."""
    half = float(special.stdtrit(df, (1 + level) / 2)) * error
    p_value = 2 * float(special.stdtr(df, -abs(value) / error))
    return Estimate(value, Interval(value - half, value + half, level), p_value, n, df, note)


def mean(values: ArrayLike, level: float = LEVEL, what: str = "participant") -> Estimate:
    """The mean of one value per participant, with the t interval; nothing is said of the spread of fewer than two."""
    given = present(values)
    if not given.size:
        return undefined(f"There is no {what} with a value.")
    value, error = float(given.mean()), standard_error(given)
    if given.size < 2:
        return Estimate(value, n=1, note=f"One {what} tells nothing of the spread, so there is no interval.")
    if _negligible(error, value):
        return Estimate(value, n=given.size, note=f"All {given.size} values are the same, so there is no interval.")
    return of_t(value, error, given.size - 1, given.size, level)


def difference(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> Estimate:
    """The mean of one group of participants less that of another (Welch 1947, unequal variances).

    Planning a study asks it thousands of times, and scipy.stats.ttest_ind would take fifteen times as long.
    """
    ours, theirs = present(first), present(second)
    n = ours.size + theirs.size
    if not ours.size or not theirs.size:
        return undefined("One of the groups has no participant with a value.", n)
    value = float(ours.mean() - theirs.mean())
    if min(ours.size, theirs.size) < 2:
        return Estimate(value, n=n, note="A group of one participant tells nothing of the spread: no interval.")
    parts = standard_error(ours) ** 2, standard_error(theirs) ** 2
    if _negligible(sum(parts) ** 0.5, max(abs(ours.mean()), abs(theirs.mean()))):
        return Estimate(value, n=n, note="The values of each group are all the same, so there is no interval.")
    df = sum(parts) ** 2 / (parts[0] ** 2 / (ours.size - 1) + parts[1] ** 2 / (theirs.size - 1))
    return of_t(value, sum(parts) ** 0.5, df, n, level)


def proportion(successes: int, n: int, level: float = LEVEL) -> Estimate:
    """A share with the interval of Wilson (1927), which takes every case as independent of the others."""
    if not n:
        return undefined("There are no cases.")
    z2 = float(special.ndtri((1 + level) / 2)) ** 2
    centre, half = successes + z2 / 2, (z2 * (successes * (n - successes) / n + z2 / 4)) ** 0.5
    bounds = ((centre - half) / (n + z2), (centre + half) / (n + z2))
    return Estimate(successes / n, Interval(max(bounds[0], 0.0), min(bounds[1], 1.0), level), n=n)


def bounded(found: Estimate, low: float = 0.0, high: float = 1.0) -> Estimate:
    """The same with its interval cut to the range that the figure can take."""
    if found.interval is None:
        return found
    kept = Interval(max(found.interval.low, low), min(found.interval.high, high), found.interval.level)
    return replace(found, interval=kept)


def standard_error(values: Floats) -> float:
    """The standard error of the mean; 0 for a single value."""
    return float(values.std(ddof=1) / values.size**0.5) if values.size > 1 else 0.0


def present(values: ArrayLike) -> Floats:
    """The values as floats, without the missing ones."""
    plain = isinstance(values, np.ndarray) and values.dtype == np.float64
    flat = values if plain else numbers(pd.Series(np.ravel(np.asarray(values, dtype=object)), dtype=object))
    given: Floats = np.ravel(np.asarray(flat, dtype=np.float64))
    return given[np.isfinite(given)]


def numbers(column: pd.Series[Any]) -> pd.Series[float]:
    """The column as floats, NaN where a cell is missing, whatever type it came in."""
    found: pd.Series[float] = pd.to_numeric(column, errors="coerce").astype(float)
    return found


def need(frame: pd.DataFrame, *columns: str) -> None:
    """Raises BadInput, naming the first column that the frame lacks."""
    for column in columns:
        if column not in frame.columns:
            known = ", ".join(map(str, frame.columns))
            raise BadInput(f"The table has no column {column!r}; it has {known}. Add the column and compute again.")


@contextmanager
def quiet() -> Iterator[None]:
    """Silences the libraries while they fit: a fit that failed shows in its figures, and a note says so in words."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _negligible(error: float, size: float) -> bool:
    # Figures are shares, logarithms and seconds: what lies that near 0 is the rounding of an exact 0.
    return error <= 1e-12 * max(abs(size), 1.0)
