"""Curves of rankings and inspections: PR, ROC, their areas and the best threshold, from one sort with ties grouped.

scikit-learn sorts again for every metric, which takes more than five times as long; the tests compare with
scikit-learn. Undefined metrics (one class only, no cases) are None. The positive class is misaligned; high scores mean
misaligned. Inspection curves count the misaligned items among the first k inspected items, for k = 0..n.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Ranking:
    """True (`tp`) and false positives (`fp`) at each distinct score, if this and higher scores are flagged."""

    scores: Floats
    tp: Counts
    fp: Counts

    @property
    def positives(self) -> int:
        """The number of misaligned cases."""
        return int(self.tp[-1]) if self.tp.size else 0

    @property
    def negatives(self) -> int:
        """The number of aligned cases."""
        return int(self.fp[-1]) if self.fp.size else 0

    @property
    def both_classes(self) -> bool:
        """Whether both classes have at least one case."""
        return self.positives > 0 and self.negatives > 0

    @cached_property
    def flags(self) -> Counts:
        """The number of cases with this score or a higher score, for each score."""
        return self.tp + self.fp

    @cached_property
    def precision(self) -> Floats:
        """The precision at each score."""
        return self.tp / self.flags

    @cached_property
    def recall(self) -> Floats:
        """The recall at each score; 1 at every score if no case is misaligned."""
        return self.tp / self.positives if self.positives else np.ones(self.tp.size)


@dataclass(frozen=True, slots=True)
class Best:
    """The highest value of a metric, and the threshold at which it is reached."""

    value: float
    threshold: float


def rank_cases(labels: ArrayLike, scores: ArrayLike) -> Ranking:
    """Rank the cases by score; a label is true if the case is misaligned."""
    given, truth = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=bool)
    # Two sorts and a merge take less time than ordering the cases and picking scores and labels in this order.
    positive, negative = np.sort(given[truth]), np.sort(given[~truth])
    ranked = np.sort(np.concatenate((positive, negative)), kind="stable")[::-1]
    is_last = ranked[1:] != ranked[:-1]
    ends = np.append(np.flatnonzero(is_last), ranked.size - 1) if ranked.size else np.array([], dtype=int)
    distinct = ranked[ends]
    tp = positive.size - np.searchsorted(positive, distinct)
    return Ranking(distinct, tp, ends + 1 - tp)


def average_precision(ranked: Ranking) -> float | None:
    """Compute the average precision, the step-wise area under the PR curve; return None if no case is misaligned."""
    if not ranked.positives:
        return None
    return float(_steps(ranked.tp) @ ranked.precision / ranked.positives)


def pr_auc(ranked: Ranking, *, paper: bool = False) -> float | None:
    """Compute the trapezoid area under the PR curve, as in the InferAct paper; the area is optimistic with ties.

    Return None if a class is missing. With `paper`, return -1 if a class is missing or every score is 0, as the paper's
    code does.
    """
    if not ranked.both_classes or (paper and not np.any(ranked.scores)):
        return -1.0 if paper else None
    recall, precision = np.append(0.0, ranked.recall), np.append(1.0, ranked.precision)
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1])) / 2)


def roc_auc(ranked: Ranking) -> float | None:
    """Compute the chance that a misaligned case outscores an aligned case (ties: half), or None without a class."""
    if not ranked.both_classes:
        return None
    twice_before = 2 * ranked.tp - np.diff(ranked.tp, prepend=0)
    return float(np.diff(ranked.fp, prepend=0) @ twice_before / (2 * ranked.positives * ranked.negatives))


def best_macro_f1(ranked: Ranking) -> Best | None:
    """Find the highest Macro-F1 and its lowest threshold, as in the paper's code, or None if the ranking is empty."""
    if not ranked.scores.size:
        return None
    none_flagged = ranked.negatives / (2 * ranked.negatives + ranked.positives)
    values = _macro_f1s(ranked)
    at = values.size - 1 - int(np.argmax(values[::-1]))
    if none_flagged > values[at]:
        return Best(none_flagged, float(ranked.scores[0]))
    return Best(float(values[at]), _between(ranked, at))


def find_good_threshold(ranked: Ranking, default: float, within: float) -> float | None:
    """Find the threshold nearest the default whose Macro-F1 is at most `within` below the best; None without cases."""
    values = _macro_f1s(ranked)
    if not values.size:
        return None
    near = [_nearest(ranked, int(at), default) for at in np.flatnonzero(values >= values.max() - within)]
    return min(near, key=lambda threshold: abs(threshold - default))


def _nearest(ranked: Ranking, at: int, default: float) -> float:
    """Return the default threshold if it flags just the cases from this score up, else the next midpoint."""
    below = float(ranked.scores[at + 1]) if at + 1 < ranked.scores.size else 0.0
    return default if below <= default < float(ranked.scores[at]) else _between(ranked, at)


def _macro_f1s(ranked: Ranking) -> Floats:
    tn, missed = ranked.negatives - ranked.fp, ranked.positives - ranked.tp
    let_through = tn + missed + ranked.negatives
    aligned = np.divide(2 * tn, let_through, out=np.zeros(tn.size), where=let_through > 0)
    flagged = 2 * ranked.tp / (ranked.flags + ranked.positives)
    values: Floats = (aligned + flagged) / 2
    return values


def _between(ranked: Ranking, at: int) -> float:
    """Return the midpoint between this score and the next lower score, so that flagged scores are strictly above it."""
    here = float(ranked.scores[at])
    floor = 0.0 if here > 0 else here - 1.0
    below = float(ranked.scores[at + 1]) if at + 1 < ranked.scores.size else floor
    middle = below + (here - below) / 2
    return middle if below <= middle < here else below


def _steps(counts: Counts) -> Floats:
    steps = counts.astype(np.float64)
    steps[1:] -= counts[:-1]
    return steps


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
