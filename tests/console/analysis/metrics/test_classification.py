import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score

from console.analysis.metrics.classification import (
    Confusion,
    confusion,
    cost,
    effective_reliability,
    f1,
    macro_f1,
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
