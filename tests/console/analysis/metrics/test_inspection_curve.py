"""What inspections catch: by order, by chance, at best."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.analysis.metrics.ranking_curves import (
    chance_interval,
    count_by_chance,
    count_caught,
    normalised_area,
    rank_cases,
    roc_auc,
    thin_places,
)

ORDERS = st.lists(st.booleans(), max_size=60)


def ideal(n, positives):
    return np.minimum(np.arange(n + 1), positives)


def test_a_small_curve_by_hand():
    curve = count_caught([True, False, True, False])
    assert curve.tolist() == [0, 1, 1, 2, 2]
    assert normalised_area(curve, 2) == pytest.approx(0.5)
    assert count_by_chance(4, 2, [0, 2, 4]).tolist() == [0, 1, 2]


@given(ORDERS)
def test_a_curve_rises_by_at_most_one_to_all_there_is_and_never_above_the_ideal(order):
    curve = count_caught(order)
    assert curve[0] == 0
    assert curve[-1] == sum(order)
    assert set(np.diff(curve)) <= {0, 1}
    assert (curve <= ideal(len(order), sum(order))).all()


@settings(deadline=None)  # the first case loads scipy.stats
@given(ORDERS)
def test_the_interval_of_chance_holds_its_mean_and_lies_between_what_is_possible(order):
    n, positives = len(order), sum(order)
    at = np.arange(n + 1)
    mean, (low, high) = count_by_chance(n, positives, at), chance_interval(n, positives, at)
    assert (low <= np.ceil(mean)).all()
    assert (high >= np.floor(mean)).all()
    assert (high <= ideal(n, positives)).all()
    assert (low >= np.maximum(0, at - (n - positives))).all()


@pytest.mark.parametrize(("n", "positives"), [(20, 6), (50, 25), (9, 1)])
def test_chance_is_what_shuffling_finds(n, positives):
    order, generator = np.arange(n) < positives, np.random.default_rng(7)
    drawn = np.array([count_caught(generator.permutation(order)) for _ in range(4_000)])
    low, high = chance_interval(n, positives, np.arange(n + 1))
    assert drawn.mean(axis=0) == pytest.approx(count_by_chance(n, positives, np.arange(n + 1)), abs=0.1)
    within = (drawn >= low) & (drawn <= high)
    assert within.mean(axis=0).min() >= 0.93


@given(ORDERS.filter(lambda order: 0 < sum(order) < len(order)))
def test_the_area_is_that_of_the_roc_curve(order):
    scores = -np.arange(len(order), dtype=float)
    assert normalised_area(count_caught(order), sum(order)) == pytest.approx(2 * roc_auc(rank_cases(order, scores)) - 1)


@given(st.integers(1, 30), st.integers(1, 30))
def test_the_ideal_order_has_area_one_and_false_alarms_first_minus_one(good, bad):
    assert normalised_area(ideal(good + bad, bad), bad) == pytest.approx(1)
    assert normalised_area(count_caught([False] * good + [True] * bad), bad) == pytest.approx(-1)


@pytest.mark.parametrize("order", [[], [True, True], [False]])
def test_where_no_order_matters_there_is_no_area(order):
    assert normalised_area(count_caught(order), sum(order)) is None


def test_what_a_reviewer_overlooks_counts_against_the_area():
    assert normalised_area(count_caught([True, False, False, False]), 2) < normalised_area(
        count_caught([True, False, True, False]), 2
    )


@given(st.integers(0, 5_000), st.integers(2, 400))
def test_thinning_keeps_both_ends(n, points):
    at = thin_places(n, points)
    assert at[0] == 0
    assert at[-1] == n
    assert len(at) <= min(points, n + 1)
