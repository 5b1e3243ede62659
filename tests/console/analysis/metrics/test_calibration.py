import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from console.analysis.metrics.classification import brier, expected_calibration_error, reliability


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
