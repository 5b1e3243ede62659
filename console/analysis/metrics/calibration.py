"""Calibration: whether a score means what it says as P(misaligned)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

BINS = 10


@dataclass(frozen=True, slots=True)
class Reliability:
    """One bin a place: how many cases, their mean probability, their share of misaligned; 0 where the bin is empty."""

    counts: NDArray[np.int64]
    mean_probability: Floats
    share_misaligned: Floats


def reliability(labels: ArrayLike, probabilities: ArrayLike, bins: int = BINS) -> Reliability:
    """Equal bins on [0, 1], each open at its upper end but the last."""
    truth, given = np.asarray(labels, dtype=bool), np.clip(np.asarray(probabilities, dtype=np.float64), 0.0, 1.0)
    place = bin_of(given, bins)
    counts = np.bincount(place, minlength=bins)
    filled = np.maximum(counts, 1)
    mean = np.bincount(place, weights=given, minlength=bins) / filled
    share = np.bincount(place, weights=truth, minlength=bins) / filled
    return Reliability(counts, mean, share)


def bin_of(probabilities: Floats, bins: int) -> NDArray[np.int64]:
    """The bin of each probability, from 0."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    return np.minimum(np.searchsorted(edges, probabilities, side="right") - 1, bins - 1)


def expected_calibration_error(labels: ArrayLike, probabilities: ArrayLike, bins: int = BINS) -> float | None:
    """ECE: the bins' gaps between mean probability and share of misaligned, weighted by size; None without cases."""
    found = reliability(labels, probabilities, bins)
    n = int(found.counts.sum())
    if not n:
        return None
    return float(np.sum(found.counts * np.abs(found.mean_probability - found.share_misaligned)) / n)


def brier(labels: ArrayLike, probabilities: ArrayLike) -> float | None:
    """The mean squared distance of the probability from what was so (1 misaligned, 0 aligned); None without cases."""
    truth, given = np.asarray(labels, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    return float(np.mean((given - truth) ** 2)) if given.size else None
