"""A reviewer's capacity: how the rates of hits and false alarms change with time on task and load.

Both rates follow a logistic regression with Firth's penalty (1993) and a normal prior of standard deviation 2.5 on the
slopes, whose covariates are divided by two standard deviations (Gelman et al. 2008). Rates are thus defined for few and
for perfect decisions. The value of an inspection is p h - (1 - p) f, where p is the share of misaligned actions, h the
rate of hits and f the rate of false alarms. If it is negative, the next inspection is expected to stop aligned actions
more often than misaligned ones.

Sensitivity and criterion come from items with a known answer. The signal is a misaligned action and the response a
decision that calls it misaligned. Half a case is added to each count (log-linear, Hautus 1995), so that perfect rates
are defined. The variance is that of Gourevitch and Galanter (1967).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from console.analysis.metrics.bootstrap import LEVEL, Interval
from console.analysis.statistics.estimates import Estimate, undefined_estimate
from console.analysis.statistics.uninspected import proportion_at_least

Floats = NDArray[np.float64]

LEAST = 10
"""The fewest known items of each kind from which rates are estimated."""
STEP_H = 1 / 6
"""The distance in hours between two moments for which a value is computed."""
BEYOND_H = 0.75
"""The hours beyond the last known item for which a value is still computed."""
_SLOPE_SD = 2.5
_ROUNDS, _LARGEST_STEP, _CLOSE = 100, 2.0, 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class KnownDecisions:
    """Decisions of one reviewer on items with a known answer, with time on task (h) and load (decisions per hour)."""

    hours: Floats
    load: Floats
    misaligned: NDArray[np.bool_]
    called: NDArray[np.bool_]

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of misaligned and of aligned items; rates are estimated from LEAST of each."""
        return int(self.misaligned.sum()), int((~self.misaligned).sum())


@dataclass(frozen=True, slots=True)
class Logistic:
    """A fitted logistic regression: coefficients and their covariance, and the centre and scale of the covariates."""

    beta: Floats
    covariance: Floats
    centre: Floats
    scale: Floats

    def effect(self, place: int) -> Estimate:
        """Return the change of log odds per unit of the covariate, with a Wald interval."""
        half = float(special.ndtri((1 + LEVEL) / 2)) * float(self.covariance[place + 1, place + 1]) ** 0.5
        value, half = (float(one / self.scale[place]) for one in (self.beta[place + 1], half))
        return Estimate(value, Interval(value - half, value + half))

    def rate(self, at: Floats, level: float) -> tuple[float, float, float]:
        """Return the rate at these covariates and its limits."""
        row = np.concatenate([[1.0], (at - self.centre) / self.scale])
        middle, half = float(row @ self.beta), float(row @ self.covariance @ row) ** 0.5
        half *= float(special.ndtri((1 + level) / 2))
        low, value, high = (float(special.expit(one)) for one in (middle - half, middle, middle + half))
        return value, low, high


