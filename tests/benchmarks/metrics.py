"""All figures of a ranking from one sort, against scikit-learn computing the same, in the same run.

`python tests/benchmarks/metrics.py [--quick]`; the last line is the result as JSON.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.analysis.metrics.ranking_curves import average_precision, rank_cases, roc_auc
from tests.benchmarks.measure import Figure, compare, report

GOALS = {"share_of_sklearn_time": ["<=", 0.2], "largest_difference": ["<=", 1e-12]}


def main() -> None:
    """Prints the figures and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 9 if parser.parse_args().quick else 21
    draw = np.random.default_rng(11)
    scores = draw.random(1_000_000)
    labels = draw.random(1_000_000) < 0.1 + 0.6 * scores
    figures = measure(labels, scores, rounds)
    sys.exit(not report("metrics", figures, GOALS))


def measure(labels: np.ndarray, scores: np.ndarray, rounds: int) -> dict[str, Figure | float]:
    """The median share of scikit-learn's time, continuous scores and tied ones, and the largest difference."""
    tied = np.round(scores, 4)
    shares = {
        name: compare(partial(ours, labels, given), partial(theirs, labels, given), rounds)
        for name, given in (("", scores), ("_tied", tied))
    }
    apart = max(difference(labels, scores), difference(labels, tied))
    figures = {f"share_of_sklearn_time{name}": pairs.computing() for name, pairs in shares.items()}
    return {"scores": labels.size, **figures, "largest_difference": apart}


def ours(labels: np.ndarray, scores: np.ndarray) -> list[np.ndarray | float]:
    """AP, ROC-AUC, best F1, and the PR curve."""
    ranked = rank_cases(labels, scores)
    best = float(np.max(2 * ranked.tp / (ranked.flags + ranked.positives)))
    precision, recall = np.append(ranked.precision[::-1], 1.0), np.append(ranked.recall[::-1], 0.0)
    return [average_precision(ranked), roc_auc(ranked), best, precision, recall, ranked.scores[::-1]]


def theirs(labels: np.ndarray, scores: np.ndarray) -> list[np.ndarray | float]:
    """The same by scikit-learn."""
    precision, recall, thresholds = precision_recall_curve(labels, scores)
    both = precision + recall
    best = np.max(2 * precision * recall / np.where(both > 0, both, 1))
    areas = [average_precision_score(labels, scores), roc_auc_score(labels, scores)]
    return [*areas, best, precision, recall, thresholds]


def difference(labels: np.ndarray, scores: np.ndarray) -> float:
    """The largest absolute difference of any figure or point."""
    pairs = zip(ours(labels, scores), theirs(labels, scores), strict=True)
    return max(float(np.max(np.abs(np.subtract(mine, other)))) for mine, other in pairs)


if __name__ == "__main__":
    main()
