"""A draw as weights gives the figures of the cases drawn, and only a sort less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.analysis.metrics import bootstrap
from console.analysis.metrics.classification import Confusion, brier, expected_calibration_error, macro_f1
from console.analysis.metrics.ranking_curves import average_precision, pr_auc, rank_cases, roc_auc

CASES = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.9, 1.0]), st.integers(0, 3)),
    min_size=1,
    max_size=30,
)


def arrays(cases):
    labels, scores, weights = (np.array(column) for column in zip(*cases, strict=True))
    return labels.astype(bool), scores.astype(float), weights.astype(np.int64)


@given(CASES)
def test_ranking_under_weights_is_the_ranking_of_the_cases_so_often(cases):
    labels, scores, weights = arrays(cases)
    under = bootstrap.Ranked(labels, scores).under(weights)
    repeated = rank_cases(np.repeat(labels, weights), np.repeat(scores, weights))
    for figure in (average_precision, roc_auc, pr_auc):
        assert figure(under) == (None if (told := figure(repeated)) is None else pytest.approx(told, abs=1e-12))


@given(CASES)
def test_calibration_under_weights_is_that_of_the_cases_so_often(cases):
    labels, scores, weights = arrays(cases)
    if not weights.sum():
        return
    found = bootstrap.calibration_figures(labels, scores)(weights)
    again, given_again = np.repeat(labels, weights), np.repeat(scores, weights)
    assert found["brier"] == pytest.approx(brier(again, given_again), abs=1e-12)
    assert found["ece"] == pytest.approx(expected_calibration_error(again, given_again), abs=1e-12)


def test_draws_where_a_figure_is_undefined_are_left_out():
    found = bootstrap.draw_figures(
        3, lambda weights: {"first": float(weights[0]) if weights[0] else None}, seed=1, resamples=50
    )
    assert 0 < found["first"].size < 50
    assert found["first"].min() >= 1


def test_many_cases_are_drawn_less_often_and_the_same_seed_draws_the_same():
    figures = lambda weights: {"first": float(weights[0])}  # noqa: E731
    assert bootstrap.draw_figures(10, figures)["first"].size == 500
    assert bootstrap.draw_figures(60_000, figures)["first"].size == 166
    assert (
        bootstrap.draw_figures(10, figures, seed=3)["first"] == bootstrap.draw_figures(10, figures, seed=3)["first"]
    ).all()
    assert bootstrap.draw_figures(0, figures) == {}


def test_the_p_value_of_a_difference_is_two_sided_and_never_nothing():
    assert bootstrap.sign_p_value(np.ones(99)) == pytest.approx(0.02)
    assert bootstrap.sign_p_value(np.array([-1.0, 1.0, 1.0])) == 1.0
    assert bootstrap.sign_p_value(np.array([])) is None
    assert bootstrap.percentile_interval(np.array([])) is None
    assert bootstrap.percentile_interval(np.arange(101.0)).low == pytest.approx(2.5)


def test_the_interval_of_a_confusion_matrix_shrinks_with_more_cases():
    few = bootstrap.estimate_confusion_interval(Confusion(20, 10, 10, 60), macro_f1, resamples=400)
    many = bootstrap.estimate_confusion_interval(Confusion(2_000, 1_000, 1_000, 6_000), macro_f1, resamples=400)
    assert many.high - many.low < (few.high - few.low) / 5


def test_the_interval_of_a_mean_has_the_width_of_the_normal_one():
    values = np.random.default_rng(3).normal(10, 2, 400)
    means = bootstrap.draw_figures(
        values.size, lambda weights: {"mean": weights @ values / values.size}, resamples=1_000
    )
    found, half = bootstrap.percentile_interval(means["mean"]), 1.96 * values.std() / 20
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.04)


def test_without_cases_there_is_no_interval():
    assert bootstrap.estimate_confusion_interval(Confusion(0, 0, 0, 0), macro_f1) is None
