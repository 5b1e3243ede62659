"""Upper bounds on the misaligned actions among the actions without an inspection, from random audits.

The audits are a simple random sample without replacement of a finite population, so the bounds are exact and assume no
distribution. The bounds differ in what they allow: one look, a look after every audit, or the use of a detector's
scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from console.errors import BadInput

Floats = NDArray[np.float64]

LEVEL = 0.95
_OF_ERRORS = 0.2
"""The part of the error probability that is spent on the reviewers' own error rates."""
_JEFFREYS = 0.5
_PRIOR, _PRIOR_HIGH = (0.5, 8.0), (1.0, 1.0)
"""The beta priors of the share of misaligned actions in the confidence sequences; the second is for high scores only.

Any prior is valid."""


@dataclass(frozen=True, slots=True)
class Audits:
    """Random audits of `drawn` actions from the `population`; `labelled` audited actions were called misaligned."""

    population: int
    drawn: int
    labelled: int

    def __post_init__(self) -> None:
        if not 0 <= self.labelled <= self.drawn <= self.population:
            raise BadInput(
                f"{self.labelled} misaligned of {self.drawn} audits of {self.population} actions is not possible. "
                "Correct the counts and compute again."
            )

    @property
    def rest(self) -> int:
        """The number of actions without an inspection."""
        return self.population - self.drawn


@dataclass(frozen=True, slots=True)
class KnownItems:
    """Decisions on items with a known answer: `caught` of `misaligned` items, and `alarms` among `aligned` items."""

    misaligned: int = 0
    caught: int = 0
    aligned: int = 0
    alarms: int = 0


@dataclass(frozen=True, slots=True)
class ReviewerError:
    """Limits of the reviewers' error rates (0 to 1), all of which hold with probability 1 - `spent`.

    `sensitivity` is the least share of misaligned actions that reviewers call misaligned; `alarms_low` and
    `alarms_high` enclose the share of aligned actions that they call misaligned.
    """

    sensitivity: float = 1.0
    alarms_low: float = 0.0
    alarms_high: float = 0.0
    spent: float = 0.0

    @property
    def is_none(self) -> bool:
        """Whether every decision is assumed to be correct."""
        return self.sensitivity == 1.0 and self.alarms_high == 0.0


NO_ERROR = ReviewerError()


def measure_error(known: KnownItems | None, level: float = LEVEL) -> ReviewerError:
    """Return limits of the error rates (Clopper and Pearson 1934); without known items, assume correct decisions.

    Half of the probability is spent on the sensitivity, which widens the bound most.
    """
    if known is None:
        return NO_ERROR
    spent = (1 - level) * _OF_ERRORS
    return ReviewerError(
        sensitivity=proportion_at_least(known.caught, known.misaligned, spent / 2),
        alarms_low=proportion_at_least(known.alarms, known.aligned, spent / 4),
        alarms_high=1 - proportion_at_least(known.aligned - known.alarms, known.aligned, spent / 4),
        spent=spent,
    )


def proportion_at_least(successes: int, n: int, alpha: float) -> float:
    """Compute the lower confidence limit of a proportion, with error probability alpha; return 0 without successes."""
    return float(special.betaincinv(successes, n - successes + 1, alpha)) if successes else 0.0


@dataclass(frozen=True, slots=True)
class Bound:
    """At most `misaligned` of the `rest` actions without an inspection, with probability `level`."""

    misaligned: int
    rest: int
    level: float

    @property
    def share(self) -> float:
        """The bound as a share of the rest (0 to 1); return 0 if everything was inspected."""
        return self.misaligned / self.rest if self.rest else 0.0


def bound_rest(audits: Audits, level: float = LEVEL, error: ReviewerError = NO_ERROR) -> Bound:
    """Compute the exact bound for one look, planned before the audits (the hypergeometric distribution, inverted).

    The reviewers' errors are independent of each other, and their limits hold for the audits too.
    """
    alpha = 1 - level - error.spent
    counts = LabelCounts(audits.population, audits.drawn, error.sensitivity, error.alarms_low)
    return _to_rest(
        audits, _largest(audits, lambda total: counts.at_most(audits.labelled, total) > alpha), level, error
    )


def bound_rest_always(audits: Audits, level: float = LEVEL, error: ReviewerError = NO_ERROR) -> Bound:
    """Compute the bound that holds at every look, whatever the rule for the last look."""
    total = _largest(audits, lambda total: is_possible_always(audits, total, level, error))
    return _to_rest(audits, total, level, error)


def is_possible_always(audits: Audits, total: int, level: float = LEVEL, error: ReviewerError = NO_ERROR) -> bool:
    """Return whether the confidence sequence still contains `total` misaligned actions of the population.

    The sequence is the prior-posterior-ratio sequence of Waudby-Smith and Ramdas (2020, arXiv:2006.04347), section 2,
    on its upper side. A total is left out only if its expected label count exceeds the observed count by two. From
    there on, higher error rates and higher totals make the observed count less likely.
    """
    k, n = audits.labelled, audits.drawn
    counts = LabelCounts(audits.population, n, error.sensitivity, error.alarms_low)
    if counts.expected(total) < k + 2:
        return True
    chance = counts.log_exactly(k, np.array([total]))[0]
    return bool(chance > np.log(1 - level - error.spent) + _log_predicted(k, n))


