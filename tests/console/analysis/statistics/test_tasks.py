import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from console.analysis.statistics import success_rate
from console.errors import BadInput


def of_table(both, first, second, neither):
    rows = []
    for solved, n in (((1, 1), both), ((1, 0), first), ((0, 1), second), ((0, 0), neither)):
        for _ in range(n):
            rows += [(f"t{len(rows) // 2}", name, one) for name, one in zip("ab", solved, strict=True)]
    return pd.DataFrame(rows, columns=["task_id", "condition", "solved"])


def test_mcnemar_is_the_exact_one_of_statsmodels():
    found = success_rate.compare_tasks(of_table(20, 12, 3, 15), "solved", "a", "b")
    assert (found.test.only_first, found.test.only_second, found.pairs) == (12, 3, 50)
    assert found.test.p_value == pytest.approx(mcnemar([[20, 12], [3, 15]], exact=True).pvalue)
    assert found.difference.value == pytest.approx(9 / 50)


def test_the_interval_is_that_of_bonett_and_price_computed_by_hand():
    found = success_rate.compare_tasks(of_table(59, 6, 16, 80), "solved", "a", "b")
    ours, theirs = 7 / 163, 17 / 163
    half = 1.959964 * ((ours + theirs - (ours - theirs) ** 2) / 163) ** 0.5
    assert found.difference.value == pytest.approx(-10 / 161)
    assert (found.difference.interval.low, found.difference.interval.high) == pytest.approx(
        (ours - theirs - half, ours - theirs + half)
    )


def test_where_every_task_is_tied_it_says_so():
    rows = [("t", "a", 1), ("t", "a", 0), ("t", "b", 1)]
    found = success_rate.compare_tasks(
        pd.DataFrame(rows, columns=["task_id", "condition", "solved"]), "solved", "a", "b"
    )
    assert (found.pairs, found.tied, found.difference.value) == (0, 1, None)
    assert "tied" in found.difference.note


def test_a_task_of_several_participants_goes_with_most_of_them():
    rows = [("t", "a", 1), ("t", "a", 1), ("t", "a", 0), ("t", "b", 0), ("u", "a", 1), ("u", "b", 1), ("u", "b", 0)]
    found = success_rate.compare_tasks(
        pd.DataFrame(rows, columns=["task_id", "condition", "solved"]), "solved", "a", "b"
    )
    assert (found.pairs, found.tied, found.test.only_first) == (1, 1, 1)


def test_no_common_task_is_said_and_a_missing_column_named():
    rows = of_table(1, 1, 1, 1)
    found = success_rate.compare_tasks(rows, "solved", "a", "z")
    assert found.difference.value is None
    assert "both conditions" in found.difference.note
    with pytest.raises(BadInput, match="no column 'right'"):
        success_rate.compare_tasks(rows, "right", "a", "b")
