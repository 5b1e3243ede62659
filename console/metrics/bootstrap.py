"""Percentile intervals of a figure by drawing the cases again with replacement, with a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from console.metrics.classification import Confusion

RESAMPLES = 2_000
_CELLS_AT_ONCE = 2_000_000

Figure = Callable[..., float | None]


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
    return _interval([figure(Confusion(*map(int, row))) for row in drawn], level)


def of_scores(
    labels: ArrayLike,
    scores: ArrayLike,
    figure: Figure,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval | None:
    """The interval of `figure(labels, scores)`; draws where it is None are left out, None if all are."""
    truth, given = np.asarray(labels, dtype=bool), np.asarray(scores, dtype=np.float64)
    if not truth.size:
        return None
    return _interval([figure(truth[chosen], given[chosen]) for chosen in draws(truth.size, seed, resamples)], level)


def of_mean(values: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, level: float = 0.95) -> Interval | None:
    """The interval of the mean of the values; None without any."""
    given = np.asarray(values, dtype=np.float64)
    if not given.size:
        return None
    return _interval([float(given[chosen].mean()) for chosen in draws(given.size, seed, resamples)], level)


def draws(n: int, seed: int, resamples: int) -> Iterator[NDArray[np.int64]]:
    """For each resample the n indices drawn, the same for the same seed; drawn in blocks of bounded memory."""
    generator = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, resamples, block):
        yield from generator.integers(0, n, size=(min(block, resamples - start), n))


def _interval(figures: list[float] | list[float | None], level: float) -> Interval | None:
    defined = [figure for figure in figures if figure is not None]
    if not defined:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)
