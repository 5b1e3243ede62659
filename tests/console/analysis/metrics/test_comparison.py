import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats import contingency_tables

from console.analysis.metrics.classification import mcnemar


def test_mcnemar_is_the_exact_binomial_test_of_the_disagreements():
    labels = np.ones(40, dtype=bool)
    first, second = np.arange(40) < 30, np.arange(40) >= 25
    found = mcnemar(labels, first, second)
    assert (found.only_first, found.only_second) == (25, 10)
    assert found.p_value == pytest.approx(binomtest(10, 35).pvalue, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 120, 1_000])
def test_mcnemar_is_that_of_statsmodels_at_every_number_of_disagreements(n):
    for ours in {0, 1, n // 3, n // 2, n}:
        labels, first = np.ones(n, dtype=bool), np.arange(n) < ours
        exact = contingency_tables.mcnemar([[0, ours], [n - ours, 0]], exact=True)
        assert mcnemar(labels, first, ~first).p_value == pytest.approx(exact.pvalue, abs=1e-12)


def test_mcnemar_of_many_disagreements_is_close_to_the_exact_one():
    labels = np.ones(4_000, dtype=bool)
    first = np.arange(4_000) < 2_070
    found = mcnemar(labels, first, ~first).p_value
    assert found == pytest.approx(binomtest(1_930, 4_000).pvalue, rel=0.02)
    corrected = contingency_tables.mcnemar([[0, 2_070], [1_930, 0]], exact=False, correction=True)
    assert found == pytest.approx(corrected.pvalue, abs=1e-12)


def test_equal_detectors_do_not_differ():
    labels = np.random.default_rng(1).random(100) < 0.5
    assert mcnemar(labels, labels, labels).p_value == 1.0
