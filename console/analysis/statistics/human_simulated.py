"""Human reviewers beside simulated ones: how right, how fast, how much of one mind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from console.analysis.metrics.bootstrap import draws, interval
from console.analysis.statistics.estimates import (
    LEVEL,
    Estimate,
    Floats,
    bounded,
    difference,
    mean,
    need,
    numbers,
    undefined,
)
from console.analysis.statistics.pace import exponential
from console.analysis.statistics.reviewer_agreement import RESAMPLES, alpha

HUMAN = "human"


@dataclass(frozen=True, slots=True)
class ReviewerKind:
    """One kind of reviewer: accuracy and seconds over its participants, alpha within it."""

    kind: str
    participants: int
    decisions: int
    accuracy: Estimate
    seconds: Estimate
    alpha: Estimate


@dataclass(frozen=True, slots=True)
class HumansAndOthers:
    """What humans have more of than all simulated reviewers: accuracy, and seconds as a factor.

    `agreement` is the share of equal labels among all pairs of a human's and a simulated reviewer's label of one unit.
    """

    accuracy: Estimate
    seconds: Estimate
    agreement: Estimate


def by_kind(frame: pd.DataFrame, *, seed: int = 0, level: float = LEVEL) -> tuple[ReviewerKind, ...]:
    """One row per annotator_kind of a frame with participant, unit, label, correct and lead_time_ms."""
    need(frame, "annotator_kind", "participant", "unit", "label", "correct", "lead_time_ms")
    return tuple(_kind(str(kind), rows, seed, level) for kind, rows in frame.groupby("annotator_kind", sort=True))


def humans_and_others(frame: pd.DataFrame, *, seed: int = 0, level: float = LEVEL) -> HumansAndOthers:
    """Humans against every other kind, participants as independent groups (Welch)."""
    need(frame, "annotator_kind", "participant", "unit", "label", "correct", "lead_time_ms")
    human = frame["annotator_kind"] == HUMAN
    ours, theirs = frame[human], frame[~human]
    return HumansAndOthers(
        accuracy=bounded(difference(_accuracy(ours), _accuracy(theirs), level), -1),
        seconds=exponential(difference(_log_seconds(ours), _log_seconds(theirs), level)),
        agreement=_across(ours, theirs, seed, level),
    )


def _kind(kind: str, rows: pd.DataFrame, seed: int, level: float) -> ReviewerKind:
    ratings = rows.dropna(subset=["unit"]).rename(columns={"participant": "rater"})
    return ReviewerKind(
        kind=kind,
        participants=int(rows["participant"].nunique()),
        decisions=len(rows),
        accuracy=bounded(mean(_accuracy(rows), level)),
        seconds=exponential(mean(_log_seconds(rows), level)),
        alpha=alpha(ratings, seed=seed, level=level),
    )


def _accuracy(rows: pd.DataFrame) -> pd.Series[float]:
    known = rows.dropna(subset=["correct"])
    return known.assign(right=numbers(known["correct"])).groupby("participant")["right"].mean()


def _log_seconds(rows: pd.DataFrame) -> pd.Series[float]:
    seconds = numbers(rows["lead_time_ms"]) / 1_000
    timed = rows[seconds > 0].assign(log_s=np.log(seconds[seconds > 0]))
    return timed.groupby("participant")["log_s"].mean()


def _across(ours: pd.DataFrame, theirs: pd.DataFrame, seed: int, level: float) -> Estimate:
    first, second = (
        rows.dropna(subset=["unit", "label"]).groupby(["unit", "label"]).size().unstack(fill_value=0)
        for rows in (ours, theirs)
    )
    units, labels = first.index.intersection(second.index), first.columns.union(second.columns)
    if not len(units):
        return undefined("No unit has both a human's and a simulated reviewer's label.")
    mine, other = (
        table.reindex(index=units, columns=labels, fill_value=0).to_numpy(dtype=float) for table in (first, second)
    )
    equal: Floats = (mine * other).sum(axis=1)
    pairs: Floats = mine.sum(axis=1) * other.sum(axis=1)
    drawn = np.array([equal[at].sum() / pairs[at].sum() for at in draws(len(units), seed, RESAMPLES)])
    value = float(equal.sum() / pairs.sum())
    if drawn.min() == drawn.max():
        return Estimate(value, n=len(units), note="Every draw of units gives the same share, so there is no interval.")
    return Estimate(value, interval(drawn, level), n=len(units))
