"""Agreement between reviewers: percent, Cohen, Fleiss and Krippendorff, each with a bootstrap interval over units.

A rating is one row of a frame with the columns unit, rater and label; a label may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from console.analysis.metrics.bootstrap import draws, interval
from console.analysis.statistics.estimates import LEVEL, Estimate, need, undefined
from console.errors import BadInput

Counts = NDArray[np.int64]
"""How often: a row is a unit and a column a label, or for Cohen a pair of labels, the first reviewer's first."""

Figure = Callable[[Counts], float]
"""A measure of agreement over units; NaN where it is undefined."""

RESAMPLES = 1_000
SAME = 1e-12
_ONE_LABEL = "Every rating has the same label, so chance alone agrees fully and the figure is undefined."
_NO_UNIT = "No unit has labels of two reviewers."


def percent_of(counts: Counts) -> float:
    """The share of equal labels among all pairs of labels of one unit."""
    each = counts.sum(axis=1)
    return float((counts * (counts - 1)).sum() / (each * (each - 1)).sum())


def alpha_of(counts: Counts) -> float:
    """Krippendorff's alpha for nominal labels (Krippendorff 2011); NaN where all labels are the same.

    Units may have any number of labels; one with fewer than two has nothing to agree with and does not count.
    """
    paired = counts[counts.sum(axis=1) > 1]
    labels = paired.sum(axis=0)
    n = labels.sum()
    equal = (paired * (paired - 1)).sum(axis=1) / (paired.sum(axis=1) - 1)
    observed = 1 - equal.sum() / n
    expected = 1 - (labels * (labels - 1)).sum() / (n * (n - 1))
    return float(1 - observed / expected)


def fleiss_of(counts: Counts) -> float:
    """Fleiss' kappa; every unit has the same number of labels."""
    from statsmodels.stats.inter_rater import fleiss_kappa  # slow to load, and few need it

    return float(fleiss_kappa(counts, method="fleiss"))


def cohen_of(cells: Counts) -> float:
    """Cohen's kappa of pairs of labels."""
    from statsmodels.stats.inter_rater import cohens_kappa  # slow to load, and few need it

    size = round(cells.shape[1] ** 0.5)
    return float(cohens_kappa(cells.sum(axis=0).reshape(size, size), return_results=False))


def percent(ratings: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Estimate:
    """The share of equal labels among all pairs of labels of one unit (the observed agreement of Krippendorff 2011)."""
    return _over_units(_counts(ratings), percent_of, seed, resamples, level)


def alpha(ratings: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Estimate:
    """Krippendorff's alpha for nominal labels, any number of labels a unit (Krippendorff 2011)."""
    return _over_units(_counts(ratings), alpha_of, seed, resamples, level)


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
    return _over_units(enough, fleiss_of, seed, resamples, level)


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
    return _over_units(cells, cohen_of, seed, resamples, level)


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


def _over_units(units: Counts, figure: Figure, seed: int, resamples: int, level: float) -> Estimate:
    n = len(units)
    if not n:
        return undefined(_NO_UNIT)
    with np.errstate(all="ignore"):
        value = figure(units)
        if not np.isfinite(value):
            return undefined(_ONE_LABEL, n)
        drawn = np.array([figure(units[chosen]) for chosen in draws(n, seed, resamples)])
    defined = drawn[np.isfinite(drawn)]
    lost = resamples - defined.size
    note = f"{lost} of {resamples} draws are left out, as they hold one label only." if lost else ""
    if defined.size and np.ptp(defined) < SAME:
        return Estimate(value, n=n, note="Every draw of units gives the same figure, so there is no interval.")
    return Estimate(value, interval(defined, level), n=n, note=note)
