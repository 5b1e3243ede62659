"""Figures with their intervals, against the libraries whose formulas they are."""

import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from console.analysis.statistics.estimates import estimate_by_t, estimate_proportion


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 20), (7, 20), (20, 20), (12_345, 100_480)])
def test_the_interval_of_a_share_is_wilsons(successes, n):
    found = estimate_proportion(successes, n)
    low, high = proportion_confint(successes, n, method="wilson")
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=1e-12)
    assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1


@pytest.mark.parametrize("df", [1, 3, 39.4])
def test_the_interval_and_the_test_of_a_mean_are_those_of_t(df):
    found = estimate_by_t(-0.3, 0.12, df, 5)
    assert found.interval.high - found.value == pytest.approx(0.12 * stats.t.ppf(0.975, df), rel=1e-12)
    assert found.p_value == pytest.approx(2 * stats.t.sf(2.5, df), rel=1e-12)
