import csv

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from console.analysis.statistics import success_rate
from console.errors import BadInput


def frame(solved, tasks=100, condition="verb", trial=3):
    rows = [(f"P{k:02}", condition, trial, tasks, n, n - 1) for k, n in enumerate(solved)]
    return pd.DataFrame(rows, columns=["participant", "condition", "trial", "tasks", "solved_paper", "solved_held"])


def test_mean_and_both_deviations_of_three_people_of_a_hundred_tasks():
    (found,) = success_rate.compute_success_by_trial(frame([49, 50, 52]))
    assert (found.condition, found.trial, found.participants, found.tasks) == ("verb", 3, 3, 300)
    assert found.mean.value == pytest.approx(0.50333, abs=1e-5)
    assert found.sd_paper == pytest.approx(0.0125, abs=5e-5)
    assert found.sd == pytest.approx(0.0153, abs=5e-5)
    half = 4.30265 * found.sd / 3**0.5  # the 97.5% point of t with 2 degrees of freedom
    assert (found.mean.interval.low, found.mean.interval.high) == pytest.approx(
        (found.mean.value - half, found.mean.value + half), abs=1e-6
    )


@pytest.mark.at_length
def test_the_papers_deviation_can_only_be_the_one_that_divides_by_n(shared_data):
    table = shared_data("README.md").parents[1] / "paper" / "inferact_table9_user_study_webshop.csv"
    if not table.exists():
        pytest.skip("the paper's table is not on this machine")
    with table.open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["feedback_source"] == "human"]
    cells = {(float(row["success_rate"]), float(row["std"])) for row in rows}
    possible = {False: set(), True: set()}
    for a in range(43, 52):
        for b in range(a, min(a + 6, 55)):
            for c in range(b, min(a + 6, 55)):
                (found,) = success_rate.compute_success_by_trial(frame([a, b, c]))
                mean = round(found.mean.value * 100, 1)
                possible[True].add((mean, round(found.sd_paper * 100, 1)))
                possible[False].add((mean, round(found.sd * 100, 1)))
    assert {(46.0, 0.8), (47.0, 0.8), (46.0, 1.6), (50.3, 1.2), (48.3, 1.2)} <= cells & possible[True]
    assert not {(46.0, 0.8), (47.0, 0.8), (46.0, 1.6)} & possible[False]


def test_the_pooled_interval_is_wilsons():
    # Newcombe (1998), Two-sided confidence intervals for the single proportion, Table I, method 3.
    for solved, tasks, low, high in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611)]:
        (found,) = success_rate.compute_success_by_trial(frame([solved], tasks))
        assert (found.pooled.interval.low, found.pooled.interval.high) == pytest.approx((low, high), abs=5e-5)


def test_conditions_and_trials_stand_apart_in_order_and_either_count_can_be_read():
    both = pd.concat([frame([3, 4], 10, "b", 1), frame([3, 5], 10, "a", 0), frame([1, 2], 10, "a", 1)])
    found = success_rate.compute_success_by_trial(both, success_rate.HELD)
    assert [(one.condition, one.trial, one.mean.value) for one in found] == [
        ("a", 0, pytest.approx(0.3)),
        ("a", 1, pytest.approx(0.05)),
        ("b", 1, pytest.approx(0.25)),
    ]


def test_one_participant_or_equal_ones_have_no_interval_and_it_says_so():
    (alone,) = success_rate.compute_success_by_trial(frame([7], 10))
    assert (alone.sd, alone.mean.interval) == (None, None)
    assert "One participant" in alone.mean.note
    (equal,) = success_rate.compute_success_by_trial(frame([7, 7, 7], 10))
    assert (equal.sd, equal.mean.interval) == (pytest.approx(0), None)
    assert "equal" in equal.mean.note


def test_the_interval_stays_within_what_a_share_can_be():
    (found,) = success_rate.compute_success_by_trial(frame([10, 10, 8], 10))
    assert found.mean.interval.high == 1


def test_a_participant_without_tasks_does_not_count():
    rows = pd.concat([frame([5, 6], 10), frame([0], 0).assign(participant="P09")])
    assert success_rate.compute_success_by_trial(rows)[0].participants == 2


def test_a_second_row_of_a_participant_is_refused():
    with pytest.raises(BadInput, match="P00 has two rows for condition verb, trial 3"):
        success_rate.compute_success_by_trial(pd.concat([frame([5]), frame([6])]))


@pytest.mark.at_length
def test_the_t_interval_holds_the_mean_at_its_rate():
    draw = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        (found,) = success_rate.compute_success_by_trial(frame(draw.binomial(100, 0.5, 6)))
        held += found.mean.interval is not None and found.mean.interval.low <= 0.5 <= found.mean.interval.high
    assert 0.92 <= held / 400 <= 0.98


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
