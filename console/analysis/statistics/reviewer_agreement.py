"""Do reviewers agree? Percent, Cohen, Fleiss and Krippendorff, each with a bootstrap interval over units.

A rating is one row of a frame with the columns unit, rater and label; a label may be missing.

Agreement from counts: a row is a unit, a column a label (for Cohen a cell of the table), a number how often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from console.analysis.metrics.bootstrap import draws, interval
from console.analysis.statistics.estimates import LEVEL, Estimate, Floats, need, undefined
from console.errors import BadInput

Counts = NDArray[np.int64]
SAME = 1e-12


@dataclass(frozen=True)
class Measure:
    """The library's figure of all units, and the same from sums over units, which is what a thousand draws can pay.

    `of_sums` is NaN where the figure is undefined; its columns are those of `parts`.
    """

    figure: Callable[[Counts], float]
    parts: Callable[[Counts], Floats]
    of_sums: Callable[[Floats], Floats]


def _equal_pairs(counts: Counts) -> Floats:
    found: Floats = (counts * (counts - 1)).sum(axis=1).astype(np.float64)
    return found


def _pairs(counts: Counts) -> Floats:
    each: Floats = counts.sum(axis=1).astype(np.float64)
    return each * (each - 1)


def _observed(counts: Counts, over: Floats) -> Floats:
    return np.column_stack([_equal_pairs(counts) / over, counts])


def _alpha_of(sums: Floats) -> Floats:
    equal, labels = sums[:, 0], sums[:, 1:]
    n = labels.sum(axis=1)
    expected = 1 - (labels * (labels - 1)).sum(axis=1) / (n * (n - 1))
    found: Floats = 1 - (1 - equal / n) / np.where(expected > SAME, expected, np.nan)
    return found


def _fleiss_of(sums: Floats) -> Floats:
    units, equal, labels = sums[:, 0], sums[:, 1], sums[:, 2:]
    return _beyond_chance(equal / units, ((labels / labels.sum(axis=1, keepdims=True)) ** 2).sum(axis=1))


def _cohen_of(sums: Floats) -> Floats:
    size = round(sums.shape[1] ** 0.5)
    tables = sums.reshape(-1, size, size) / sums.sum(axis=1)[:, None, None]
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1)
    return _beyond_chance(np.trace(tables, axis1=1, axis2=2), chance)


def _beyond_chance(observed: Floats, chance: Floats) -> Floats:
    found: Floats = (observed - chance) / np.where(chance < 1 - SAME, 1 - chance, np.nan)
    return found


def _square(cells: Counts) -> Counts:
    size = round(cells.shape[1] ** 0.5)
    table: Counts = cells.sum(axis=0).reshape(size, size)
    return table


def _krippendorff(counts: Counts) -> float:
    import krippendorff

    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def _fleiss(counts: Counts) -> float:
    from statsmodels.stats.inter_rater import (
        fleiss_kappa,
    )  # slow to load, and few need it

    return float(fleiss_kappa(counts, method="fleiss"))


def _cohen(cells: Counts) -> float:
    from statsmodels.stats.inter_rater import (
        cohens_kappa,
    )  # slow to load, and few need it

    return float(cohens_kappa(_square(cells), return_results=False))


PERCENT = Measure(
    lambda counts: float(_equal_pairs(counts).sum() / _pairs(counts).sum()),
    lambda counts: np.column_stack([_equal_pairs(counts), _pairs(counts)]),
    lambda sums: sums[:, 0] / sums[:, 1],
)
ALPHA = Measure(
    _krippendorff,
    lambda counts: _observed(counts, counts.sum(axis=1) - 1.0),
    _alpha_of,
)
FLEISS = Measure(
    _fleiss,
    lambda counts: np.column_stack([np.ones(len(counts)), _observed(counts, _pairs(counts))]),
    _fleiss_of,
)
COHEN = Measure(
    _cohen,
    lambda cells: cells.astype(np.float64),
    _cohen_of,
)

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
