"""A draw as weights gives the figures of the cases drawn, and only a sort less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.analysis.metrics import bootstrap
from console.analysis.metrics.calibration import brier, expected_calibration_error
from console.analysis.metrics.ranking_curves import average_precision, pr_auc, ranking, roc_auc

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
    repeated = ranking(np.repeat(labels, weights), np.repeat(scores, weights))
    for figure in (average_precision, roc_auc, pr_auc):
        assert figure(under) == (None if (told := figure(repeated)) is None else pytest.approx(told, abs=1e-12))


@given(CASES)
def test_calibration_under_weights_is_that_of_the_cases_so_often(cases):
    labels, scores, weights = arrays(cases)
    if not weights.sum():
        return
    found = bootstrap.calibration_of(labels, scores)(weights)
    again, given_again = np.repeat(labels, weights), np.repeat(scores, weights)
    assert found["brier"] == pytest.approx(brier(again, given_again), abs=1e-12)
    assert found["ece"] == pytest.approx(expected_calibration_error(again, given_again), abs=1e-12)


def test_draws_where_a_figure_is_undefined_are_left_out():
    found = bootstrap.drawn(
        3, lambda weights: {"first": float(weights[0]) if weights[0] else None}, seed=1, resamples=50
    )
    assert 0 < found["first"].size < 50
    assert found["first"].min() >= 1


def test_many_cases_are_drawn_less_often_and_the_same_seed_draws_the_same():
    figures = lambda weights: {"first": float(weights[0])}  # noqa: E731
    assert bootstrap.drawn(10, figures)["first"].size == 500
    assert bootstrap.drawn(60_000, figures)["first"].size == 166
    assert (bootstrap.drawn(10, figures, seed=3)["first"] == bootstrap.drawn(10, figures, seed=3)["first"]).all()
    assert bootstrap.drawn(0, figures) == {}


def test_the_p_value_of_a_difference_is_two_sided_and_never_nothing():
    assert bootstrap.sign_p_value(np.ones(99)) == pytest.approx(0.02)
    assert bootstrap.sign_p_value(np.array([-1.0, 1.0, 1.0])) == 1.0
    assert bootstrap.sign_p_value(np.array([])) is None
    assert bootstrap.interval(np.array([])) is None
    assert bootstrap.interval(np.arange(101.0)).low == pytest.approx(2.5)
