"""Two conditions against each other, over participants: the tests, their effect sizes, and Holm's correction.

The frame has one row per participant and condition with a value; several rows of the two are averaged first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal

import numpy as np
import pandas as pd

from console.analysis.statistics import effect_sizes
from console.analysis.statistics.contrasts import adjusted
from console.analysis.statistics.estimates import (
    LEVEL,
    Estimate,
    Floats,
    difference,
    mean,
    need,
    present,
    quiet,
    undefined,
)
from console.errors import BadInput

Design = Literal["within", "between"]
_EXACT_UP_TO = 12
_SAME = "The values do not vary, so there is nothing to test."


@dataclass(frozen=True, slots=True)
class Test:
    """A two-sided test, `adjusted` by Holm (1979) over all pairs of conditions, with its effect size."""

    __test__ = False

    name: str
    statistic: float | None
    p_value: float | None
    effect: Estimate
    n: int
    adjusted: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first condition less the second: the mean difference with its t interval, and every test."""

    first: str
    second: str
    difference: Estimate
    tests: tuple[Test, ...]


def all_pairs(
    frame: pd.DataFrame, value: str, design: Design = "within", *, level: float = LEVEL, seed: int = 0
) -> tuple[Comparison, ...]:
    """Each two conditions compared, every test corrected by Holm over the pairs; raises BadInput."""
    need(frame, "participant", "condition", value)
    each = _means(frame, value)
    pairs = combinations(sorted(each["condition"].unique()), 2)
    found = [compare(each, value, *pair, design, level=level, seed=seed) for pair in pairs]
    return holm(found)


def compare(
    frame: pd.DataFrame,
    value: str,
    first: str,
    second: str,
    design: Design = "within",
    *,
    level: float = LEVEL,
    seed: int = 0,
) -> Comparison:
    """The first condition less the second, over participants who did both or, between, over those of each."""
    need(frame, "participant", "condition", value)
    cells = _means(frame, value).pivot(index="participant", columns="condition", values=value)
    missing = [name for name in (first, second) if name not in cells.columns]
    if missing:
        raise BadInput(f"No row has condition {missing[0]!r}; the table has {', '.join(map(str, cells.columns))}.")
    if design == "between":
        groups = present(cells[first]), present(cells[second])
        if not all(group.size for group in groups):
            return _nobody(first, second, "Not estimable: nobody answered in one of them.", "Welch t", "Mann-Whitney")
        return Comparison(first, second, difference(*groups, level), _between(*groups, level, seed))
    apart = present(cells[first] - cells[second])
    if not apart.size:
        return _nobody(first, second, "Not estimable: nobody answered in both.", "paired t", "Wilcoxon signed rank")
    return Comparison(first, second, mean(apart, level), _within(apart, level, seed))


def holm(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The same with every test's p-value corrected over the comparisons (Holm 1979); undefined ones do not count."""
    found = {(place, test.name): test.p_value for place, one in enumerate(comparisons) for test in one.tests}
    for name in {name for _, name in found}:
        found |= adjusted({key: p for key, p in found.items() if key[1] == name}, "holm")
    return tuple(
        replace(one, tests=tuple(replace(test, adjusted=found[place, test.name]) for test in one.tests))
        for place, one in enumerate(comparisons)
    )


def _means(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    answers = frame[["participant", "condition", value]].astype({"condition": str, value: float})
    return answers.groupby(["participant", "condition"])[value].mean().reset_index()


def _nobody(first: str, second: str, why: str, *tests: str) -> Comparison:
    """The pair that no test can be made of, with the reason everywhere."""
    none = undefined(why)
    return Comparison(first, second, none, tuple(Test(name, None, None, none, 0, note=why) for name in tests))


def _within(apart: Floats, level: float, seed: int) -> tuple[Test, ...]:
    from scipy import stats  # slow to load, and few need it

    if apart.size == 1:
        none = undefined("One participant answered in both: too few for a test.", 1)
        return tuple(Test(name, None, None, none, 1, note=none.note) for name in ("paired t", "Wilcoxon signed rank"))
    sized = effect_sizes.paired_g(apart, level)
    ranked = effect_sizes.paired_rank_biserial(apart, level, seed)
    signed = _tested("Wilcoxon signed rank", lambda: _signed_rank(apart), ranked, apart.size, _unless(apart.any()))
    return (
        _tested("paired t", lambda: stats.ttest_1samp(apart, 0.0), sized, apart.size, _unless(np.ptp(apart))),
        replace(signed, note=signed.note or _smallest(int(np.count_nonzero(apart)))),
    )


def _between(first: Floats, second: Floats, level: float, seed: int) -> tuple[Test, ...]:
    from scipy import stats  # slow to load, and few need it

    n, sized = first.size + second.size, effect_sizes.between_g(first, second, level)
    few = "" if min(first.size, second.size) > 1 else "A group of one participant is too few for a test."
    vary = few or _unless(np.ptp(first) or np.ptp(second))
    apart = few or _unless(np.ptp(np.concatenate([first, second])))
    ranked = effect_sizes.between_rank_biserial(first, second, level, seed)
    return (
        _tested("Welch t", lambda: stats.ttest_ind(first, second, equal_var=False), sized, n, vary),
        _tested("Mann-Whitney", lambda: stats.mannwhitneyu(first, second, method=_method(n)), ranked, n, apart),
    )


def _unless(varies: object) -> str:
    """Why values that do not vary cannot be tested; empty where they do."""
    return "" if varies else _SAME


def _tested(name: str, test: Callable[[], object], effect: Estimate, n: int, impossible: str) -> Test:
    if impossible:
        return Test(name, None, None, effect, n, note=impossible)
    with quiet():
        statistic, p_value = np.array(test(), dtype=float)[:2]
    if not np.isfinite(p_value):
        return Test(name, None, None, effect, n, note="The test is undefined for these values.")
    return Test(name, float(statistic), float(p_value), effect, n)


def _signed_rank(apart: Floats) -> tuple[float, float]:
    from scipy import stats  # slow to load, and few need it

    moved = apart[apart != 0]
    if moved.size > _EXACT_UP_TO:
        found = stats.wilcoxon(moved)
        return float(found.statistic), float(found.pvalue)
    # All ways to turn the signs, ties included, for which scipy has the normal approximation or takes a second.
    ranks = stats.rankdata(np.abs(moved))
    signs = np.array(list(product((-1.0, 1.0), repeat=moved.size)))
    sums, seen = np.abs(signs @ ranks), abs(float(ranks @ np.sign(moved)))
    return float((ranks.sum() - seen) / 2), float(np.mean(sums >= seen - 1e-9))


def _method(n: int) -> object:
    from scipy import stats  # slow to load, and few need it

    # Ties make scipy fall back to the normal approximation, which is poor for a handful of participants.
    return stats.PermutationMethod(n_resamples=np.inf) if n <= _EXACT_UP_TO else "auto"


def _smallest(n: int) -> str:
    p_value = 2.0 ** (1 - n)
    return (
        f"With {n} difference{'' if n == 1 else 's'} this test cannot come below p = {p_value:.3f}."
        if n > 0 and p_value > 0.05
        else ""
    )
