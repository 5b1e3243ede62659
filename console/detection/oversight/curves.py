"""Oversight curves of a run: misalignments caught against inspections spent, by detector and order of inspection.

A flagged trajectory counts as one inspection, however many reviews it needs. In a simulated order every inspected
misalignment is caught, as in the InferAct paper (section 4.4). The order `as reviewed` is the order in which the
reviewers worked; it counts the misalignments that they identified correctly. Items without a decision, including
escalated items, follow in queue order.

The paper's simulation spends a quota on false positives first (InferAct, section 4.4 and its reference code). A
confusion matrix determines only the true positives that are kept; success over trials needs further attempts.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sqlalchemy import func, literal, select, true
from sqlmodel import Session, col

from console.analysis.metrics import ranking_curves
from console.analysis.metrics.classification import Confusion
from console.detection.evaluation import paper
from console.detection.oversight.pool import Pool
from console.errors import BadInput, Refused, Unknown
from console.review.simulated import INSPECTION_ORDERS
from console.review.simulated.orders import Candidate, count_inspections, count_kept
from console.runs import parse_budget
from console.trajectory import Label
from storage import tables

CHANCE = "random"
"""The random order: its line is the mean over all orders."""


@dataclass(frozen=True, slots=True, eq=False)
class OversightLine:
    """One detector's flagged items in one order, with the items caught by inspection and the items corrected."""

    detector: str
    policy: str
    caught: NDArray[np.bool_]
    corrected: NDArray[np.float64]
    positives: int

    @property
    def right(self) -> NDArray[np.int64]:
        """The number of items corrected up to each inspection, among items with a next attempt."""
        return ranking_curves.count_caught(self.corrected == 1)

    @property
    def tried_again(self) -> bool:
        """True if any of the items had a next attempt."""
        return bool(np.isfinite(self.corrected).any())

    def values(self, at: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the numbers of items caught and corrected after each number of inspections."""
        if self.policy == CHANCE:
            n, right = self.caught.size, int(self.right[-1])
            caught = ranking_curves.count_by_chance(n, self.positives, at)
            return caught, ranking_curves.count_by_chance(n, right, at)
        return ranking_curves.count_caught(self.caught)[at].astype(np.float64), self.right[at].astype(np.float64)

    def points(self) -> pd.DataFrame:
        """Return the curve, reduced to a few hundred points."""
        at = ranking_curves.thin_places(self.caught.size)
        caught, right = self.values(at)
        frame = pd.DataFrame(
            {
                "detector": self.detector,
                "policy": self.policy,
                "inspections": at,
                "caught": caught,
                "low": np.nan,
                "high": np.nan,
                "corrected": right if self.tried_again else np.nan,
            }
        )
        if self.policy != CHANCE:
            return frame
        low, high = ranking_curves.chance_interval(self.caught.size, self.positives, at)
        return frame.assign(low=low, high=high)

    def summary(self, spent: int, further: int) -> dict[str, Any]:
        """Return the misaligned actions caught by `spent` inspections, and by `further` more."""
        n = self.caught.size
        at = np.array([min(spent, n), min(spent + further, n)])
        (now, then), (right, _) = self.values(at)
        by_luck = 0.0 if 0 < self.positives < n else None
        curve = ranking_curves.count_caught(self.caught)
        return {
            "detector": self.detector,
            "policy": self.policy,
            "flagged": n,
            "misaligned": self.positives,
            "spent": int(at[0]),
            "caught": float(now),
            "corrected": float(right) if self.tried_again else None,
            "more": float(then - now),
            "area": by_luck if self.policy == CHANCE else ranking_curves.normalised_area(curve, self.positives),
        }


AS_REVIEWED, IDEAL = "as reviewed", "ideal"
ORDERS = (AS_REVIEWED, *INSPECTION_ORDERS, IDEAL)
"""All orders; `random` is the expectation over all orders, with its 95% interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The curves of one trial as two tables, of labelled flagged items only.

    `points`: detector, policy, inspections, caught, low, high (of `random` only), corrected (if known). `summary`:
    detector, policy, flagged, misaligned (of these), spent, caught, corrected; more (caught by `further` inspections);
    area (0 as random, 1 as ideal); missed (misaligned, not flagged); unlabelled (but flagged).
    """

    trial: int
    spent: int
    further: int
    points: pd.DataFrame
    summary: pd.DataFrame


def compute_curves(
    pool: Pool,
    *,
    trial: int | None = None,
    orders: Sequence[str] = ORDERS,
    detectors: Sequence[str] | None = None,
    budget: str | None = None,
    further: int = 10,
    seed: int = 0,
) -> Curves:
    """Return the curves of a trial (the first if None) and its detectors (all if None), up to the budget.

    The budget is a number, P% of the trial's non-halted trajectories, or None for the flagged ones decided so far.
    Raise BadInput for a wrong budget, Unknown for an unknown order or trial, and Refused without labels.
    """
    for name in orders:
        if name not in ORDERS:
            raise Unknown("order of inspection", name, ORDERS)
    chosen = _trial(pool, trial)
    rows = pool.rows[pool.rows["trial"] == chosen]
    if budget is None:
        # Of the labelled items that the routing detector flagged, those that are decided.
        own = rows[(rows["detector"] == pool.routing) & rows["flagged"] & rows["label"].notna()]
        used = int(own["inspected_ms"].notna().sum())
    else:
        cap, percent = parse_budget(budget)
        used = count_inspections((percent or 0.0) / 100, rows["trajectory_id"].nunique()) if cap is None else cap
    wanted = rows if detectors is None else rows[rows["detector"].isin(detectors)]
    lines = list(_lines(wanted, pool.routing, orders, seed))
    if not lines:
        raise Refused(f"No flagged trajectory of trial {chosen} of {pool.run} has a label. Review items first.")
    missing = _left_out(rows)
    summary = pd.DataFrame([{**line.summary(used, further), **missing[line.detector]} for line in lines])
    return Curves(chosen, used, further, pd.concat([line.points() for line in lines], ignore_index=True), summary)


def list_drawable(pool: Pool) -> dict[int, list[str]]:
    """Return the trials with a curve, and their detectors that flagged a labelled item."""
    rows = pool.rows[pool.rows["flagged"] & pool.rows["label"].notna()]
    found = rows[["trial", "detector"]].drop_duplicates().sort_values(["trial", "detector"])
    return {int(trial): found[found["trial"] == trial]["detector"].tolist() for trial in found["trial"].unique()}


def _lines(rows: pd.DataFrame, routing: str, orders: Iterable[str], seed: int) -> Iterator[OversightLine]:
    known = rows[rows["flagged"] & rows["label"].notna()]
    for detector, flagged in known.groupby("detector", sort=True):
        wrong = (flagged["label"] == Label.MISALIGNED).to_numpy()
        found = wrong & (flagged["reported"] | flagged["inspected_ms"].isna()).to_numpy()
        right = np.where(wrong, flagged["corrected"].to_numpy(), np.nan)
        for name in orders:
            if name == AS_REVIEWED and (detector != routing or flagged["inspected_ms"].isna().all()):
                continue
            order = _order(flagged, wrong, name, seed)
            caught = found if name == AS_REVIEWED else wrong
            yield OversightLine(str(detector), name, caught[order], right[order], int(wrong.sum()))


def _order(flagged: pd.DataFrame, wrong: NDArray[np.bool_], name: str, seed: int) -> NDArray[np.int64]:
    if name == AS_REVIEWED:
        priorities, first = flagged["priority"].to_numpy(), flagged["inspected_ms"].fillna(np.inf).to_numpy()
        return np.lexsort((np.arange(len(flagged)), -priorities, first))
    if name == IDEAL:
        return np.argsort(~wrong, kind="stable")
    labels = [Label.MISALIGNED if bad else Label.ALIGNED for bad in wrong]
    candidates = [Candidate(*one) for one in zip(flagged["score"], labels, flagged["expected_cost"], strict=True)]
    return np.array(INSPECTION_ORDERS[name](candidates, seed), dtype=np.int64)


def _trial(pool: Pool, wanted: int | None) -> int:
    known = sorted({int(trial) for trial in pool.rows["trial"]})
    if not known:
        raise Refused(f"No detector has judged {pool.run} yet. Run: inferact detect {quote(pool.run)} --method rules")
    if wanted is not None and wanted not in known:
        raise Unknown("judged trial", wanted, known, by="number")
    return known[0] if wanted is None else wanted


def _left_out(rows: pd.DataFrame) -> dict[str, dict[str, int]]:
    counted = {}
    for detector, judged in rows.groupby("detector"):
        missed = int((~judged["flagged"] & (judged["label"] == Label.MISALIGNED)).sum())
        unlabelled = int((judged["flagged"] & judged["label"].isna()).sum())
        counted[str(detector)] = {"missed": missed, "unlabelled": unlabelled}
    return counted


_POINTS = 200
"""The number of intervals for which a trial's ledger is summed."""


def tabulate_burn_down(session: Session, run: tables.Run, pool: Pool | None = None) -> pd.DataFrame:
    """Return columns trial, minute (since the trial's first claim), used, caught, cap (missing if there is none).

    `caught` counts items that are misaligned by label and by decision; it is missing without labels or a pool.
    """
    spent = _sum_spending(session, run)
    if spent.empty:
        return pd.DataFrame(columns=["trial", "minute", "used", "caught", "cap"])
    parts = [_with_caught(spent[spent["trial"] == trial], pool, trial) for trial in sorted(set(spent["trial"]))]
    return pd.concat(parts, ignore_index=True)


def in_words(burnt: pd.DataFrame) -> list[str]:
    """Return a sentence on the budget used so far, for each trial of a burn-down."""
    latest = burnt.groupby("trial").last().reset_index()
    sentences = []
    for trial, used, cap in zip(latest["trial"], latest["used"], latest["cap"], strict=True):
        of = f"{used:,}" if pd.isna(cap) else f"{used:,} of {cap:,}"
        sentences.append(f"Trial {trial}: {of} {'inspection' if of == '1' else 'inspections'} used.")
    return sentences


def is_line(burnt: pd.DataFrame) -> bool:
    """Return whether any trial's burn-down has more than one point, so that it can be drawn."""
    return bool((burnt.groupby("trial").size() > 1).any())


def _sum_spending(session: Session, run: tables.Run) -> pd.DataFrame:
    """Return the inspections used by the end of each interval, with columns trial, cap, began_ms, at_ms, used."""
    entry, budget = tables.LedgerEntry, tables.Budget
    # One query for each end, because the index yields either end without the entries between them.
    began, ended = (
        select(end(col(entry.at_ms))).where(col(entry.budget_id) == col(budget.id)).correlate(budget).scalar_subquery()
        for end in (func.min, func.max)
    )
    ends = func.max(col(budget.cap)).label("cap"), func.min(began).label("began"), func.max(ended).label("ended")
    span = (
        select(col(budget.trial).label("trial"), *ends)
        .where(col(budget.run_id) == run.id)
        .group_by(col(budget.trial))
        .subquery()
    )
    first = select(literal(0).label("place")).cte(recursive=True)
    place = first.union_all(select(first.c.place + 1).where(first.c.place < _POINTS - 1)).c.place
    # Each interval reads its part of the index, without sorting all entries.
    starts, ends_at = (
        span.c.began + ((place + after) * (span.c.ended - span.c.began + 1) + _POINTS - 1) // _POINTS
        for after in (0, 1)
    )
    of_trial = select(col(budget.id)).where(col(budget.run_id) == run.id, col(budget.trial) == span.c.trial)
    within = col(entry.budget_id).in_(of_trial), col(entry.at_ms) >= starts, col(entry.at_ms) < ends_at
    last, used = (
        select(found).where(*within).correlate(span, place.table).scalar_subquery()
        for found in (func.max(col(entry.at_ms)), func.sum(col(entry.units)))
    )
    statement = select(span.c.trial, span.c.cap, span.c.began, last, used).join_from(span, place.table, true())
    found = session.execute(statement.order_by(span.c.trial, place))
    rows: list[Any] = [tuple(row) for row in found if row[3] is not None]
    spent = pd.DataFrame(rows, columns=["trial", "cap", "began_ms", "at_ms", "used"])
    spent["used"] = spent["used"].astype(int)
    return spent.assign(used=spent.groupby("trial")["used"].cumsum(), cap=spent["cap"].astype("Int64"))


def _with_caught(spent: pd.DataFrame, pool: Pool | None, trial: int) -> pd.DataFrame:
    if pool is None:
        return _burn_trial(spent, trial, np.full(len(spent), np.nan))
    rows = pool.rows[(pool.rows["detector"] == pool.routing) & (pool.rows["trial"] == trial)]
    found = rows[rows["label"] == Label.MISALIGNED]["reported_ms"].dropna().sort_values()
    by_then = np.searchsorted(found.to_numpy(dtype=np.float64), spent["at_ms"].to_numpy(), side="right")
    known = rows["label"].notna().any()
    return _burn_trial(spent, trial, by_then.astype(float) if known else np.full(len(spent), np.nan))


def _burn_trial(spent: pd.DataFrame, trial: int, caught: np.ndarray[Any, Any]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "trial": trial,
            "minute": ((spent["at_ms"] - spent["began_ms"]) / 60_000).to_numpy(),
            "used": spent["used"].to_numpy(),
            "caught": caught,
            "cap": spent["cap"].to_numpy(),
        }
    )


