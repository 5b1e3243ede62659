"""Bootstrap draws of many figures at once: a draw is how often each case is in it, so nothing is sorted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from console.metrics.bootstrap import Interval, draws
from console.metrics.calibration import BINS
from console.metrics.curves import Ranking

Weights = NDArray[np.int64]
Floats = NDArray[np.float64]
OfWeights = Callable[[Weights], float | None]
"""A figure of one draw; the weights tell how often each case was drawn."""

_CASES = 20_000_000
_MOST, _LEAST = 500, 100


def drawn(
    n: int, figures: Mapping[str, OfWeights], *, seed: int = 0, resamples: int | None = None
) -> dict[str, Floats]:
    """Each figure's values over the same draws of n cases, without the draws where it is undefined.

    Without `resamples` there are 500, and fewer, down to 100, where the cases are many.
    """
    count = resamples or max(_LEAST, min(_MOST, _CASES // max(n, 1)))
    values: dict[str, list[float]] = {name: [] for name in figures}
    for chosen in draws(n, seed, count) if n else ():
        weights = np.bincount(chosen, minlength=n)
        for name, figure in figures.items():
            value = figure(weights)
            if value is not None:
                values[name].append(value)
    return {name: np.array(found) for name, found in values.items()}


def interval(values: Floats, level: float = 0.95) -> Interval | None:
    """The bounds of the middle `level` of the drawn values; None without any."""
    if not values.size:
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def sign_p_value(values: Floats) -> float | None:
    """How often the sign of a drawn difference turned, two-sided; None without any."""
    if not values.size:
        return None
    return min(1.0, 2 * float(min(np.mean(values <= 0), np.mean(values >= 0))))


@dataclass(frozen=True, eq=False)
class Ranked:
    """Cases in the order of their scores, ready to be ranked again under any weights."""

    labels: NDArray[np.bool_]
    scores: Floats

    def under(self, weights: Weights) -> Ranking:
        """The ranking of one draw."""
        order, ends = self._order
        counts = weights[order]
        flags, tp = np.cumsum(counts)[ends], np.cumsum(counts * self._truth)[ends]
        met = flags > 0
        return Ranking(self.scores[order][ends][met], tp[met], (flags - tp)[met])

    @cached_property
    def _order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(-self.scores, kind="stable")
        given = self.scores[order]
        ends = np.flatnonzero(np.append(given[1:] != given[:-1], True)) if given.size else np.array([], dtype=np.int64)
        return order, ends

    @cached_property
    def _truth(self) -> NDArray[np.int64]:
        return self.labels[self._order[0]].astype(np.int64)


def brier_of(labels: ArrayLike, probabilities: ArrayLike) -> OfWeights:
    """The Brier score as a figure of weights."""
    errors = (np.asarray(probabilities, dtype=np.float64) - np.asarray(labels, dtype=np.float64)) ** 2
    return lambda weights: float(weights @ errors / weights.sum())


def ece_of(labels: ArrayLike, probabilities: ArrayLike, bins: int = BINS) -> OfWeights:
    """ECE as a figure of weights, in the bins of `expected_calibration_error`."""
    given = np.clip(np.asarray(probabilities, dtype=np.float64), 0.0, 1.0)
    place = np.minimum(np.searchsorted(np.linspace(0.0, 1.0, bins + 1), given, side="right") - 1, bins - 1)
    gaps = given - np.asarray(labels, dtype=np.float64)

    def figure(weights: Weights) -> float:
        return float(np.abs(np.bincount(place, weights=weights * gaps, minlength=bins)).sum() / weights.sum())

    return figure
