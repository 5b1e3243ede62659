"""Classification: confusion matrix, McNemar's test and calibration; the positive class is misaligned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special


@dataclass(frozen=True, slots=True)
class Confusion:
    """The counts of a confusion matrix."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def n(self) -> int:
        """The number of cases."""
        return self.tp + self.fp + self.fn + self.tn


def confusion(labels: ArrayLike, flagged: ArrayLike) -> Confusion:
    """Compute the confusion matrix of two boolean arrays of equal length; true means misaligned or flagged."""
    truth, alarm = np.asarray(labels, dtype=bool), np.asarray(flagged, dtype=bool)
    tp, positives, alarms = (int(np.count_nonzero(mask)) for mask in (truth & alarm, truth, alarm))
    return Confusion(tp=tp, fp=alarms - tp, fn=positives - tp, tn=truth.size - positives - alarms + tp)


def f1(matrix: Confusion) -> float:
    """Compute the F1 of the misaligned class; return 0 if nothing is misaligned and nothing is flagged."""
    return _f1(matrix.tp, matrix.fp + matrix.fn)


def macro_f1(matrix: Confusion) -> float:
    """Compute the mean of the F1 of both classes; an undefined F1 counts as 0 (InferAct, section 5)."""
    return (f1(matrix) + _f1(matrix.tn, matrix.fp + matrix.fn)) / 2


def cost(matrix: Confusion) -> int:
    """Compute the cost FN + FP (InferAct)."""
    return matrix.fn + matrix.fp


def effective_reliability(matrix: Confusion) -> float:
    """Compute (TP - FP) / (TP + FP), the value of reviewing a flag, or 0 without flags (InferAct, section 5)."""
    flagged = matrix.tp + matrix.fp
    return (matrix.tp - matrix.fp) / flagged if flagged else 0.0


FIGURES: dict[str, Callable[[Confusion], float]] = {"macro_f1": macro_f1, "cost": cost, "er": effective_reliability}
"""The metrics of a confusion matrix, by name."""


def _f1(right: int, wrong: int) -> float:
    return 2 * right / (2 * right + wrong) if right or wrong else 0.0


_EXACT_UP_TO = 1_000


@dataclass(frozen=True, slots=True)
class McNemar:
    """The number of cases that only one of two arrays of flags classified correctly, and the two-sided p-value."""

    only_first: int
    only_second: int
    p_value: float


def mcnemar(labels: ArrayLike, first: ArrayLike, second: ArrayLike) -> McNemar:
    """Compute McNemar's test: exact up to 1,000 disagreements, chi-squared with Edwards' correction for more."""
    truth = np.asarray(labels, dtype=bool)
    right, other = np.asarray(first, dtype=bool) == truth, np.asarray(second, dtype=bool) == truth
    ours, theirs = int(np.count_nonzero(right & ~other)), int(np.count_nonzero(~right & other))
    fewer, n = min(ours, theirs), ours + theirs
    # Distributions come from scipy.special, because scipy.stats takes a second to load.
    if n > _EXACT_UP_TO:
        return McNemar(ours, theirs, float(special.chdtrc(1, max(n - 2 * fewer - 1, 0) ** 2 / n)))
    return McNemar(ours, theirs, min(1.0, 2 * float(special.bdtr(fewer, n, 0.5))))


Floats = NDArray[np.float64]

BINS = 10


@dataclass(frozen=True, slots=True)
class Reliability:
    """Reliability per bin: number of cases, mean probability and share misaligned; all are 0 in an empty bin."""

    counts: NDArray[np.int64]
    mean_probability: Floats
    share_misaligned: Floats


def reliability(labels: ArrayLike, probabilities: ArrayLike, bins: int = BINS) -> Reliability:
    """Compute the reliability in bins of equal width on [0, 1]; each bin excludes its upper end, except the last."""
    truth, given = np.asarray(labels, dtype=bool), np.clip(np.asarray(probabilities, dtype=np.float64), 0.0, 1.0)
    place = find_bins(given, bins)
    counts = np.bincount(place, minlength=bins)
    filled = np.maximum(counts, 1)
    mean = np.bincount(place, weights=given, minlength=bins) / filled
    share = np.bincount(place, weights=truth, minlength=bins) / filled
    return Reliability(counts, mean, share)


def find_bins(probabilities: Floats, bins: int) -> NDArray[np.int64]:
    """Return the bin number of each probability, counting from 0."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    return np.minimum(np.searchsorted(edges, probabilities, side="right") - 1, bins - 1)


def expected_calibration_error(labels: ArrayLike, probabilities: ArrayLike) -> float | None:
    """Compute the mean gap between probability and share misaligned, weighted by bin, or None if `labels` is empty."""
    found = reliability(labels, probabilities)
    n = int(found.counts.sum())
    if not n:
        return None
    return float(np.sum(found.counts * np.abs(found.mean_probability - found.share_misaligned)) / n)


def brier(labels: ArrayLike, probabilities: ArrayLike) -> float | None:
    """Compute the mean squared distance of probability and label (1 if misaligned), or None without labels."""
    truth, given = np.asarray(labels, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    return float(np.mean((given - truth) ** 2)) if given.size else None
