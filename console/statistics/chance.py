"""Agreement from counts: a row is a unit, a column a label (for Cohen a cell of the table), a number how often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from console.statistics.estimates import Floats

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
