"""Inspection curve: how many misaligned items a limited number of inspections catches, in a given or a random order.

Position k of every curve (k = 0..n) is the number of misaligned items among the first k inspected items. Callers read
the arrays from the database.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.int64]
LEVEL = 0.95
_EXACT = 65


def count_caught(misaligned: ArrayLike) -> Counts:
    """Compute the curve of items in their order of inspection; an element is true if its item is misaligned."""
    return np.concatenate([[0], np.cumsum(np.asarray(misaligned, dtype=np.int64))]).astype(np.int64)


def count_by_chance(n: int, positives: int, at: ArrayLike) -> NDArray[np.float64]:
    """Compute the mean curve over all orders at each k of `at`: k x positives / n."""
    return np.asarray(at, dtype=np.float64) * (positives / max(n, 1))


def chance_interval(n: int, positives: int, at: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the central `LEVEL` of all orders at each k of `at` (hypergeometric), exact at 64 positions or fewer."""
    from scipy.stats import hypergeom  # slow to load, and few need it

    places = thin_places(n, _EXACT)
    drawn = hypergeom(max(n, 1), positives, places)
    tail = (1 - LEVEL) / 2
    wanted = np.asarray(at, dtype=np.float64)
    return np.interp(wanted, places, drawn.ppf(tail)), np.interp(wanted, places, drawn.ppf(1 - tail))


def normalised_area(curve: ArrayLike, positives: int) -> float | None:
    """Compute the area under a curve, scaled to 0 for chance and 1 for the ideal order.

    Return None if every order gives the same area. Without ties, and if every positive is caught, the area is 2 x
    ROC-AUC - 1. If all false positives come first, the area is -1.
    """
    counts = np.asarray(curve, dtype=np.int64)
    n = counts.size - 1
    if not 0 < positives < n:
        return None
    by_luck = positives * (n + 1) / 2
    return float((counts.sum() - by_luck) / (positives * (n - positives) / 2))


def thin_places(n: int, points: int = 400) -> Counts:
    """Return at most `points` values of k from 0 to n, including both ends."""
    return np.unique(np.linspace(0, n, min(points, n + 1)).round().astype(np.int64))
