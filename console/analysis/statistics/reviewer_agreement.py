"""Agreement between reviewers, with bootstrap intervals over units, and people compared with simulated reviewers.

A rating is one row of a frame with the columns unit, rater and label; the label may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from console.analysis.metrics.bootstrap import draw_indices
from console.analysis.statistics.estimates import (
    Estimate,
    Floats,
    clip_interval,
    estimate_by_resamples,
    estimate_difference,
    estimate_mean,
    require_columns,
    to_floats,
    undefined_estimate,
)
from console.analysis.statistics.session_effects import exponentiate
from console.errors import BadInput

Counts = NDArray[np.int64]
"""Counts by unit (row) and label (column); for Cohen, the columns are pairs of labels, first reviewer first."""

Figure = Callable[[Counts], float]
"""A measure of agreement over units; NaN if it is undefined."""

RESAMPLES = 1_000
_ONE_LABEL = "All labels are equal, so agreement beyond chance is undefined."
_NO_UNIT = "No unit has labels from two reviewers."


def percent_of(counts: Counts) -> float:
    """Compute the share of equal labels among all pairs of labels of one unit."""
    each = counts.sum(axis=1)
    return float((counts * (counts - 1)).sum() / (each * (each - 1)).sum())


def alpha_of(counts: Counts) -> float:
    """Compute Krippendorff's alpha (2011) over units with two or more nominal labels, or NaN for equal labels."""
    paired = counts[counts.sum(axis=1) > 1]
    labels = paired.sum(axis=0)
    n = labels.sum()
    equal = (paired * (paired - 1)).sum(axis=1) / (paired.sum(axis=1) - 1)
    observed = 1 - equal.sum() / n
    expected = 1 - (labels * (labels - 1)).sum() / (n * (n - 1))
    return float(1 - observed / expected)


def fleiss_of(counts: Counts) -> float:
    """Compute Fleiss' kappa; every unit must have the same number of labels."""
    from statsmodels.stats.inter_rater import fleiss_kappa  # slow to load, and few need it

    return float(fleiss_kappa(counts, method="fleiss"))


def cohen_of(cells: Counts) -> float:
    """Compute Cohen's kappa from the counts of label pairs."""
    from statsmodels.stats.inter_rater import cohens_kappa  # slow to load, and few need it

    size = round(cells.shape[1] ** 0.5)
    return float(cohens_kappa(cells.sum(axis=0).reshape(size, size), return_results=False))


def percent(ratings: pd.DataFrame, resamples: int = RESAMPLES) -> Estimate:
    """Estimate the share of equal labels among all pairs of labels of one unit (Krippendorff 2011)."""
    return _over_units(_counts(ratings), percent_of, resamples)


def alpha(ratings: pd.DataFrame, resamples: int = RESAMPLES) -> Estimate:
    """Estimate Krippendorff's alpha for nominal labels, with any number of labels per unit (Krippendorff 2011)."""
    return _over_units(_counts(ratings), alpha_of, resamples)


def fleiss(ratings: pd.DataFrame, resamples: int = RESAMPLES) -> Estimate:
    """Estimate Fleiss' kappa (1971); undefined if units have different numbers of labels."""
    counts = _counts(ratings, least=1)
    each = counts.sum(axis=1)
    if each.size and each.min() != each.max():
        needs = "but Fleiss' kappa needs the same number for each. Use Krippendorff's alpha."
        return undefined_estimate(f"Units have from {each.min()} to {each.max()} labels, {needs}", each.size)
    return _over_units(counts[each > 1], fleiss_of, resamples)


def cohen(ratings: pd.DataFrame, resamples: int = RESAMPLES) -> Estimate:
    """Estimate Cohen's kappa (1960) of two reviewers over the units that both labelled."""
    table = _table(ratings)
    if table.shape[1] != 2:
        return undefined_estimate(f"Cohen's kappa needs two reviewers, not {table.shape[1]}.", len(table))
    both = table.dropna().to_numpy()
    values = np.unique(both)
    cells = np.zeros((len(both), len(values) ** 2), dtype=np.int64)
    first, second = (np.searchsorted(values, both[:, side]) for side in (0, 1))
    cells[np.arange(len(both)), first * len(values) + second] = 1
    return _over_units(cells, cohen_of, resamples)


def cohen_of_pairs(ratings: pd.DataFrame, resamples: int = RESAMPLES) -> dict[tuple[str, str], Estimate]:
    """Estimate Cohen's kappa of every pair of reviewers, in the order of their names."""
    raters = sorted(map(str, _table(ratings).columns))
    return {pair: cohen(ratings[ratings["rater"].isin(pair)], resamples) for pair in combinations(raters, 2)}


MEASURES: dict[str, Callable[..., Estimate]] = {"percent": percent, "cohen": cohen, "fleiss": fleiss, "alpha": alpha}


def estimate_agreement(ratings: pd.DataFrame) -> dict[str, Estimate]:
    """Estimate every measure by name, over the same bootstrap samples of units."""
    return {name: estimate(ratings) for name, estimate in MEASURES.items()}


