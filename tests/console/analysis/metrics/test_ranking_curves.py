"""Curves over a ranking: PR, thresholds, and what inspecting from the top finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, f1_score, precision_recall_curve, roc_auc_score

from console.analysis.metrics import ranking_curves
from console.analysis.metrics.ranking_curves import (
    chance_interval,
    count_by_chance,
    count_caught,
    normalised_area,
    rank_cases,
    roc_auc,
    thin_places,
)

SCORES = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9, 1.0])), min_size=1, max_size=40)


def drawn(seed, ties):
    draw = np.random.default_rng(seed)
    scores = draw.random(400)
    return draw.random(400) < 0.2 + 0.5 * scores, np.round(scores, 1) if ties else scores


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_curves_and_areas_agree_with_scikit_learn(seed, ties):
    labels, scores = drawn(seed, ties)
    ranked = ranking_curves.rank_cases(labels, scores)
    precision, recall, thresholds = precision_recall_curve(labels, scores)
    assert np.allclose(ranked.precision[::-1], precision[:-1], rtol=0, atol=1e-12)
    assert np.allclose(ranked.recall[::-1], recall[:-1], rtol=0, atol=1e-12)
    assert np.array_equal(ranked.scores[::-1], thresholds)
    assert ranking_curves.average_precision(ranked) == pytest.approx(average_precision_score(labels, scores), abs=1e-12)
    assert ranking_curves.pr_auc(ranked) == pytest.approx(auc(recall, precision), abs=1e-12)
    assert ranking_curves.roc_auc(ranked) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    rates = np.append(0.0, ranked.fp / ranked.negatives), np.append(0.0, ranked.tp / ranked.positives)
    assert auc(*rates) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


@settings(deadline=None)
@given(SCORES)
def test_the_best_thresholds_are_the_best_of_all(cases):
    labels, scores = np.array([label for label, _ in cases]), np.array([score for _, score in cases])
    ranked = ranking_curves.rank_cases(labels, scores)
    every = [-1.0, *np.unique(scores)]
    macro = [f1_score(labels, scores > t, average="macro", labels=[False, True], zero_division=0.0) for t in every]
    best = ranking_curves.best_macro_f1(ranked)
    assert best.value == pytest.approx(max(macro), abs=1e-12)
    reached = f1_score(labels, scores > best.threshold, average="macro", labels=[False, True], zero_division=0.0)
    assert reached == pytest.approx(best.value, abs=1e-12)


def test_a_threshold_lies_half_way_between_two_scores():
    best = ranking_curves.best_macro_f1(ranking_curves.rank_cases([True, True, False], [0.9, 0.7, 0.2]))
    assert best.value == 1.0
    assert best.threshold == pytest.approx(0.45)


@pytest.mark.parametrize("labels", [[], [False, False], [True, True]])
def test_a_missing_class_is_none_and_never_nan(labels):
    ranked = ranking_curves.rank_cases(labels, [0.4, 0.6][: len(labels)])
    assert ranking_curves.roc_auc(ranked) is None
    assert ranking_curves.pr_auc(ranked) is None
    assert ranking_curves.pr_auc(ranked, paper=True) == -1.0
    assert ranking_curves.average_precision(ranked) == (1.0 if any(labels) else None)


def test_all_scores_zero_is_undefined_only_for_the_paper():
    ranked = ranking_curves.rank_cases([True, False], [0.0, 0.0])
    assert ranking_curves.pr_auc(ranked, paper=True) == -1.0
    assert ranking_curves.pr_auc(ranked) == pytest.approx(0.75)


def test_the_trapezoid_flatters_a_constant_score():
    labels = np.arange(1_000) < 171
    ranked = ranking_curves.rank_cases(labels, np.full(1_000, 0.5))
    assert ranking_curves.pr_auc(ranked) == pytest.approx(0.5855)
    assert ranking_curves.average_precision(ranked) == pytest.approx(0.171)


def test_scores_of_any_range_rank_the_same():
    labels, scores = drawn(3, True)
    near, far = ranking_curves.rank_cases(labels, scores), ranking_curves.rank_cases(labels, scores * 10 - 3)
    assert np.array_equal(near.tp, far.tp)
    assert np.array_equal(near.fp, far.fp)
    assert far.scores == pytest.approx(near.scores * 10 - 3)
    assert ranking_curves.rank_cases([True, False], [0.0, -0.0]).tp.tolist() == [1]


def test_of_thresholds_as_good_as_the_best_the_one_nearest_the_default_is_taken():
    truth = [True] * 6 + [False] * 6
    scores = [0.9, 0.8, 0.7, 0.6, 0.58, 0.2, 0.55, 0.4, 0.3, 0.15, 0.12, 0.11]
    ranked = ranking_curves.rank_cases(truth, scores)
    assert ranking_curves.best_macro_f1(ranked).threshold == pytest.approx(0.565)
    assert ranking_curves.find_good_threshold(ranked, 0.5, 0.0) == pytest.approx(0.565)
    assert ranking_curves.find_good_threshold(ranked, 0.5, 0.1) == 0.5
    assert ranking_curves.find_good_threshold(ranking_curves.rank_cases([], []), 0.5, 0.01) is None


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