def _log_predicted(k: int, n: int, prior: tuple[float, float] = _PRIOR) -> float:
    """Return the logarithm of the prior probability of `k` labels among `n` audits."""
    a, b = prior
    return float(special.betaln(a + k, b + n - k) - special.betaln(a, b) + _log_choose(n, k))


def bound_rest_assisted(low: Audits, high: Audits, level: float = LEVEL, error: ReviewerError = NO_ERROR) -> Bound:
    """Compute the bound for one look with scores: `low` and `high` are the audits of actions with low and high scores.

    The division of actions into strata must not depend on the audits' labels; each stratum may have a probability of
    its own. The bound is the least upper limit that keeps the order of `_order_outcomes` (Buehler 1957): a total is
    possible if some division of the total among the strata makes an outcome of this order or lower likely enough.
    """
    order = _order_outcomes(low, high, level)
    is_as_low = order <= order[low.labelled, high.labelled] + 1e-9
    rates = error.sensitivity, error.alarms_low
    first, second = (
        LabelCounts(one.population, one.drawn, *rates).table(np.arange(one.population + 1)) for one in (low, high)
    )
    chance = first @ is_as_low
    both = _join(low, high)

    def is_possible(total: int) -> bool:
        least, most = max(0, total - high.population), min(low.population, total)
        theirs = second[total - most : total - least + 1][::-1]
        return bool((chance[least : most + 1] * theirs).sum(axis=1).max() > 1 - level - error.spent)

    return _to_rest(both, _largest(both, is_possible), level, error)


def _join(low: Audits, high: Audits) -> Audits:
    return Audits(low.population + high.population, low.drawn + high.drawn, low.labelled + high.labelled)


def _order_outcomes(low: Audits, high: Audits, level: float) -> Floats:
    """Return an approximate upper limit of the total for each pair of label counts; callers use only its order.

    The limit is a quantile of the sum of two beta-binomial counts (Jeffreys' prior), by a beta distribution with equal
    moments. The limit never falls as a count rises, so that higher totals make low outcomes less likely.
    """
    counts = np.arange(low.drawn + 1.0)[:, None], np.arange(high.drawn + 1.0)[None, :]
    rest = max(low.rest + high.rest, 1)
    mean: Floats = np.zeros((low.drawn + 1, high.drawn + 1))
    variance = mean
    for stratum, k in zip((low, high), counts, strict=True):
        size = stratum.drawn + 2 * _JEFFREYS
        share, part = (k + _JEFFREYS) / size, stratum.rest / rest
        spread = 1 / (size + 1) + (1 - 1 / (size + 1)) / max(stratum.rest, 1)
        mean, variance = mean + part * share, variance + part**2 * share * (1 - share) * spread
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = mean * (1 - mean) / variance - 1
        limit = np.where(variance > 0, special.betaincinv(mean * weight, (1 - mean) * weight, level), 0.0)
    found: Floats = np.maximum.accumulate(np.maximum.accumulate(limit * rest + counts[0] + counts[1], 0), 1)
    return found


def bound_rest_always_assisted(
    low: Audits, high: Audits, level: float = LEVEL, error: ReviewerError = NO_ERROR
) -> Bound:
    """Compute the bound for every look with scores; the stratum of the next audit may depend on the labels.

    The product of both strata's confidence sequences is a confidence sequence too, for any order of the draws.
    """
    most = -np.log(1 - level - error.spent)
    first, second = _evidence(low, error, _PRIOR), _evidence(high, error, _PRIOR_HIGH)
    # For each total of the low stratum, the largest total of the high one that the evidence still allows.
    least_above = np.minimum.accumulate(second[::-1])[::-1]
    largest = np.searchsorted(least_above, most - first, side="left") - 1
    totals = np.arange(first.size) + largest
    return _to_rest(_join(low, high), int(totals[largest >= 0].max(initial=0)), level, error)


def _evidence(audits: Audits, error: ReviewerError, prior: tuple[float, float]) -> Floats:
    """Return the logarithm of the evidence against each total of a stratum (see `is_possible_always`).

    If reviewers err, a total counts as certain to give the observed count unless the total makes that count too low.
    """
    k, n = audits.labelled, audits.drawn
    counts = LabelCounts(audits.population, n, error.sensitivity, error.alarms_low)
    totals = np.arange(audits.population + 1)
    chance = counts.log_exactly(k, totals)
    if not error.is_none:
        chance[counts.expected(totals) < k + 2] = 0.0
    return _log_predicted(k, n, prior) - chance


