"""Score files: metrics of any detector from a CSV of labels and scores."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import ArrayLike

from console.analysis.metrics.classification import FIGURES, Confusion, brier, confusion, expected_calibration_error
from console.analysis.metrics.ranking_curves import average_precision, pr_auc, rank_cases, roc_auc
from console.errors import BadInput

THRESHOLD = 0.5
_LABELS = {"misaligned": True, "1": True, "true": True, "aligned": False, "0": False, "false": False}
_NO_DETECTOR = "scores"

Cases = tuple[list[bool], list[float]]
"""Labels (true is misaligned) and scores."""


def evaluate_scores(path: Path, threshold: float | None = None) -> dict[str, dict[str, Any]]:
    """Compute the metrics of each detector in a CSV of labels, scores and detectors; raise BadInput if invalid."""
    limit = THRESHOLD if threshold is None else threshold
    return {name: compute_figures(labels, scores, limit) for name, (labels, scores) in read_scores(path).items()}


def compute_figures(
    labels: ArrayLike, scores: ArrayLike, threshold: float, matrix: Confusion | None = None
) -> dict[str, Any]:
    """Compute every metric of one detector, None if undefined; scores are used as probabilities."""
    ranked = rank_cases(labels, scores)
    matrix = matrix or confusion(labels, np.asarray(scores, dtype=np.float64) > threshold)
    return {
        **{name: figure(matrix) for name, figure in FIGURES.items()},
        "pr_auc": pr_auc(ranked),
        "ap": average_precision(ranked),
        "roc_auc": roc_auc(ranked),
        "ece": expected_calibration_error(labels, scores),
        "brier": brier(labels, scores),
        **asdict(matrix),
        "threshold": threshold,
        "n": matrix.n,
    }


def read_scores(path: Path) -> dict[str, Cases]:
    """Read labels and scores by detector; raise BadInput with the line number if a cell is invalid."""
    found: dict[str, Cases] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            for name, label, score in _rows(path, stream):
                labels, scores = found.setdefault(name, ([], []))
                labels.append(label)
                scores.append(score)
    except OSError as failed:
        raise BadInput(
            f"{path} cannot be read ({failed.strerror}). Give a CSV file with the columns label and score."
        ) from failed
    except (UnicodeDecodeError, csv.Error) as failed:
        raise BadInput(
            f"{path} is not a valid CSV file in UTF-8 ({failed}). Save the file as CSV in UTF-8."
        ) from failed
    if not found:
        raise BadInput(f"{path} has no scores. Add a row with label and score below the header.")
    return found


def _rows(path: Path, stream: TextIO) -> Iterator[tuple[str, bool, float]]:
    reader = csv.DictReader(stream)
    missing = [name for name in ("label", "score") if name not in (reader.fieldnames or ())]
    if missing:
        raise BadInput(
            f"{path}, line 1: the column {missing[0]!r} is missing. Use label, score and, optionally, detector."
        )
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        yield row.get("detector") or _NO_DETECTOR, _label(row["label"], where), _score(row["score"], where)


def _label(cell: str | None, where: str) -> bool:
    label = _LABELS.get((cell or "").strip().lower())
    if label is None:
        raise BadInput(f"{where}: invalid label {cell!r}. Use misaligned or aligned, 1 or 0, true or false.")
    return label


def _score(cell: str | None, where: str) -> float:
    try:
        score = float(cell or "")
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1:
        raise BadInput(f"{where}: invalid score {cell!r}. Use a number from 0 to 1.")
    return score
