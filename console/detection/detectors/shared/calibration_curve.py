"""Calibration curves: from a detector's scores to probabilities, learnt from labels (Platt's sigmoid, or isotonic)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from console.detection.detectors.shared.stacking_model import FOLDS, check_labels, compute_log_odds
from console.errors import Unknown


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """A sigmoid (Platt): the log odds of a score, scaled and shifted."""

    slope: float
    intercept: float

    def of(self, score: float) -> float:
        """Return P(misaligned) at that score."""
        return 1 / (1 + math.exp(-self.slope * compute_log_odds(score) - self.intercept))


@dataclass(frozen=True, slots=True)
class Staircase:
    """An isotonic curve: probabilities at some scores, linear between these scores and constant outside them."""

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def of(self, score: float) -> float:
        """Return P(misaligned) at that score."""
        right = bisect_right(self.scores, score)
        if right in (0, len(self.scores)):
            return self.probabilities[max(0, right - 1)]
        low, high = self.scores[right - 1], self.scores[right]
        lower, upper = self.probabilities[right - 1], self.probabilities[right]
        return min(upper, lower + (score - low) / (high - low) * (upper - lower))


Curve = Sigmoid | Staircase


def fit_sigmoid(scores: Sequence[float], bad: Sequence[bool]) -> Curve:
    """Fit Platt's sigmoid to the labelled scores."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=100.0, max_iter=1_000).fit([[compute_log_odds(score)] for score in scores], list(bad))
    return Sigmoid(float(fitted.coef_[0][0]), float(fitted.intercept_[0]))


def fit_staircase(scores: Sequence[float], bad: Sequence[bool]) -> Curve:
    """Fit the rising curve that is nearest to the labelled scores."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(list(scores), list(map(float, bad)))
    return Staircase(tuple(map(float, fitted.X_thresholds_)), tuple(map(float, fitted.y_thresholds_)))


CURVES: dict[str, Callable[[Sequence[float], Sequence[bool]], Curve]] = {
    "platt": fit_sigmoid,
    "isotonic": fit_staircase,
}


def fit_curve(
    kind: str, scores: Sequence[float], bad: Sequence[bool], tasks: Sequence[str], seed: int = 0
) -> tuple[Curve, list[float]]:
    """Fit a curve, and predict each case with a curve fitted without the case's task; raise Unknown or Refused."""
    from sklearn.model_selection import StratifiedGroupKFold

    if kind not in CURVES:
        raise Unknown("recalibration", kind, CURVES)
    check_labels(bad, tasks)
    held_out = [0.0] * len(scores)
    for seen, unseen in StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed).split(scores, bad, tasks):
        curve = CURVES[kind]([scores[at] for at in seen], [bad[at] for at in seen])
        for at in unseen:
            held_out[at] = curve.of(scores[at])
    return CURVES[kind](scores, bad), held_out
