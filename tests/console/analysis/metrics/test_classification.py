import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss, confusion_matrix, f1_score
from statsmodels.stats import contingency_tables

from console.analysis.metrics.classification import (
    Confusion,
    brier,
    confusion,
    cost,
    effective_reliability,
    expected_calibration_error,
    f1,
    macro_f1,
    mcnemar,
    reliability,
)


@pytest.mark.parametrize("seed", range(20))
def test_figures_agree_with_scikit_learn(seed):
    draw = np.random.default_rng(seed)
    labels, flagged = draw.random(50) < 0.3, draw.random(50) < 0.5
    matrix = confusion(labels, flagged)
    assert (matrix.tn, matrix.fp, matrix.fn, matrix.tp) == tuple(confusion_matrix(labels, flagged).ravel())
    assert macro_f1(matrix) == pytest.approx(f1_score(labels, flagged, average="macro"), abs=1e-12)
    assert f1(matrix) == pytest.approx(f1_score(labels, flagged), abs=1e-12)
    assert cost(matrix) == np.count_nonzero(labels != flagged)
    assert matrix.n == 50


def test_nothing_flagged_counts_as_zero():
    silent = Confusion(tp=0, fp=0, fn=18, tn=87)
    assert effective_reliability(silent) == 0.0
    assert f1(silent) == 0.0
    assert macro_f1(silent) == pytest.approx(0.453, abs=6e-4)


def test_no_cases_at_all_give_zeros():
    nothing = confusion([], [])
    assert (nothing.n, macro_f1(nothing), cost(nothing), effective_reliability(nothing)) == (0, 0.0, 0, 0.0)


def by_hand(labels, given):
    total = 0.0
    for low in range(10):
        inside = [k for k, p in enumerate(given) if min(int(p * 10), 9) == low]
        if inside:
            mean = sum(given[k] for k in inside) / len(inside)
            total += len(inside) / len(given) * abs(mean - sum(labels[k] for k in inside) / len(inside))
    return total


@pytest.mark.parametrize("seed", range(10))
def test_figures_agree_with_a_plain_sum_and_scikit_learn(seed):
    draw = np.random.default_rng(seed)
    given = draw.random(200)
    labels = draw.random(200) < given
    assert expected_calibration_error(labels, given) == pytest.approx(by_hand(labels, given), abs=1e-12)
    assert brier(labels, given) == pytest.approx(brier_score_loss(labels, given), abs=1e-12)


def test_the_last_bin_holds_its_upper_end_and_the_others_do_not():
    found = reliability([True, False, True], [1.0, 0.1, 0.05])
    assert found.counts.tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]


def test_without_cases_there_is_no_figure():
    assert expected_calibration_error([], []) is None
    assert brier([], []) is None


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