def fit_logistic(covariates: Floats, outcome: NDArray[np.bool_]) -> Logistic:
    """Fit the penalised logistic regression by Newton steps of limited length."""
    centre: Floats = covariates.mean(axis=0)
    scale: Floats = np.where(np.ptp(covariates, axis=0) > 0, 2 * covariates.std(axis=0), 1.0)
    x = np.column_stack([np.ones(len(outcome)), (covariates - centre) / scale])
    y, beta = outcome.astype(float), np.zeros(x.shape[1])
    prior = np.diag([0.0, *[_SLOPE_SD**-2] * covariates.shape[1]])
    for _ in range(_ROUNDS):
        rates = special.expit(x @ beta)
        weights = rates * (1 - rates)
        inverse = np.linalg.pinv(x.T @ (weights[:, None] * x) + prior)
        leverage = weights * np.einsum("ij,jk,ik->i", x, inverse, x)
        step = inverse @ (x.T @ (y - rates + leverage * (0.5 - rates)) - prior @ beta)
        step *= min(1.0, _LARGEST_STEP / max(float(np.abs(step).max()), _CLOSE))
        beta = beta + step
        if float(np.abs(step).max()) < _CLOSE:
            break
    return Logistic(beta, inverse, centre, scale)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The effects of time and load on a reviewer's decisions, and the value of inspections by time on task.

    `hits` and `alarms` map `hours` and `load` to the change of log odds per hour, and per ten decisions more an hour.
    `lowers_from_h` is the time on task from which an inspection is expected to lower safety; None if no such time was
    found. `note` says why figures are missing.
    """

    hits: dict[str, Estimate]
    alarms: dict[str, Estimate]
    now: Estimate
    lowers_from_h: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """The effect of the next inspection on safety: raises, lowers, or cannot tell."""
        low, high = self.now.bounds
        if low is None or high is None or low <= 0 <= high:
            return "cannot tell"
        return "raises" if low > 0 else "lowers"


def estimate_capacity(known: KnownDecisions, called: int, decided: int, hours: float, load: float) -> Capacity:
    """Return the reviewer's capacity at this time on task and load.

    `called` of the run's `decided` decisions have the label misaligned. Three intervals at 98.3% give the 95% interval
    of the value (Bonferroni). The value is None for times far beyond the known items.
    """
    counts = known.counts
    if min(counts) < LEAST:
        found = f"Known answers of decided items: {counts[0]} misaligned, {counts[1]} aligned"
        note = f"{found}. At least {LEAST} of each are needed."
        return Capacity({}, {}, undefined_estimate(note), note=note)
    covariates = np.column_stack([known.hours, known.load / 10])
    fits = [fit_logistic(covariates[part], known.called[part]) for part in (known.misaligned, ~known.misaligned)]
    effects = [{name: fit.effect(at) for at, name in enumerate(("hours", "load"))} for fit in fits]
    level = 1 - (1 - LEVEL) / 3
    tail = (1 - level) / 2
    share = (
        called / max(decided, 1),
        proportion_at_least(called, decided, tail),
        1 - proportion_at_least(decided - called, decided, tail),
    )

    def value(at_h: float) -> Estimate:
        at = np.array([at_h, load / 10])
        hit, alarm = (fit.rate(at, level) for fit in fits)
        middle = share[0] * hit[0] - (1 - share[0]) * alarm[0]
        low = min(p * hit[1] - (1 - p) * alarm[2] for p in share[1:])
        high = max(p * hit[2] - (1 - p) * alarm[1] for p in share[1:])
        return Estimate(middle, Interval(low, high), n=sum(counts))

    last = float(known.hours.max())
    limit = None
    for at_h in np.arange(0.0, last + STEP_H / 2, STEP_H)[::-1]:
        if value(float(at_h)).bounds[1] >= 0:  # type: ignore[operator]
            break
        limit = float(at_h)
    if hours > last + BEYOND_H:
        note = f"Known items were decided up to hour {last:.1f} of work only."
        return Capacity(effects[0], effects[1], undefined_estimate(note), limit, note)
    return Capacity(effects[0], effects[1], value(hours), limit)


@dataclass(frozen=True, slots=True)
class Signals:
    """Decisions on items with a known answer: `hits` of `misaligned` items, and `alarms` among `aligned` items."""

    misaligned: int
    hits: int
    aligned: int
    alarms: int

    @property
    def items(self) -> int:
        """The number of decided items."""
        return self.misaligned + self.aligned


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The d' and the criterion with their limits; a positive criterion means that the reviewer tends to approve."""

    d_prime: float
    d_prime_low: float
    d_prime_high: float
    criterion: float
    criterion_low: float
    criterion_high: float


def estimate_sensitivity(signals: Signals) -> Sensitivity | None:
    """Return d' and criterion with 95% intervals, or None without items of both kinds."""
    if not signals.misaligned or not signals.aligned:
        return None
    scores, variances = [], []
    for count, n in ((signals.hits, signals.misaligned), (signals.alarms, signals.aligned)):
        rate = (count + 0.5) / (n + 1)
        score = float(special.ndtri(rate))
        density = np.exp(-(score**2) / 2) / np.sqrt(2 * np.pi)
        scores.append(score)
        variances.append(float(rate * (1 - rate) / ((n + 1) * density**2)))
    half = float(special.ndtri(0.975)) * sum(variances) ** 0.5
    d_prime, criterion = scores[0] - scores[1], -(scores[0] + scores[1]) / 2
    return Sensitivity(d_prime, d_prime - half, d_prime + half, criterion, criterion - half / 2, criterion + half / 2)
