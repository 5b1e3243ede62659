import numpy as np
import pytest
from scipy.stats import binomtest

from console.analysis.metrics.classification import confusion, macro_f1
from console.analysis.metrics.comparison import mcnemar, paired_difference


def figure(labels, flagged):
    return macro_f1(confusion(labels, flagged))


def test_mcnemar_is_the_exact_binomial_test_of_the_disagreements():
    labels = np.ones(40, dtype=bool)
    first, second = np.arange(40) < 30, np.arange(40) >= 25
    found = mcnemar(labels, first, second)
    assert (found.only_first, found.only_second) == (25, 10)
    assert found.p_value == pytest.approx(binomtest(10, 35).pvalue)


def test_mcnemar_of_many_disagreements_is_close_to_the_exact_one():
    labels = np.ones(4_000, dtype=bool)
    first = np.arange(4_000) < 2_070
    assert mcnemar(labels, first, ~first).p_value == pytest.approx(binomtest(1_930, 4_000).pvalue, rel=0.02)


def test_equal_detectors_do_not_differ():
    labels = np.random.default_rng(1).random(100) < 0.5
    assert mcnemar(labels, labels, labels).p_value == 1.0
    same = paired_difference(labels, labels, labels, figure, resamples=50)
    assert (same.value, same.interval.low, same.interval.high, same.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_a_clearly_better_detector_has_an_interval_above_zero():
    draw = np.random.default_rng(2)
    labels = draw.random(300) < 0.5
    better, worse = labels ^ (draw.random(300) < 0.05), labels ^ (draw.random(300) < 0.4)
    found = paired_difference(labels, better, worse, figure, resamples=300)
    assert 0 < found.interval.low < found.value < found.interval.high
    assert found.p_value < 0.01


def test_an_undefined_figure_has_no_difference():
    assert paired_difference([True], [True], [True], lambda labels, flagged: None) is None
