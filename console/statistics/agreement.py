"""Do reviewers agree? Percent, Cohen, Fleiss and Krippendorff, each with a bootstrap interval over units.

A rating is one row of a frame with the columns unit, rater and label; a label may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd

from console.errors import BadInput
from console.metrics.bootstrap import draws
from console.metrics.resampling import interval
from console.statistics.chance import ALPHA, COHEN, FLEISS, PERCENT, SAME, Counts, Measure
from console.statistics.estimates import LEVEL, Estimate, need, undefined

RESAMPLES = 1_000

_ONE_LABEL = "Every rating has the same label, so chance alone agrees fully and the figure is undefined."
_NO_UNIT = "No unit has labels of two reviewers."


def percent(ratings: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Estimate:
    """The share of equal labels among all pairs of labels of one unit (the observed agreement of Krippendorff 2011)."""
    return _over_units(_counts(ratings), PERCENT, seed, resamples, level)


def alpha(ratings: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Estimate:
    """Krippendorff's alpha for nominal labels, any number of labels a unit (Krippendorff 2011)."""
    return _over_units(_counts(ratings), ALPHA, seed, resamples, level)


def fleiss(ratings: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Estimate:
    """Fleiss' kappa (1971) for units that all have the same number of labels; undefined where they have not."""
    counts = _counts(ratings, least=1)
    each = counts.sum(axis=1)
    if each.size and each.min() != each.max():
        return undefined(
            f"Units have from {each.min()} to {each.max()} labels, and Fleiss' kappa needs the same number for each; "
            "read Krippendorff's alpha.",
            each.size,
        )
    enough = counts if each.size and each[0] > 1 else counts[:0]
    return _over_units(enough, FLEISS, seed, resamples, level)


def cohen(ratings: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Estimate:
    """Cohen's kappa (1960) of the two reviewers there are, over the units that both labelled."""
    table = _table(ratings)
    if table.shape[1] != 2:
        return undefined(f"Cohen's kappa is for two reviewers; there are {table.shape[1]}.", len(table))
    both = table.dropna().to_numpy()
    values = np.unique(both)
    cells = np.zeros((len(both), len(values) ** 2), dtype=np.int64)
    first, second = (np.searchsorted(values, both[:, side]) for side in (0, 1))
    cells[np.arange(len(both)), first * len(values) + second] = 1
    return _over_units(cells, COHEN, seed, resamples, level)


def cohen_of_pairs(
    ratings: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> dict[tuple[str, str], Estimate]:
    """Cohen's kappa of each two reviewers, in the order of their names."""
    raters = sorted(map(str, _table(ratings).columns))
    return {
        (one, other): cohen(ratings[ratings["rater"].isin([one, other])], seed=seed, resamples=resamples, level=level)
        for one, other in combinations(raters, 2)
    }


MEASURES: dict[str, Callable[..., Estimate]] = {"percent": percent, "cohen": cohen, "fleiss": fleiss, "alpha": alpha}


def agreement(
    ratings: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> dict[str, Estimate]:
    """Every measure by its name, over the same draws of units."""
    return {name: of(ratings, seed=seed, resamples=resamples, level=level) for name, of in MEASURES.items()}


def _table(ratings: pd.DataFrame) -> pd.DataFrame:
    need(ratings, "unit", "rater", "label")
    given = ratings.dropna(subset=["label"])
    twice = given[given.duplicated(["unit", "rater"])]
    if len(twice):
        unit, rater = twice.iloc[0][["unit", "rater"]]
        raise BadInput(f"{rater} has two labels for {unit}; keep the standing one of each reviewer and compute again.")
    return given.pivot(index="unit", columns="rater", values="label")


def _counts(ratings: pd.DataFrame, least: int = 2) -> Counts:
    table = _table(ratings).to_numpy()
    values = sorted({label for label in table.ravel() if not pd.isna(label)})
    counts = np.stack([(table == value).sum(axis=1) for value in values], axis=1) if values else np.zeros((0, 1))
    found: Counts = counts[counts.sum(axis=1) >= least].astype(np.int64)
    return found


def _over_units(units: Counts, measure: Measure, seed: int, resamples: int, level: float) -> Estimate:
    n = len(units)
    if not n:
        return undefined(_NO_UNIT)
    parts = measure.parts(units)
    with np.errstate(all="ignore"):
        if not np.isfinite(measure.of_sums(parts.sum(axis=0, keepdims=True))).all():
            return undefined(_ONE_LABEL, n)
        found = measure.of_sums(np.array([np.bincount(at, minlength=n) @ parts for at in draws(n, seed, resamples)]))
    value, defined = measure.figure(units), found[np.isfinite(found)]
    lost = resamples - defined.size
    note = f"{lost} of {resamples} draws are left out, as they hold one label only." if lost else ""
    if defined.size and np.ptp(defined) < SAME:
        return Estimate(value, n=n, note="Every draw of units gives the same figure, so there is no interval.")
    return Estimate(value, interval(defined, level), n=n, note=note)
