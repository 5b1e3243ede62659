"""Sizes of an effect without a unit: Hedges' g with its exact interval, and the rank-biserial correlation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from console.analysis.metrics.bootstrap import Interval, draws, interval
from console.analysis.statistics.estimates import Estimate, Floats, standard_error, undefined

RESAMPLES = 1_000


def paired_g(differences: Floats, level: float) -> Estimate:
    """Mean over standard deviation of the differences, corrected for few (Hedges 1981; interval by noncentral t)."""
    n, error = differences.size, standard_error(differences)
    if n < 2 or not error:
        return undefined("The differences do not vary, so there is no size in their standard deviations.", n)
    return _from_t(float(differences.mean()) / error, n - 1, n**-0.5, n, level)


def between_g(first: Floats, second: Floats, level: float) -> Estimate:
    """The difference of two means over their pooled standard deviation, corrected for few (Hedges 1981)."""
    n, m = first.size, second.size
    df = n + m - 2
    if min(n, m) < 2:
        return undefined("A group of one participant has no standard deviation, so there is no size in it.", n + m)
    if not (first.var() or second.var()):
        return undefined("The groups do not vary, so there is no size in their standard deviations.", n + m)
    pooled = (((n - 1) * first.var(ddof=1) + (m - 1) * second.var(ddof=1)) / df) ** 0.5
    scale = float((1 / n + 1 / m) ** 0.5)
    return _from_t(float((first.mean() - second.mean()) / (pooled * scale)), df, scale, n + m, level)


def paired_rank_biserial(differences: Floats, level: float, seed: int) -> Estimate:
    """The share of ranks in favour less the share against (Kerby 2014), interval by drawing participants again."""
    return _drawn(_favour, [differences], level, seed)


def between_rank_biserial(first: Floats, second: Floats, level: float, seed: int) -> Estimate:
    """How often the first group is above the second less how often below (Cliff 1993), interval by drawing again."""
    return _drawn(_above, [first, second], level, seed)


def _from_t(t: float, df: int, scale: float, n: int, level: float) -> Estimate:
    corrected = scale * float(np.exp(special.gammaln(df / 2) - special.gammaln((df - 1) / 2))) * (2 / df) ** 0.5
    value = t * corrected if df > 1 else t * scale
    low, high = (float(special.nctdtrinc(df, share, t)) * scale for share in ((1 + level) / 2, (1 - level) / 2))
    if not np.isfinite([low, high]).all() or low > high:
        return Estimate(value, n=n, note="The noncentral t interval cannot be computed for so large an effect.")
    return Estimate(float(value), Interval(low, high, level), n=n)


def _favour(differences: Floats) -> Floats:
    ranks = _ranks(np.abs(differences)) - np.count_nonzero(differences == 0, axis=-1, keepdims=True)
    signed = np.sign(differences)
    with np.errstate(invalid="ignore"):
        share: Floats = (ranks * signed).sum(axis=-1) / (ranks * np.abs(signed)).sum(axis=-1)
    return share


def _above(first: Floats, second: Floats) -> Floats:
    n, m = first.shape[-1], second.shape[-1]
    ranks = _ranks(np.concatenate([first, second], axis=-1))[..., :n]
    wins: Floats = ranks.sum(axis=-1) - n * (n + 1) / 2
    share: Floats = 2 * wins / (n * m) - 1
    return share


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata  # slow to load, and few need it

    found: Floats = rankdata(values, axis=-1)
    return found


def _drawn(figure: Callable[..., Floats], groups: list[Floats], level: float, seed: int) -> Estimate:
    n = sum(group.size for group in groups)
    if not all(group.size for group in groups) or not np.isfinite(value := float(figure(*groups))):
        return undefined("There is no difference to rank.", n)
    each = [np.stack(list(draws(group.size, seed + place, RESAMPLES))) for place, group in enumerate(groups)]
    found = figure(*(group[chosen] for group, chosen in zip(groups, each, strict=True)))
    defined = found[np.isfinite(found)]
    if not defined.size or defined.min() == defined.max():
        return Estimate(value, n=n, note="Every draw of participants gives the same figure, so there is no interval.")
    return Estimate(value, interval(defined, level), n=n)
