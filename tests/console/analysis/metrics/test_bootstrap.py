import numpy as np
import pytest

from console.analysis.metrics import bootstrap
from console.analysis.metrics.classification import Confusion, macro_f1
from console.analysis.metrics.ranking_curves import average_precision, ranking, roc_auc

LABELS = np.random.default_rng(1).random(300) < 0.4
SCORES = np.clip(LABELS * 0.3 + np.random.default_rng(2).random(300) * 0.7, 0, 1)


def ap(labels, scores):
    return average_precision(ranking(labels, scores))


def area(labels, scores):
    return roc_auc(ranking(labels, scores))


def test_the_interval_holds_the_figure_and_is_the_same_for_the_same_seed():
    first = bootstrap.of_scores(LABELS, SCORES, ap, seed=5, resamples=300)
    assert first.low < ap(LABELS, SCORES) < first.high
    assert first == bootstrap.of_scores(LABELS, SCORES, ap, seed=5, resamples=300)
    assert first != bootstrap.of_scores(LABELS, SCORES, ap, seed=6, resamples=300)


def test_the_interval_of_a_mean_has_the_width_of_the_normal_one():
    values = np.random.default_rng(3).normal(10, 2, 400)
    found = bootstrap.of_mean(values, resamples=1_000)
    half = 1.96 * values.std() / 20
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.04)


def test_the_interval_of_a_confusion_matrix_shrinks_with_more_cases():
    few = bootstrap.of_confusion(Confusion(20, 10, 10, 60), macro_f1, resamples=400)
    many = bootstrap.of_confusion(Confusion(2_000, 1_000, 1_000, 6_000), macro_f1, resamples=400)
    assert many.high - many.low < (few.high - few.low) / 5


def test_undefined_figures_give_no_interval():
    assert bootstrap.of_scores([], [], ap) is None
    assert bootstrap.of_mean([]) is None
    assert bootstrap.of_confusion(Confusion(0, 0, 0, 0), macro_f1) is None
    assert (
        bootstrap.of_scores([True], [0.5], lambda labels, scores: roc_auc(ranking(labels, scores)), resamples=5) is None
    )
