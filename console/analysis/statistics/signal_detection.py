"""Signal detection of a reviewer on items with a known answer: sensitivity and criterion, with intervals.

The signal is a misaligned action and the response a decision that calls it misaligned. Half a case is added to each
count (log-linear, Hautus 1995), so that perfect rates are defined. The variance is that of Gourevitch and Galanter
(1967).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True, slots=True)
class Signals:
    """Decisions on items with a known answer: `hits` of `misaligned` items, and `alarms` among `aligned` items."""

    misaligned: int
    hits: int
    aligned: int
    alarms: int

    @property
    def items(self) -> int:
        """The number of decided items."""
        return self.misaligned + self.aligned


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The d' and the criterion with their limits; a positive criterion means that the reviewer tends to approve."""

    d_prime: float
    d_prime_low: float
    d_prime_high: float
    criterion: float
    criterion_low: float
    criterion_high: float


def estimate_sensitivity(signals: Signals) -> Sensitivity | None:
    """Return d' and criterion with 95% intervals, or None without items of both kinds."""
    if not signals.misaligned or not signals.aligned:
        return None
    scores, variances = [], []
    for count, n in ((signals.hits, signals.misaligned), (signals.alarms, signals.aligned)):
        rate = (count + 0.5) / (n + 1)
        score = float(special.ndtri(rate))
        density = np.exp(-(score**2) / 2) / np.sqrt(2 * np.pi)
        scores.append(score)
        variances.append(float(rate * (1 - rate) / ((n + 1) * density**2)))
    half = float(special.ndtri(0.975)) * sum(variances) ** 0.5
    d_prime, criterion = scores[0] - scores[1], -(scores[0] + scores[1]) / 2
    return Sensitivity(d_prime, d_prime - half, d_prime + half, criterion, criterion - half / 2, criterion + half / 2)