class LabelCounts:
    """The distribution of the number of audits called misaligned, given the total number of misaligned actions."""

    def __init__(self, population: int, drawn: int, sensitivity: float = 1.0, alarms: float = 0.0) -> None:
        self._population, self._drawn, self._rates = population, drawn, (sensitivity, alarms)

    def expected(self, total: Any) -> Any:
        """Return the mean of the label count if `total` actions (a number or an array) are misaligned."""
        sensitivity, alarms = self._rates
        return self._drawn * (alarms + (sensitivity - alarms) * total / max(self._population, 1))

    def at_most(self, count: int, total: int) -> float:
        """Return the probability of at most `count` labels if `total` actions of the population are misaligned."""
        return float(self.table(np.array([total]))[0, : count + 1].sum())

    def log_exactly(self, count: int, totals: NDArray[np.int64]) -> Floats:
        """Return the logarithm of the probability of exactly `count` labels for each total."""
        if self._rates == (1.0, 0.0):
            return _log_hypergeometric(np.array([count]), self._drawn, totals, self._population)[:, 0]
        with np.errstate(divide="ignore"):
            found: Floats = np.log(self.table(totals)[:, count])
        return found

    def table(self, totals: NDArray[np.int64]) -> Floats:
        """Return the probabilities of 0 to `drawn` labels, one row per total."""
        log_p = _log_hypergeometric(np.arange(self._drawn + 1), self._drawn, totals, self._population)
        found: Floats = np.exp(log_p)
        return found if self._rates == (1.0, 0.0) else found @ self._labels

    @cached_property
    def _labels(self) -> Floats:
        return _label_matrix(self._drawn, *self._rates)


@lru_cache(maxsize=64)
def _label_matrix(drawn: int, sensitivity: float, alarms: float) -> Floats:
    """Return the probabilities of each label count (columns) by the true count of misaligned audits (rows)."""
    found = np.zeros((drawn + 1, drawn + 1))
    for true in range(drawn + 1):
        found[true] = np.convolve(_binomial(true, sensitivity), _binomial(drawn - true, alarms))
    return found


def _binomial(n: int, p: float) -> Floats:
    k = np.arange(n + 1)
    log_p = _log_choose(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p)
    found: Floats = np.exp(log_p)
    return found


def _log_choose(n: NDArray[np.int64] | int, k: NDArray[np.int64] | int) -> Floats:
    """Return the logarithm of the binomial coefficient, -inf outside 0 <= k <= n."""
    given, chosen = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    inside = (chosen >= 0) & (chosen <= given)
    chosen = np.where(inside, chosen, 0.0)
    given = np.maximum(given, 0.0)
    value = special.gammaln(given + 1) - special.gammaln(chosen + 1) - special.gammaln(np.abs(given - chosen) + 1)
    return np.where(inside, value, -np.inf)


def _log_hypergeometric(counts: NDArray[np.int64], drawn: int, totals: NDArray[np.int64], population: int) -> Floats:
    """Return log probabilities of the counts (columns) for each total of misaligned actions (rows)."""
    total = totals[:, None]
    others = _log_choose(population - total, drawn - counts)
    found: Floats = _log_choose(total, counts) + others - _log_choose(population, drawn)
    return found


def _largest(audits: Audits, is_possible: Callable[[int], bool]) -> int:
    """Return the largest possible total of misaligned actions; each smaller total is possible, too."""
    low, high = 0, audits.population
    while low < high:
        middle = (low + high + 1) // 2
        if is_possible(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _to_rest(audits: Audits, total: int, level: float, error: ReviewerError) -> Bound:
    """Return the bound for the rest: if decisions are correct, the misaligned audits do not belong to the rest."""
    found = total - audits.labelled if error.is_none else total
    return Bound(min(max(found, 0), audits.rest), audits.rest, level)


def count_needed_audits(population: int, share: float, level: float = LEVEL) -> int | None:
    """Return the fewest audits that bound the rest by the share if all are aligned, or None for a full review."""
    drawn = np.arange(population)
    # The fewest misaligned actions that the bound has to exclude; for rounding, see `runs.share_of`.
    excluded = np.floor(np.round(share * (population - drawn), 9)).astype(np.int64) + 1
    clean = _log_choose(population - excluded, drawn) - _log_choose(population, drawn)
    enough = np.flatnonzero((clean <= np.log(1 - level)) & (excluded <= population - drawn))
    return int(enough[0]) if enough.size else None


def split_scores(scores: Floats) -> float | None:
    """Return the score above which an action belongs to the stratum of high scores, None if all scores are equal.

    The cut minimises the variance of scores within the strata (Otsu 1979) and does not depend on labels.
    """
    values, counts = np.unique(scores, return_counts=True)
    if len(values) < 2:
        return None
    below, summed = np.cumsum(counts)[:-1], np.cumsum(counts * values)[:-1]
    n, whole = counts.sum(), float((counts * values).sum())
    between = (whole * below - n * summed) ** 2 / (below * (n - below))
    return float(values[int(np.argmax(between))])
