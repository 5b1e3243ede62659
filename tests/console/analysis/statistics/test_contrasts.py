"""Contrasts: what libraries give for the same cells, what an uneven layout leaves out, and honest rates."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests

from console.analysis.statistics.contrasts import (
    adjust_p_values,
    equivalence_p_value,
    estimate_contrasts,
    joint_interval,
    joint_levels,
)
from console.analysis.statistics.estimates import Estimate, estimate_by_t
from tests.answered import differences, study

MAIN = {"c0": -0.5, "c1": 0.5, "c2": -0.5, "c3": 0.5}


def drawn(seed, people=8, conditions=4, **fields):
    return study(np.random.default_rng(seed), people, conditions, **fields)


def means(frame):
    """A row a cell, with its set of tasks."""
    cells = frame.groupby(["participant", "condition"])
    return cells.agg(value=("value", "mean"), block=("task_id", lambda tasks: min(tasks).split("-")[0])).reset_index()


def own_values(frame, weights):
    """Each participant's own value of the contrast, and what each set of tasks counts in it."""
    cells = means(frame).assign(weight=lambda rows: rows["condition"].map(weights))
    values = (cells["value"] * cells["weight"]).groupby(cells["participant"]).sum()
    sets = cells.pivot_table(index="participant", columns="block", values="weight", aggfunc="sum", fill_value=0.0)
    return values, sets


def test_it_is_least_squares_of_participants_own_values_without_the_sets_of_tasks():
    frame = drawn(1, people=12)
    values, sets = own_values(frame, MAIN)
    kept = sets.iloc[:, :1].assign(level=1.0)  # one of the four says it all: the others are it, or it turned
    expected = OLS(values, kept).fit()
    found = estimate_contrasts(frame, "value", {"main": MAIN})
    one = found.simple["main"]
    assert one.df == 10
    assert (one.value, one.p_value) == pytest.approx((expected.params["level"], expected.pvalues["level"]), abs=1e-9)
    assert (one.interval.low, one.interval.high) == pytest.approx(tuple(expected.conf_int().loc["level"]), abs=1e-9)


def test_few_participants_leave_the_sets_in_the_error():
    frame = drawn(1, people=4)
    expected = stats.ttest_1samp(own_values(frame, MAIN)[0], 0)
    found = estimate_contrasts(frame, "value", {"main": MAIN}).simple["main"]
    interval = expected.confidence_interval()
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-12)
    assert (found.interval.low, found.interval.high) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_who_misses_a_condition_is_out_of_its_contrasts_alone():
    frame = drawn(3, people=14)
    uneven = frame[~((frame["participant"] == "P03") & (frame["condition"] == "c1"))]
    wanted = {"main": MAIN, "other": {"c2": 1.0, "c3": -1.0}}
    found, without, whole = (
        estimate_contrasts(rows, "value", wanted).simple
        for rows in (uneven, frame[frame["participant"] != "P03"], frame)
    )
    assert (found["main"].n, found["other"].n) == (13, 14)
    assert (found["main"], found["other"]) == (without["main"], whole["other"])


@pytest.mark.at_length
def test_people_may_differ_in_one_factor_more_than_in_another():
    """A spread that is shared between contrasts would reject far too often where one factor divides people."""
    wrong = 0
    for seed in range(100):
        draw = np.random.default_rng(seed)
        rows = pd.DataFrame(
            [(p, c, "t") for p in range(8) for c in MAIN], columns=["participant", "condition", "task_id"]
        )
        divides = np.repeat(draw.normal(0, 1, 8), 4) * rows["condition"].map(MAIN)
        values = rows.assign(value=divides + draw.normal(0, 0.3, len(rows)))
        wrong += estimate_contrasts(values, "value", {"main": MAIN}).estimates["main"].p_value < 0.05
    assert wrong <= 100 * 0.1


def test_who_misses_a_condition_stays_in_the_estimate_over_tasks():
    frame = drawn(3, people=14)
    uneven = frame[~((frame["participant"] == "P03") & (frame["condition"] == "c1"))]
    found = estimate_contrasts(uneven, "value", {"main": MAIN})
    assert (found.estimates["main"].n, found.simple["main"].n) == (14, 13)
    assert found.claims["main"].over_tasks
    assert found.claims["main"].tasks == 100


def test_between_participants_the_simple_test_is_welchs():
    frame = drawn(2, people=12, conditions=2, between=True)
    cells = means(frame)
    groups = [cells[cells["condition"] == name]["value"] for name in ("c1", "c0")]
    found = estimate_contrasts(frame, "value", {"d": {"c1": 1.0, "c0": -1.0}}).simple["d"]
    assert found.p_value == pytest.approx(stats.ttest_ind(*groups, equal_var=False).pvalue, abs=1e-12)


def test_a_condition_without_answers_is_named():
    found = estimate_contrasts(drawn(1), "value", {"d": {"c9": 1.0, "c0": -1.0}}).estimates["d"]
    assert (found.value, found.note) == (None, "Not estimable: no participant answered in c9.")