def _table(ratings: pd.DataFrame) -> pd.DataFrame:
    require_columns(ratings, "unit", "rater", "label")
    given = ratings.dropna(subset=["label"])
    twice = given[given.duplicated(["unit", "rater"])]
    if len(twice):
        unit, rater = twice.iloc[0][["unit", "rater"]]
        raise BadInput(f"{rater} has two labels for {unit}. Keep one label per reviewer and unit, and compute again.")
    return given.pivot(index="unit", columns="rater", values="label")


def _counts(ratings: pd.DataFrame, least: int = 2) -> Counts:
    table = _table(ratings).to_numpy()
    values = sorted({label for label in table.ravel() if not pd.isna(label)})
    counts = np.stack([(table == value).sum(axis=1) for value in values], axis=1) if values else np.zeros((0, 1))
    found: Counts = counts[counts.sum(axis=1) >= least].astype(np.int64)
    return found


def _over_units(units: Counts, figure: Figure, resamples: int) -> Estimate:
    n = len(units)
    if not n:
        return undefined_estimate(_NO_UNIT)
    with np.errstate(all="ignore"):
        value = figure(units)
        if not np.isfinite(value):
            return undefined_estimate(_ONE_LABEL, n)
        drawn = np.array([figure(units[chosen]) for chosen in draw_indices(n, 0, resamples)])
    defined = drawn[np.isfinite(drawn)]
    lost = resamples - defined.size
    note = f"{lost:,} of {resamples:,} resamples left out: they have a single label." if lost else ""
    return estimate_by_resamples(value, defined, n, "units", note)


HUMAN = "human"


@dataclass(frozen=True, slots=True)
class ReviewerKind:
    """One kind of reviewer: mean accuracy, geometric mean of seconds per decision, and Krippendorff's alpha."""

    kind: str
    participants: int
    decisions: int
    accuracy: Estimate
    seconds: Estimate
    alpha: Estimate


@dataclass(frozen=True, slots=True)
class HumansAndOthers:
    """People compared with simulated reviewers: difference in accuracy, ratio of seconds, and share of equal labels."""

    accuracy: Estimate
    seconds: Estimate
    agreement: Estimate


def compare_kinds(frame: pd.DataFrame) -> tuple[ReviewerKind, ...]:
    """Return one row per annotator_kind; the frame has participant, unit, label, correct and lead_time_ms."""
    require_columns(frame, "annotator_kind", "participant", "unit", "label", "correct", "lead_time_ms")
    return tuple(_kind(str(kind), rows) for kind, rows in frame.groupby("annotator_kind", sort=True))


def compare_humans_and_others(frame: pd.DataFrame) -> HumansAndOthers:
    """Compare people with all other kinds of reviewers, with participants as independent groups (Welch)."""
    require_columns(frame, "annotator_kind", "participant", "unit", "label", "correct", "lead_time_ms")
    human = frame["annotator_kind"] == HUMAN
    ours, theirs = frame[human], frame[~human]
    return HumansAndOthers(
        accuracy=clip_interval(estimate_difference(_accuracy(ours), _accuracy(theirs)), -1),
        seconds=exponentiate(estimate_difference(_log_seconds(ours), _log_seconds(theirs))),
        agreement=_across(ours, theirs),
    )


def _kind(kind: str, rows: pd.DataFrame) -> ReviewerKind:
    ratings = rows.dropna(subset=["unit"]).rename(columns={"participant": "rater"})
    return ReviewerKind(
        kind=kind,
        participants=int(rows["participant"].nunique()),
        decisions=len(rows),
        accuracy=clip_interval(estimate_mean(_accuracy(rows))),
        seconds=exponentiate(estimate_mean(_log_seconds(rows))),
        alpha=alpha(ratings),
    )


def _accuracy(rows: pd.DataFrame) -> pd.Series[float]:
    known = rows.dropna(subset=["correct"])
    return known.assign(right=to_floats(known["correct"])).groupby("participant")["right"].mean()


def _log_seconds(rows: pd.DataFrame) -> pd.Series[float]:
    seconds = to_floats(rows["lead_time_ms"]) / 1_000
    timed = rows[seconds > 0].assign(log_s=np.log(seconds[seconds > 0]))
    return timed.groupby("participant")["log_s"].mean()


def _across(ours: pd.DataFrame, theirs: pd.DataFrame) -> Estimate:
    first, second = (
        rows.dropna(subset=["unit", "label"]).groupby(["unit", "label"]).size().unstack(fill_value=0)
        for rows in (ours, theirs)
    )
    units, labels = first.index.intersection(second.index), first.columns.union(second.columns)
    if not len(units):
        return undefined_estimate("No unit has labels from both people and simulated reviewers.")
    mine, other = (
        table.reindex(index=units, columns=labels, fill_value=0).to_numpy(dtype=float) for table in (first, second)
    )
    equal: Floats = (mine * other).sum(axis=1)
    pairs: Floats = mine.sum(axis=1) * other.sum(axis=1)
    drawn = np.array([equal[at].sum() / pairs[at].sum() for at in draw_indices(len(units), 0, RESAMPLES)])
    return estimate_by_resamples(float(equal.sum() / pairs.sum()), drawn, len(units), "units")