Row = dict[str, Any]
_FIELDS = ("tp", "fp", "fn", "tn")


def tabulate_matrices(pool: Pool) -> list[Row]:
    """Return run, detector, first trial and the confusion matrix over labelled trajectories, for each detector."""
    known = pool.rows[pool.rows["label"].notna()]
    if known.empty:
        raise Refused(f"No judged trajectory of {pool.run} has a label for a confusion matrix. Review items first.")
    first = int(known["trial"].min())
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
            f"{path}: cannot be read ({failure}). Give a CSV with the columns {', '.join(_FIELDS)}."
        ) from None
    return _rows(text, str(path))


def read_published_matrices() -> list[Row]:
    """Return the matrices behind the InferAct paper's Table 1, from its own models and tasks."""
    names = ("model", "method", "environment", *_FIELDS)
    rows = _rows(paper.read_published_csv("detection.csv"), paper.SOURCE)
    return [{name: row[name] for name in names} for row in rows]


def quota_table(rows: Sequence[Mapping[str, Any]], budget: str) -> pd.DataFrame:
    """Return each confusion matrix with the true positives inspected if all false positives are inspected first.

    Columns: the columns of the row, n, budget, kept, lost (TP beyond the budget), caught (kept as a share of TP + FN).
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
        raise BadInput(f"{where}: the header lacks {', '.join(missing)}. Give the columns {', '.join(_FIELDS)}.")
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
            raise BadInput(f"{where}: {name} is {cell!r}. Write a whole number.")
        counts[name] = int(cell)
    return {name: value for name, value in row.items() if name not in _FIELDS} | counts
