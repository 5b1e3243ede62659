"""Bootstrap: percentile intervals of a metric from cases resampled with replacement, with a seed.

Ranking and calibration metrics share the resamples. A resample is stored as a count per case, so that scores are sorted
only once; scipy and scikit-learn would sort the scores for every resample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from console.analysis.metrics.classification import BINS, Confusion, find_bins
from console.analysis.metrics.ranking_curves import Ranking

Weights = NDArray[np.int64]
Floats = NDArray[np.float64]
Figures = Callable[[Weights], Mapping[str, float | None]]
"""The figures of one draw; the weights are the number of times that each case was drawn."""

LEVEL = 0.95
RESAMPLES = 2_000
_MOST, _LEAST = 500, 100
_CASES = 10_000_000
_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds of the central interval that contains the proportion `level` of the resampled values."""

    low: float
    high: float
    level: float = LEVEL


def estimate_confusion_interval(
    matrix: Confusion, figure: Callable[[Confusion], float], resamples: int = RESAMPLES
) -> Interval | None:
    """Compute the interval of a metric of the confusion matrix, or None if all counts are 0."""
    if not matrix.n:
        return None
    cells = np.array([matrix.tp, matrix.fp, matrix.fn, matrix.tn])
    drawn = np.random.default_rng(0).multinomial(matrix.n, cells / matrix.n, size=resamples)
    return percentile_interval(np.array([figure(Confusion(*map(int, row))) for row in drawn]))


def draw_indices(n: int, seed: int, resamples: int) -> Iterator[NDArray[np.int64]]:
    """Yield the n case indices of each resample, in blocks that bound the memory; equal seeds give equal indices."""
    generator = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, resamples, block):
        yield from generator.integers(0, n, size=(min(block, resamples - start), n))


def draw_figures(n: int, figures: Figures, *, seed: int = 0, resamples: int | None = None) -> dict[str, Floats]:
    """Compute every defined metric on the same resamples of n cases: 500, or at least 100 for many cases."""
    count = resamples or max(_LEAST, min(_MOST, _CASES // max(n, 1)))
    values: dict[str, list[float]] = {}
    for chosen in draw_indices(n, seed, count) if n else ():
        for name, value in figures(np.bincount(chosen, minlength=n)).items():
            found = values.setdefault(name, [])
            if value is not None:
                found.append(value)
    return {name: np.array(found) for name, found in values.items()}


def percentile_interval(values: Floats) -> Interval | None:
    """Compute the interval that contains the central 95% of resampled values; return None if `values` is empty."""
    if not values.size:
        return None
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))


def sign_p_value(values: Floats) -> float | None:
    """Compute the two-sided p-value of a difference from the signs of its resampled values; never 0, None if empty."""
    if not values.size:
        return None
    turned = min(np.count_nonzero(values <= 0), np.count_nonzero(values >= 0))
    return min(1.0, 2 * (int(turned) + 1) / (values.size + 1))


class Ranked:
    """Cases sorted by score, from which the ranking of each resample is computed."""

    def __init__(self, labels: NDArray[np.bool_], scores: Floats) -> None:
        self._order = np.argsort(-scores, kind="stable")
        given = scores[self._order]
        last_of_ties = np.append(given[1:] != given[:-1], True) if given.size else np.array([], dtype=bool)
        self._ends = np.flatnonzero(last_of_ties)
        self._given, self._truth = given[self._ends], labels[self._order].astype(np.int64)

    def under(self, weights: Weights) -> Ranking:
        """Return the ranking of one resample, given as a count per case."""
        counts = weights[self._order]
        flags = np.cumsum(counts)[self._ends]
        tp = np.cumsum(counts * self._truth)[self._ends]
        met = flags > 0
        return Ranking(self._given[met], tp[met], (flags - tp)[met])


def calibration_figures(labels: ArrayLike, probabilities: ArrayLike, bins: int = BINS) -> Figures:
    """Return a function that computes the Brier score and the ECE (over `bins` bins) of a resample from its weights."""
    truth, given = np.asarray(labels, dtype=np.float64), np.clip(np.asarray(probabilities, dtype=np.float64), 0.0, 1.0)
    place = find_bins(given, bins)
    gaps = given - truth

    def figures(weights: Weights) -> dict[str, float | None]:
        weighted = weights * gaps
        off = np.abs(np.bincount(place, weights=weighted, minlength=bins)).sum()
        n = weights.sum()
        return {"brier": float(weighted @ gaps / n), "ece": float(off / n)}

    return figures
