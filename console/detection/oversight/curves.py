"""Oversight curves of a run: misalignments caught against inspections spent, by detector and order of inspection.

An item that a detector flagged counts as one inspection, however many reviews it needs. In a simulated order every
inspected misalignment is caught, as in the InferAct paper (section 4.4); the order `as reviewed` is what the run's own
reviewers did, and counts what they called misaligned and is. What nobody has looked at yet follows in queue order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from console.analysis.statistics import inspection_curve
from console.detection.oversight.pool import Pool
from console.errors import Refused, Unknown
from console.review.simulated import INSPECTION_ORDERS
from console.review.simulated.orders import Candidate, inspections
from console.runs import parse_budget
from console.trajectory import Label

CHANCE = "random"
"""The order that stands for all: its line is their mean."""


@dataclass(frozen=True, slots=True, eq=False)
class OversightLine:
    """One detector's flagged items in one order: which are caught when inspected, and which were put right."""

    detector: str
    policy: str
    caught: NDArray[np.bool_]
    corrected: NDArray[np.float64]
    positives: int

    @property
    def right(self) -> NDArray[np.int64]:
        """How many have been put right by each inspection, as far as anything was tried again."""
        return inspection_curve.caught(self.corrected == 1)

    @property
    def tried_again(self) -> bool:
        """Whether any of the items was."""
        return bool(np.isfinite(self.corrected).any())

    def values(self, at: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What is caught and what is put right after each number of inspections."""
        if self.policy == CHANCE:
            n = self.caught.size
            return inspection_curve.by_chance(n, self.positives, at), inspection_curve.by_chance(
                n, int(self.right[-1]), at
            )
        return inspection_curve.caught(self.caught)[at].astype(np.float64), self.right[at].astype(np.float64)

    def points(self) -> pd.DataFrame:
        """The line itself, in a few hundred points."""
        at = inspection_curve.thinned(self.caught.size)
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
        low, high = inspection_curve.chance_interval(self.caught.size, self.positives, at)
        return frame.assign(low=low, high=high)

    def summary(self, spent: int, further: int) -> dict[str, Any]:
        """What it amounts to after so many inspections, and so many more."""
        n = self.caught.size
        at = np.array([min(spent, n), min(spent + further, n)])
        (now, then), (right, _) = self.values(at)
        by_luck = 0.0 if 0 < self.positives < n else None
        curve = inspection_curve.caught(self.caught)
        return {
            "detector": self.detector,
            "policy": self.policy,
            "flagged": n,
            "misaligned": self.positives,
            "spent": int(at[0]),
            "caught": float(now),
            "corrected": float(right) if self.tried_again else None,
            "more": float(then - now),
            "area": by_luck if self.policy == CHANCE else inspection_curve.normalised_area(curve, self.positives),
        }


AS_REVIEWED, IDEAL = "as reviewed", "ideal"
ORDERS = (AS_REVIEWED, *INSPECTION_ORDERS, IDEAL)
"""All orders; `random` is the expectation over all orders, with its 95% interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The curves of one trial as two tables; only flagged items with a label stand on them.

    `points`: detector, policy, inspections, caught, low, high (of `random` only), corrected (as far as it is known).
    `summary`: detector, policy, flagged, misaligned (of these), spent, caught, corrected, more (what so many further
    inspections catch), area (0 as random, 1 as ideal), missed (misaligned, not flagged), unlabelled (but flagged).
    """

    trial: int
    spent: int
    further: int
    points: pd.DataFrame
    summary: pd.DataFrame


def curves(
    pool: Pool,
    *,
    trial: int | None = None,
    orders: Sequence[str] = ORDERS,
    detectors: Sequence[str] | None = None,
    budget: str | None = None,
    further: int = 10,
    seed: int = 0,
) -> Curves:
    """The curves of a trial (the first if None) and its detectors (all if None); inspections end at the budget.

    That is a number, P% of the trial's non-halted trajectories, or None: what the run's reviewers have inspected.
    Raises BadInput for another, Unknown for an order or trial that is not there, Refused where nothing has a label.
    """
    for name in orders:
        if name not in ORDERS:
            raise Unknown("order of inspection", name, ORDERS)
    chosen = _trial(pool, trial)
    rows = pool.rows[pool.rows["trial"] == chosen]
    used = _inspected(rows, pool.routing) if budget is None else _allowed(rows, budget)
    wanted = rows if detectors is None else rows[rows["detector"].isin(detectors)]
    lines = list(_lines(wanted, pool.routing, orders, seed))
    if not lines:
        raise Refused(f"No flagged item of trial {chosen} of {pool.run} has a label, so nothing can be counted.")
    missing = _left_out(rows)
    summary = pd.DataFrame([{**line.summary(used, further), **missing[line.detector]} for line in lines])
    return Curves(chosen, used, further, pd.concat([line.points() for line in lines], ignore_index=True), summary)


def drawable(pool: Pool) -> dict[int, list[str]]:
    """The trials that have a curve, with the detectors that have one: some flagged item of theirs has a label."""
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
        raise Refused(f"No detector has judged {pool.run} yet; run: inferact detect {quote(pool.run)} --method rules")
    if wanted is not None and wanted not in known:
        raise Unknown("judged trial", wanted, known)
    return known[0] if wanted is None else wanted


def _inspected(rows: pd.DataFrame, routing: str) -> int:
    """How many of the labelled items that the routing detector flagged reviewers have decided."""
    own = rows[(rows["detector"] == routing) & rows["flagged"] & rows["label"].notna()]
    return int(own["inspected_ms"].notna().sum())


def _allowed(rows: pd.DataFrame, budget: str) -> int:
    cap, percent = parse_budget(budget)
    return inspections((percent or 0.0) / 100, rows["trajectory_id"].nunique()) if cap is None else cap


def _left_out(rows: pd.DataFrame) -> dict[str, dict[str, int]]:
    counted = {}
    for detector, judged in rows.groupby("detector"):
        missed = int((~judged["flagged"] & (judged["label"] == Label.MISALIGNED)).sum())
        counted[str(detector)] = {
            "missed": missed,
            "unlabelled": int((judged["flagged"] & judged["label"].isna()).sum()),
        }
    return counted
