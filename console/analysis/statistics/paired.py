"""Comparison of two conditions over participants: tests, effect sizes and Holm's correction.

The frame has one row per participant and condition with a value; several rows of one participant and condition are
averaged first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import special

from console.analysis.metrics.bootstrap import LEVEL, Interval, draw_indices
from console.analysis.statistics.contrasts import adjust_p_values
from console.analysis.statistics.estimates import (
    Estimate,
    Floats,
    drop_missing,
    estimate_by_resamples,
    estimate_difference,
    estimate_mean,
    require_columns,
    standard_error,
    suppress_warnings,
    undefined_estimate,
)
from console.errors import BadInput

Design = Literal["within", "between"]
_EXACT_UP_TO = 12
_SAME = "The values do not vary, so the test is undefined."


@dataclass(frozen=True, slots=True)
class Test:
    """A two-sided test with its effect size; `adjusted` is its p-value corrected over all pairs (Holm 1979)."""

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
    """The comparison of two conditions: the mean difference (first minus second), its t interval, and all tests."""

    first: str
    second: str
    difference: Estimate
    tests: tuple[Test, ...]


def compare_all_pairs(frame: pd.DataFrame, value: str, design: Design = "within") -> tuple[Comparison, ...]:
    """Compare every pair of conditions, Holm-corrected over the pairs; raise BadInput if a column is missing."""
    require_columns(frame, "participant", "condition", value)
    names = sorted(frame["condition"].astype(str).unique())
    return _correct_by_holm([compare(frame, value, *pair, design) for pair in combinations(names, 2)])


def compare(frame: pd.DataFrame, value: str, first: str, second: str, design: Design = "within") -> Comparison:
    """Compare two conditions within participants with both or between groups; raise BadInput if a column is missing."""
    require_columns(frame, "participant", "condition", value)
    answers = frame.astype({"condition": str, value: float})
    cells = answers.groupby(["participant", "condition"])[value].mean().unstack()
    missing = [name for name in (first, second) if name not in cells.columns]
    if missing:
        raise BadInput(f"No row has condition {missing[0]!r}. Use one of {', '.join(map(str, cells.columns))}.")
    if design == "between":
        groups = drop_missing(cells[first]), drop_missing(cells[second])
        if not all(group.size for group in groups):
            return _nobody(first, second, "Not estimable: one condition has no answers.", "Welch t", "Mann-Whitney")
        return Comparison(first, second, estimate_difference(*groups), _between(*groups))
    apart = drop_missing(cells[first] - cells[second])
    if not apart.size:
        why = "Not estimable: no participant answered in both."
        return _nobody(first, second, why, "paired t", "Wilcoxon signed rank")
    return Comparison(first, second, estimate_mean(apart), _within(apart))


def _correct_by_holm(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Correct every p-value over the comparisons (Holm 1979); undefined p-values are left out."""
    found = {(place, test.name): test.p_value for place, one in enumerate(comparisons) for test in one.tests}
    for name in {name for _, name in found}:
        found |= adjust_p_values({key: p for key, p in found.items() if key[1] == name}, "holm")
    return tuple(
        replace(one, tests=tuple(replace(test, adjusted=found[place, test.name]) for test in one.tests))
        for place, one in enumerate(comparisons)
    )


def _nobody(first: str, second: str, why: str, *tests: str) -> Comparison:
    none = undefined_estimate(why)
    return Comparison(first, second, none, tuple(Test(name, None, None, none, 0, note=why) for name in tests))


def _within(apart: Floats) -> tuple[Test, ...]:
    from scipy import stats  # slow to load, and few need it

    if apart.size == 1:
        none = undefined_estimate("One participant answered in both: too few for a test.", 1)
        return tuple(Test(name, None, None, none, 1, note=none.note) for name in ("paired t", "Wilcoxon signed rank"))
    ranked = _drawn(_favour, [apart])
    signed = _tested("Wilcoxon signed rank", lambda: _signed_rank(apart), ranked, apart.size, _unless(apart.any()))
    return (
        _tested(
            "paired t", lambda: stats.ttest_1samp(apart, 0.0), _paired_g(apart), apart.size, _unless(np.ptp(apart))
        ),
        replace(signed, note=signed.note or _smallest(int(np.count_nonzero(apart)))),
    )


def _between(first: Floats, second: Floats) -> tuple[Test, ...]:
    from scipy import stats  # slow to load, and few need it

    n, sized = first.size + second.size, _between_g(first, second)
    few = "" if min(first.size, second.size) > 1 else "A group of one participant is too few for a test."
    vary = few or _unless(np.ptp(first) or np.ptp(second))
    apart = few or _unless(np.ptp(np.concatenate([first, second])))
    ranked = _drawn(_above, [first, second])
    # With ties, scipy uses the normal approximation, which is poor for a few participants.
    method: Any = stats.PermutationMethod(n_resamples=np.inf) if n <= _EXACT_UP_TO else "auto"
    return (
        _tested("Welch t", lambda: stats.ttest_ind(first, second, equal_var=False), sized, n, vary),
        _tested("Mann-Whitney", lambda: stats.mannwhitneyu(first, second, method=method), ranked, n, apart),
    )


