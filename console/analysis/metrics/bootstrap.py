"""Bootstrap: percentile intervals of a figure by drawing the cases again with replacement, with a seed.

Figures of a ranking and of calibration are drawn together, each draw told by how often every case is in it, so that
nothing is sorted again: scipy's and scikit-learn's ways would rank a hundred thousand scores five hundred times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from console.analysis.metrics.calibration import BINS, bin_of
from console.analysis.metrics.classification import Confusion
from console.analysis.metrics.ranking_curves import Ranking

Weights = NDArray[np.int64]
Floats = NDArray[np.float64]
Figures = Callable[[Weights], Mapping[str, float | None]]
"""The figures of one draw; the weights tell how often each case was drawn."""

RESAMPLES = 2_000
_MOST, _LEAST = 500, 100
_CASES = 10_000_000
_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds that hold the middle `level` of the resampled figures."""

    low: float
    high: float
    level: float = 0.95


def of_confusion(
    matrix: Confusion,
    figure: Callable[[Confusion], float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval | None:
    """The interval of a figure of the confusion matrix; None without cases."""
    if not matrix.n:
        return None
    cells = np.array([matrix.tp, matrix.fp, matrix.fn, matrix.tn])
    drawn = np.random.default_rng(seed).multinomial(matrix.n, cells / matrix.n, size=resamples)
    return interval(np.array([figure(Confusion(*map(int, row))) for row in drawn]), level)


def draws(n: int, seed: int, resamples: int) -> Iterator[NDArray[np.int64]]:
    """For each resample the n indices drawn, the same for the same seed; drawn in blocks of bounded memory."""
    generator = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, resamples, block):
        yield from generator.integers(0, n, size=(min(block, resamples - start), n))


def drawn(n: int, figures: Figures, *, seed: int = 0, resamples: int | None = None) -> dict[str, Floats]:
    """Each figure's values over the same draws of n cases, without the draws where it is undefined.

    Without `resamples` there are 500, and fewer, down to 100, where the cases are many.
    """
    count = resamples or max(_LEAST, min(_MOST, _CASES // max(n, 1)))
    values: dict[str, list[float]] = {}
    for chosen in draws(n, seed, count) if n else ():
        for name, value in figures(np.bincount(chosen, minlength=n)).items():
            found = values.setdefault(name, [])
            if value is not None:
                found.append(value)
    return {name: np.array(found) for name, found in values.items()}


def interval(values: Floats, level: float = 0.95) -> Interval | None:
    """The bounds of the middle `level` of the drawn values; None without any."""
    if not values.size:
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def sign_p_value(values: Floats) -> float | None:
    """How often the sign of a drawn difference turned, two-sided and never 0; None without any."""
    if not values.size:
        return None
    turned = min(np.count_nonzero(values <= 0), np.count_nonzero(values >= 0))
    return min(1.0, 2 * (int(turned) + 1) / (values.size + 1))


@dataclass(frozen=True, eq=False)
class Ranked:
    """Cases in the order of their scores, ready to be ranked again under any weights."""

    labels: NDArray[np.bool_]
    scores: Floats

    def under(self, weights: Weights) -> Ranking:
        """The ranking of one draw."""
        counts = weights[self._order]
        flags = np.cumsum(counts)[self._ends]
        tp = np.cumsum(counts * self._truth)[self._ends]
        if not flags[0]:
            met = flags > 0
            return Ranking(self._given[met], tp[met], (flags - tp)[met])
        return Ranking(self._given, tp, flags - tp)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(-self.scores, kind="stable")

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        given = self.scores[self._order]
        return np.flatnonzero(np.append(given[1:] != given[:-1], True)) if given.size else np.array([], dtype=np.int64)

    @cached_property
    def _given(self) -> Floats:
        return self.scores[self._order][self._ends]

    @cached_property
    def _truth(self) -> NDArray[np.int64]:
        return self.labels[self._order].astype(np.int64)


def calibration_of(labels: ArrayLike, probabilities: ArrayLike, bins: int = BINS) -> Figures:
    """Brier and ECE, the latter in the bins of `expected_calibration_error`, as figures of weights."""
    truth, given = np.asarray(labels, dtype=np.float64), np.clip(np.asarray(probabilities, dtype=np.float64), 0.0, 1.0)
    place = bin_of(given, bins)
    gaps = given - truth

    def figures(weights: Weights) -> dict[str, float | None]:
        weighted = weights * gaps
        off = np.abs(np.bincount(place, weights=weighted, minlength=bins)).sum()
        n = weights.sum()
        return {"brier": float(weighted @ gaps / n), "ece": float(off / n)}

    return figures
