"""Inspection curve: what a limited number of inspections catches, by an order and by chance, as cumulative counts.

It stands alone because curves of runs and of studies are both made of it.
Place k of every curve (k = 0..n) is the number of misaligned items among the first k inspected.
It stands alone because it is a formula over arrays, which its only caller fills from the database.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.int64]
LEVEL = 0.95
_EXACT = 65


def caught(misaligned: ArrayLike) -> Counts:
    """The curve of items in the order of inspection; true is misaligned."""
    return np.concatenate([[0], np.cumsum(np.asarray(misaligned, dtype=np.int64))]).astype(np.int64)


def by_chance(n: int, positives: int, at: ArrayLike) -> NDArray[np.float64]:
    """The mean over all orders at each k of `at`: k x positives / n."""
    return np.asarray(at, dtype=np.float64) * (positives / max(n, 1))


def chance_interval(n: int, positives: int, at: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The bounds of the middle `LEVEL` of all orders at each k of `at`, by the hypergeometric distribution.

    Beyond 64 places they are exact at 64 of them and straight in between.
    """
    from scipy.stats import hypergeom  # slow to load, and few need it

    places = thinned(n, _EXACT)
    drawn = hypergeom(max(n, 1), positives, places)
    tail = (1 - LEVEL) / 2
    wanted = np.asarray(at, dtype=np.float64)
    return np.interp(wanted, places, drawn.ppf(tail)), np.interp(wanted, places, drawn.ppf(1 - tail))


def normalised_area(curve: ArrayLike, positives: int) -> float | None:
    """The area under a curve between that of chance (0) and of the ideal order (1); None where no order matters.

    Without ties, and with every positive caught, it is 2 x ROC-AUC - 1; all false positives first give -1.
    """
    counts = np.asarray(curve, dtype=np.int64)
    n = counts.size - 1
    if not 0 < positives < n:
        return None
    by_luck = positives * (n + 1) / 2
    return float((counts.sum() - by_luck) / (positives * (n - positives) / 2))


def thinned(n: int, points: int = 400) -> Counts:
    """At most so many k from 0 to n, both ends among them."""
    return np.unique(np.linspace(0, n, min(points, n + 1)).round().astype(np.int64))
