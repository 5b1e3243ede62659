"""A reviewer's capacity: rates by time and load, and the value of the next inspection."""

import numpy as np
import pytest
from scipy import special

from console.analysis.statistics.capacity import LEAST, KnownDecisions, estimate_capacity, fit_logistic


def decisions(draw, n, hits, alarms, hours=3.0):
    """n known items over the hours, half of them misaligned; the rates are functions of the hours."""
    at, bad = draw.uniform(0, hours, n), np.arange(n) % 2 == 0
    rates = np.where(bad, hits(at), alarms(at))
    return KnownDecisions(at, draw.uniform(10, 30, n), bad, draw.random(n) < rates)


def tires(at):
    return special.expit(2.5 - 2.5 * at)


def errs(at):
    return special.expit(-3 + 2.5 * at)


@pytest.mark.parametrize(("k", "n"), [(0, 12), (5, 20), (20, 20)])
def test_firths_penalty_adds_half_a_decision_to_each_outcome(k, n):
    found = fit_logistic(np.zeros((n, 2)), np.arange(n) < k)
    assert found.rate(np.zeros(2), 0.95)[0] == pytest.approx((k + 0.5) / (n + 1), abs=1e-6)


def test_separated_data_have_a_finite_slope():
    """With separated data the slope is finite, and swapping the labels swaps its sign."""
    x, y = np.column_stack([np.arange(10.0), np.zeros(10)]), np.arange(10) >= 5
    up, down = fit_logistic(x, y), fit_logistic(x, ~y)
    assert 0.3 < up.beta[1] < 5
    assert up.beta[1] == pytest.approx(-down.beta[1], abs=1e-6)


def test_too_few_known_items_are_inconclusive():
    known = decisions(np.random.default_rng(1), 2 * LEAST - 2, tires, errs)
    found = estimate_capacity(known, 5, 50, 1.0, 20)
    assert (found.verdict, found.now.value, found.lowers_from_h) == ("cannot tell", None, None)
    assert f"{LEAST} of each" in found.note


def test_a_tired_reviewer_raises_safety_early_and_lowers_it_late():
    known = decisions(np.random.default_rng(2), 300, tires, errs)
    early, late = (estimate_capacity(known, 80, 200, hours, 20) for hours in (0.2, 2.9))
    assert (early.verdict, late.verdict) == ("raises", "lowers")
    assert 0.5 < early.lowers_from_h == late.lowers_from_h < 2.9
    assert early.hits["hours"].interval.high < 0 < early.alarms["hours"].interval.low


def test_a_time_beyond_the_known_items_is_inconclusive():
    known = decisions(np.random.default_rng(3), 300, tires, errs, hours=1.0)
    assert estimate_capacity(known, 40, 200, 2.0, 20).verdict == "cannot tell"


@pytest.mark.at_length
def test_the_interval_of_the_value_holds():
    """In 300 simulated reviewers, the interval contains the true value in at least 93%."""
    held, p = 0, 0.2
    for seed in range(300):
        draw = np.random.default_rng([4, seed])
        known = decisions(draw, 80, lambda at: special.expit(2 - at), lambda at: special.expit(-2 + 0.3 * at))
        found = estimate_capacity(known, int(draw.binomial(200, p)), 200, 1.5, 20)
        true = p * special.expit(0.5) - (1 - p) * special.expit(-1.55)
        held += found.now.interval.low <= true <= found.now.interval.high
    assert held / 300 >= 0.93


def test_without_tiredness_hardly_any_reviewer_is_stopped():
    stopped = 0
    for seed in range(100):
        draw = np.random.default_rng([5, seed])
        known = decisions(draw, 60, lambda at: 0.8 + 0 * at, lambda at: 0.1 + 0 * at)
        stopped += estimate_capacity(known, 40, 200, 2.0, 20).verdict == "lowers"
    assert stopped <= 2