def test_conditions_that_nobody_links_are_not_compared():
    frame = drawn(1, people=8)
    half = frame["participant"].isin(["P00", "P01", "P02", "P03"])
    apart = frame[(half & frame["condition"].isin(["c0", "c1"])) | (~half & frame["condition"].isin(["c2", "c3"]))]
    found = estimate_contrasts(apart, "value", {"across": {"c0": 1.0, "c2": -1.0}, "inside": {"c0": 1.0, "c1": -1.0}})
    assert found.estimates["across"].note == "Not estimable: no participant answered in every compared condition."
    assert found.estimates["inside"].value is not None


def test_one_participant_tells_nothing_of_chance():
    frame = drawn(1, people=1, conditions=2)
    found = estimate_contrasts(frame, "value", {"d": {"c1": 1.0, "c0": -1.0}}).estimates["d"]
    assert found.interval is None
    assert found.p_value is None
    assert found.note == "Not estimable: 1 participant leaves no degrees of freedom for the spread."


def test_rounding_is_no_evidence():
    frame = drawn(1, people=6, conditions=2).assign(value=lambda rows: 0.1 + 0.2 * (rows["condition"] == "c1"))
    found = estimate_contrasts(frame, "value", {"d": {"c1": 1.0, "c0": -1.0}}).estimates["d"]
    assert found.value == pytest.approx(0.2)
    assert found.p_value is None
    same = estimate_contrasts(frame.assign(value=0.3), "value", {"d": {"c1": 1.0, "c0": -1.0}}).estimates["d"]
    assert (same.value, same.p_value) == (0.0, None)


@pytest.mark.at_length
@pytest.mark.parametrize(
    ("people", "conditions", "between"),
    [
        (4, 4, False),
        pytest.param(12, 2, False, marks=pytest.mark.at_length),
        pytest.param(24, 2, True, marks=pytest.mark.at_length),
    ],
)
def test_intervals_hold_the_effect_about_as_often_as_they_say(people, conditions, between):
    wanted = {"d": {"c1": 1.0, "c0": -1.0}}
    truth, held = differences(0.8)[0], 0
    for seed in range(50):
        frame = drawn([seed, people], people, conditions, tasks=12, effect=0.8, between=between)
        interval = estimate_contrasts(frame, "value", wanted).estimates["d"].interval
        held += interval.low <= truth <= interval.high
    assert held >= 50 * 0.88


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "none"])
def test_joint_intervals_exclude_zero_exactly_where_the_test_rejects(correction):
    rng = np.random.default_rng(8)
    for _ in range(200):
        found = {name: estimate_by_t(float(rng.normal(0, 0.3)), 0.1, 9, 10) for name in "abcd"}
        p_values = {name: one.p_value for name, one in found.items()}
        levels = joint_levels(p_values, correction, 0.05)
        for name, p in adjust_p_values(p_values, correction).items():
            interval = joint_interval(found[name], levels[name], 9.0)
            assert (p < 0.05) == (not interval.low <= 0 <= interval.high)


@pytest.mark.parametrize("correction", ["holm", "bonferroni"])
def test_p_values_are_corrected_as_the_library_does(correction):
    given = {"a": 0.01, "b": 0.04, "c": None, "d": 0.03, "e": 0.5}
    found = adjust_p_values(given, correction)
    there = [name for name, p in given.items() if p is not None]
    expected = multipletests([given[name] for name in there], method=correction)[1]
    assert [found[name] for name in there] == pytest.approx(list(expected))
    assert found["c"] is None
    assert adjust_p_values(given, "none") == given


def test_equivalence_is_two_one_sided_tests():
    apart = np.array([0.01, -0.02, 0.0, 0.03, -0.01, 0.02])
    low = stats.ttest_1samp(apart, -0.05, alternative="greater")
    high = stats.ttest_1samp(apart, 0.05, alternative="less")
    error = apart.std(ddof=1) / 6**0.5
    found = estimate_by_t(float(apart.mean()), float(error), 5, 6)
    assert equivalence_p_value(found, 0.05) == pytest.approx(max(low.pvalue, high.pvalue))
    assert equivalence_p_value(Estimate(0.0), 0.05) is None


def test_no_interval_of_a_difference_of_shares_is_wider_than_any_difference():
    rows = [
        (f"P{person}", name, f"t{task}", float(person == 0 and name == "a"))
        for person, name, task in product(range(2), "ab", range(4))
    ]
    frame = pd.DataFrame(rows, columns=["participant", "condition", "task_id", "value"])
    free, kept = (estimate_contrasts(frame, "value", {"d": {"a": 1.0, "b": -1.0}}, scale=scale) for scale in (None, 1))
    assert free.simple["d"].interval.high > 1, "two people, whose t interval is wide"
    assert (kept.simple["d"].interval.low, kept.simple["d"].interval.high) == (-1, 1)
