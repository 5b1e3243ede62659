"""What a limited number of inspections catches: cumulative counts by order, by chance, and at best.

Place k of every curve (k = 0..n) is the number of misaligned items among the first k inspected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import hypergeom

Counts = NDArray[np.int64]
LEVEL = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """What inspecting in random order catches: the mean and the middle `LEVEL` of all orders, at each of some k."""

    mean: NDArray[np.float64]
    low: Counts
    high: Counts


def caught(misaligned: ArrayLike) -> Counts:
    """The curve of items in the order of inspection; true is misaligned."""
    return np.concatenate([[0], np.cumsum(np.asarray(misaligned, dtype=np.int64))]).astype(np.int64)


def ideal(n: int, positives: int) -> Counts:
    """The curve of an order that puts all misaligned items first: min(k, positives)."""
    return np.minimum(np.arange(n + 1), positives)


def by_chance(n: int, positives: int, at: ArrayLike) -> Chance:
    """The hypergeometric mean k x positives / n and its interval at each k of `at`."""
    inspected = np.asarray(at, dtype=np.int64)
    tail = (1 - LEVEL) / 2
    drawn = hypergeom(max(n, 1), positives, inspected)
    low, high = (np.asarray(drawn.ppf(share)).astype(np.int64) for share in (tail, 1 - tail))
    mean = inspected.astype(np.float64) * (positives / max(n, 1))
    return Chance(mean, low, high)


def normalised_area(curve: ArrayLike) -> float | None:
    """The area under a curve between that of chance (0) and of the ideal order (1); None where no order matters.

    Without ties it is 2 x ROC-AUC - 1 of the order; false positives first give -1.
    """
    counts = np.asarray(curve, dtype=np.int64)
    n, positives = counts.size - 1, int(counts[-1])
    if not 0 < positives < n:
        return None
    by_luck = positives * (n + 1) / 2
    return float((counts.sum() - by_luck) / (positives * (n - positives) / 2))


def value_at(curve: ArrayLike, inspections: int) -> int:
    """What has been caught after so many inspections; beyond the end of the curve, all there is to catch."""
    counts = np.asarray(curve, dtype=np.int64)
    return int(counts[min(max(inspections, 0), counts.size - 1)])


def thinned(n: int, points: int = 400) -> Counts:
    """At most so many k from 0 to n, both ends among them."""
    return np.unique(np.linspace(0, n, min(points, n + 1)).round().astype(np.int64))
