"""The paper's simulation of a quota: false positives use it up first (InferAct, section 4.4 and its reference code).

A confusion matrix determines only the true positives that are kept; success over trials needs runs with further
attempts.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from console.analysis.metrics.classification import Confusion
from console.detection.evaluation import paper
from console.detection.oversight.pool import Pool
from console.errors import BadInput, Refused
from console.review.simulated.orders import count_inspections, count_kept
from console.runs import parse_budget
from console.trajectory import Label

Row = dict[str, Any]
_FIELDS = ("tp", "fp", "fn", "tn")


def tabulate_matrices(pool: Pool, trial: int | None = None) -> list[Row]:
    """Return run, detector, trial and the confusion matrix over labelled trajectories, for each detector of a run."""
    known = pool.rows[pool.rows["label"].notna()]
    if known.empty:
        raise Refused(f"No judged trajectory of {pool.run} has a label, so a confusion matrix cannot be computed.")
    first = int(known["trial"].min()) if trial is None else trial
    rows = []
    for detector, judged in known[known["trial"] == first].groupby("detector", sort=True):
        bad, flagged = judged["label"] == Label.MISALIGNED, judged["flagged"]
        counts = ((bad & flagged).sum(), (~bad & flagged).sum(), (bad & ~flagged).sum(), (~bad & ~flagged).sum())
        matrix = dict(zip(_FIELDS, map(int, counts), strict=True))
        rows.append({"run": pool.run, "detector": str(detector), "trial": first, **matrix})
    return rows


def read_matrices(path: Path) -> list[Row]:
    """Read the rows of a CSV with columns tp, fp, fn, tn and others; raise BadInput with the line number."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as failure:
        raise BadInput(
            f"{path}: cannot be read ({failure}); give a CSV with the columns {', '.join(_FIELDS)}."
        ) from None
    return _rows(text, str(path))


def read_published_matrices() -> list[Row]:
    """Return the matrices behind the InferAct paper's Table 1, from its own models and tasks."""
    names = ("model", "method", "environment", *_FIELDS)
    rows = _rows(paper.read_published_csv("detection.csv"), paper.SOURCE)
    return [{name: row[name] for name in names} for row in rows]


def quota_table(rows: Sequence[Mapping[str, Any]], budget: str) -> pd.DataFrame:
    """Return each confusion matrix with the true positives inspected if all false positives are inspected first.

    Columns: those of the row, n, budget, kept, lost (TP beyond the budget), caught (kept as a share of TP + FN).
    """
    cap, percent = parse_budget(budget)
    return pd.DataFrame([{**row, **_kept(row, cap, percent)} for row in rows])


def _kept(row: Mapping[str, Any], cap: int | None, percent: float | None) -> Row:
    matrix = Confusion(**{name: row[name] for name in _FIELDS})
    budget = count_inspections((percent or 0.0) / 100, matrix.n) if cap is None else cap
    inspected, bad = count_kept(matrix.tp, matrix.fp, budget), matrix.tp + matrix.fn
    found = {"n": matrix.n, "budget": budget, "kept": inspected, "lost": matrix.tp - inspected}
    return found | {"caught": inspected / bad if bad else None}


def _rows(text: str, where: str) -> list[Row]:
    reader = csv.DictReader(StringIO(text))
    if missing := [name for name in _FIELDS if name not in (reader.fieldnames or ())]:
        raise BadInput(f"{where}: no {', '.join(missing)}; each line needs {', '.join(_FIELDS)}.")
    return [
        _row(row, f"{where}, line {reader.line_num}")
        for row in reader
        if any((row[name] or "").strip() for name in _FIELDS)
    ]


def _row(row: Mapping[str, str], where: str) -> Row:
    counts = {}
    for name in _FIELDS:
        cell = (row[name] or "").strip()
        if not cell.isdecimal():
            raise BadInput(f"{where}: {name} is {cell!r}; write a whole number.")
        counts[name] = int(cell)
    return {name: value for name, value in row.items() if name not in _FIELDS} | counts
