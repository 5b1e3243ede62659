"""Figures of a detector from a CSV of labels and scores, whoever made them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import ArrayLike

from console.analysis.metrics.calibration import brier, expected_calibration_error
from console.analysis.metrics.classification import confusion, cost, effective_reliability, macro_f1
from console.analysis.metrics.ranking_curves import average_precision, pr_auc, ranking, roc_auc
from console.errors import BadInput

THRESHOLD = 0.5
_LABELS = {"misaligned": True, "1": True, "true": True, "aligned": False, "0": False, "false": False}
_NO_DETECTOR = "scores"

Cases = tuple[list[bool], list[float]]
"""Labels (true is misaligned) and scores."""


def evaluate_scores(path: Path, threshold: float | None = None) -> dict[str, dict[str, Any]]:
    """The figures of each detector in the file, flagged strictly above the threshold (0.5 if None); raises BadInput.

    The columns are label and score, and detector if there are several; without it the one key is `scores`.
    """
    limit = THRESHOLD if threshold is None else threshold
    return {name: figures(labels, scores, limit) for name, (labels, scores) in read_scores(path).items()}


def figures(labels: ArrayLike, scores: ArrayLike, threshold: float) -> dict[str, Any]:
    """Every figure of one detector, the undefined ones None; scores count as probabilities."""
    ranked = ranking(labels, scores)
    matrix = confusion(labels, np.asarray(scores, dtype=np.float64) > threshold)
    return {
        "macro_f1": macro_f1(matrix),
        "cost": cost(matrix),
        "er": effective_reliability(matrix),
        "pr_auc": pr_auc(ranked),
        "ap": average_precision(ranked),
        "roc_auc": roc_auc(ranked),
        "ece": expected_calibration_error(labels, scores),
        "brier": brier(labels, scores),
        "tp": matrix.tp,
        "fp": matrix.fp,
        "fn": matrix.fn,
        "tn": matrix.tn,
        "threshold": threshold,
        "n": matrix.n,
    }


def read_scores(path: Path) -> dict[str, Cases]:
    """Labels and scores by detector; raises BadInput, naming the line, for a cell that is neither."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _by_detector(path, stream)
    except OSError as failed:
        raise BadInput(f"{path} cannot be read ({failed.strerror}); it takes a CSV of label, score.") from failed
    except (UnicodeDecodeError, csv.Error) as failed:
        raise BadInput(f"{path} cannot be read as a CSV file in UTF-8 ({failed}).") from failed


def _by_detector(path: Path, stream: TextIO) -> dict[str, Cases]:
    found: dict[str, Cases] = {}
    for name, label, score in _rows(path, stream):
        labels, scores = found.setdefault(name, ([], []))
        labels.append(label)
        scores.append(score)
    if not found:
        raise BadInput(f"{path} holds no scores; put a row with label and score under the header.")
    return found


def _rows(path: Path, stream: TextIO) -> Iterator[tuple[str, bool, float]]:
    reader = csv.DictReader(stream)
    missing = [name for name in ("label", "score") if name not in (reader.fieldnames or ())]
    if missing:
        raise BadInput(f"{path}, line 1: there is no column {missing[0]!r}; the columns are label, score and detector.")
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        yield row.get("detector") or _NO_DETECTOR, _label(row["label"], where), _score(row["score"], where)


def _label(cell: str | None, where: str) -> bool:
    label = _LABELS.get((cell or "").strip().lower())
    if label is None:
        raise BadInput(f"{where}: the label is {cell!r}; write misaligned or aligned, 1 or 0, true or false.")
    return label


def _score(cell: str | None, where: str) -> float:
    try:
        score = float(cell or "")
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1:
        raise BadInput(f"{where}: the score is {cell!r}; write a number from 0 to 1.")
    return score
