"""Two detectors on the same cases: is one better, or was it luck?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from console.analysis.metrics.bootstrap import RESAMPLES, Figure, Interval, draws

_EXACT_UP_TO = 1_000


@dataclass(frozen=True, slots=True)
class McNemar:
    """Cases that only the first, and only the second, judged rightly, and the two-sided p-value."""

    only_first: int
    only_second: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of the first less that of the second, its interval, and how often the sign turned (two-sided p)."""

    value: float
    interval: Interval
    p_value: float


def mcnemar(labels: ArrayLike, first: ArrayLike, second: ArrayLike) -> McNemar:
    """McNemar's test on two arrays of flags, exact up to 1,000 disagreements; without any p is 1."""
    truth = np.asarray(labels, dtype=bool)
    right, other = np.asarray(first, dtype=bool) == truth, np.asarray(second, dtype=bool) == truth
    ours, theirs = int(np.count_nonzero(right & ~other)), int(np.count_nonzero(~right & other))
    return McNemar(ours, theirs, _two_sided(min(ours, theirs), ours + theirs))


def paired_difference(
    labels: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    figure: Figure,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Difference | None:
    """`figure(labels, first) - figure(labels, second)`, both on the same draws; None where it is undefined."""
    truth, ours, theirs = np.asarray(labels, dtype=bool), np.asarray(first), np.asarray(second)
    value = _less(figure(truth, ours), figure(truth, theirs))
    if value is None:
        return None
    drawn = (
        _less(figure(truth[at], ours[at]), figure(truth[at], theirs[at])) for at in draws(truth.size, seed, resamples)
    )
    differences = np.array([difference for difference in drawn if difference is not None])
    if not differences.size:
        return None
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2])
    turned = min(np.mean(differences <= 0), np.mean(differences >= 0))
    return Difference(value, Interval(float(low), float(high), level), min(1.0, 2 * float(turned)))


def _less(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def _two_sided(fewer: int, n: int) -> float:
    if n > _EXACT_UP_TO:
        return math.erfc(math.sqrt(max(n - 2 * fewer - 1, 0) ** 2 / (2 * n)))
    return min(1.0, 2 * float(Fraction(sum(math.comb(n, k) for k in range(fewer + 1)), 2**n)))
