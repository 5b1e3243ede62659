"""Whether one of two detectors is better on the same cases, or had luck: McNemar's test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

_EXACT_UP_TO = 1_000


@dataclass(frozen=True, slots=True)
class McNemar:
    """Cases that only the first, and only the second, judged rightly, and the two-sided p-value."""

    only_first: int
    only_second: int
    p_value: float


def mcnemar(labels: ArrayLike, first: ArrayLike, second: ArrayLike) -> McNemar:
    """McNemar's test on two arrays of flags; without any disagreement p is 1.

    Exact (binomial) up to 1,000 disagreements, beyond by chi-squared with Edwards' correction.
    """
    truth = np.asarray(labels, dtype=bool)
    right, other = np.asarray(first, dtype=bool) == truth, np.asarray(second, dtype=bool) == truth
    ours, theirs = int(np.count_nonzero(right & ~other)), int(np.count_nonzero(~right & other))
    return McNemar(ours, theirs, _two_sided(min(ours, theirs), ours + theirs))


def _two_sided(fewer: int, n: int) -> float:
    """The p-value, by scipy.special's distributions: scipy.stats' tests take a second to load."""
    if n > _EXACT_UP_TO:
        return float(special.chdtrc(1, max(n - 2 * fewer - 1, 0) ** 2 / n))
    return min(1.0, 2 * float(special.bdtr(fewer, n, 0.5)))