def _unless(varies: object) -> str:
    """Return the reason why constant values cannot be tested, or an empty string if the values vary."""
    return "" if varies else _SAME


def _tested(name: str, test: Callable[[], object], effect: Estimate, n: int, impossible: str) -> Test:
    if impossible:
        return Test(name, None, None, effect, n, note=impossible)
    with suppress_warnings():
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
    # All sign changes, with ties: scipy would approximate by the normal distribution, or take a second.
    ranks = stats.rankdata(np.abs(moved))
    signs = np.array(list(product((-1.0, 1.0), repeat=moved.size)))
    sums, seen = np.abs(signs @ ranks), abs(float(ranks @ np.sign(moved)))
    return float((ranks.sum() - seen) / 2), float(np.mean(sums >= seen - 1e-9))


def _smallest(n: int) -> str:
    p_value = 2.0 ** (1 - n)
    if n == 0 or p_value <= 0.05:
        return ""
    return f"With {n} difference{'' if n == 1 else 's'} this test cannot give a p-value below {p_value:.3f}."


RESAMPLES = 1_000


def _paired_g(differences: Floats) -> Estimate:
    """Compute Hedges' g of paired differences, with its noncentral t interval (Hedges 1981)."""
    n, error = differences.size, standard_error(differences)
    if n < 2 or not error:
        return undefined_estimate("The differences do not vary, so the standardised effect size is undefined.", n)
    return _from_t(float(differences.mean()) / error, n - 1, n**-0.5, n)


def _between_g(first: Floats, second: Floats) -> Estimate:
    """Compute Hedges' g of two groups with their pooled standard deviation (Hedges 1981)."""
    n, m = first.size, second.size
    df = n + m - 2
    if min(n, m) < 2:
        why = "A group of one participant has no standard deviation, so the effect size is undefined."
        return undefined_estimate(why, n + m)
    if not (first.var() or second.var()):
        return undefined_estimate("The groups do not vary, so the standardised effect size is undefined.", n + m)
    pooled = (((n - 1) * first.var(ddof=1) + (m - 1) * second.var(ddof=1)) / df) ** 0.5
    scale = float((1 / n + 1 / m) ** 0.5)
    return _from_t(float((first.mean() - second.mean()) / (pooled * scale)), df, scale, n + m)


def _from_t(t: float, df: int, scale: float, n: int) -> Estimate:
    corrected = scale * float(np.exp(special.gammaln(df / 2) - special.gammaln((df - 1) / 2))) * (2 / df) ** 0.5
    value = t * corrected if df > 1 else t * scale
    low, high = (float(special.nctdtrinc(df, share, t)) * scale for share in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    if not np.isfinite([low, high]).all() or low > high:
        return Estimate(value, n=n, note="The noncentral t interval cannot be computed for such a large effect.")
    return Estimate(float(value), Interval(low, high), n=n)


def _favour(differences: Floats) -> Floats:
    """Compute the rank-biserial correlation of differences (Kerby 2014)."""
    ranks = _ranks(np.abs(differences)) - np.count_nonzero(differences == 0, axis=-1, keepdims=True)
    signed = np.sign(differences)
    with np.errstate(invalid="ignore"):
        share: Floats = (ranks * signed).sum(axis=-1) / (ranks * np.abs(signed)).sum(axis=-1)
    return share


def _above(first: Floats, second: Floats) -> Floats:
    """Compute the rank-biserial correlation of two groups (Cliff 1993)."""
    n, m = first.shape[-1], second.shape[-1]
    ranks = _ranks(np.concatenate([first, second], axis=-1))[..., :n]
    wins: Floats = ranks.sum(axis=-1) - n * (n + 1) / 2
    share: Floats = 2 * wins / (n * m) - 1
    return share


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata  # slow to load, and few need it

    found: Floats = rankdata(values, axis=-1)
    return found


def _drawn(figure: Callable[..., Floats], groups: list[Floats]) -> Estimate:
    """Return the figure of the groups with its bootstrap interval over participants."""
    n = sum(group.size for group in groups)
    if not all(group.size for group in groups) or not np.isfinite(value := float(figure(*groups))):
        return undefined_estimate("No difference can be ranked.", n)
    each = [np.stack(list(draw_indices(group.size, place, RESAMPLES))) for place, group in enumerate(groups)]
    found = figure(*(group[chosen] for group, chosen in zip(groups, each, strict=True)))
    return estimate_by_resamples(value, found[np.isfinite(found)], n, "participants")
