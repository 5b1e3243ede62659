"""Contrasts: what libraries give for the same cells, what an uneven layout leaves out, and honest rates."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.stats.multitest import multipletests

from console.analysis.statistics.contrasts import adjusted, contrasts, equivalence
from console.analysis.statistics.estimates import Estimate, of_t
from tests.answered import differences, study

MAIN = {"c0": -0.5, "c1": 0.5, "c2": -0.5, "c3": 0.5}


def drawn(seed, people=8, conditions=4, **fields):
    return study(np.random.default_rng(seed), people, conditions, **fields)


def means(frame):
    """A row a cell, with its set of tasks."""
    cells = frame.groupby(["participant", "condition"])
    return cells.agg(value=("value", "mean"), block=("task_id", lambda tasks: min(tasks).split("-")[0])).reset_index()


def test_a_balanced_study_gives_what_least_squares_with_all_effects_gives():
    frame = drawn(1)
    cells = means(frame)
    columns = pd.get_dummies(cells[["participant", "condition", "block"]], drop_first=True, dtype=float)
    columns.insert(0, "level", 1.0)
    fit = OLS(cells["value"], columns).fit()
    wanted = np.zeros(len(columns.columns))
    for name, weight in MAIN.items():
        if f"condition_{name}" in columns:
            wanted[list(columns).index(f"condition_{name}")] = weight
    expected = fit.t_test(wanted)
    found = contrasts(frame, "value", {"main": MAIN}).estimates["main"]
    assert found.value == pytest.approx(float(expected.effect[0]), abs=1e-9)
    assert found.p_value == pytest.approx(float(expected.pvalue), abs=1e-9)
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(expected.conf_int()[0]), abs=1e-9)


def test_an_uneven_study_gives_what_a_mixed_model_gives():
    frame = drawn(3, people=14)
    frame = frame[~((frame["participant"] == "P03") & (frame["condition"] == "c1"))]
    cells = means(frame)
    fixed = pd.get_dummies(cells["condition"], dtype=float)
    parts = {"who": "0 + C(participant)", "sets": "0 + C(block)"}
    model = MixedLM.from_formula(
        "value ~ 0 + C(condition)", groups=np.ones(len(cells)), re_formula="0", vc_formula=parts, data=cells
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns wherever a variance is small
        fit = model.fit(reml=True)
    expected = float(np.array([MAIN[name] for name in fixed]) @ fit.fe_params.to_numpy())
    found = contrasts(frame, "value", {"main": MAIN})
    assert "REML" in found.method
    assert found.estimates["main"].value == pytest.approx(expected, abs=2e-3)


def test_between_participants_it_is_the_pooled_t_test():
    frame = drawn(2, people=12, conditions=2, between=True)
    cells = means(frame)
    groups = [cells[cells["condition"] == name]["value"] for name in ("c1", "c0")]
    found = contrasts(frame, "value", {"d": {"c1": 1.0, "c0": -1.0}}).estimates["d"]
    assert found.p_value == pytest.approx(stats.ttest_ind(*groups).pvalue, abs=1e-12)


def test_a_condition_without_answers_is_named():
    found = contrasts(drawn(1), "value", {"d": {"c9": 1.0, "c0": -1.0}}).estimates["d"]
    assert (found.value, found.note) == (None, "Not estimable: nobody answered in c9.")


def test_conditions_that_nobody_links_are_not_compared():
    frame = drawn(1, people=8)
    half = frame["participant"].isin(["P00", "P01", "P02", "P03"])
    apart = frame[(half & frame["condition"].isin(["c0", "c1"])) | (~half & frame["condition"].isin(["c2", "c3"]))]
    found = contrasts(apart, "value", {"across": {"c0": 1.0, "c2": -1.0}, "inside": {"c0": 1.0, "c1": -1.0}})
    assert "no participants link" in found.estimates["across"].note
    assert found.estimates["inside"].value is not None


def test_one_participant_tells_nothing_of_chance():
    frame = drawn(1, people=1, conditions=2)
    found = contrasts(frame, "value", {"d": {"c1": 1.0, "c0": -1.0}}).estimates["d"]
    assert found.interval is None
    assert found.p_value is None
    assert found.note == "Not estimable: 1 participant leaves nothing to measure the spread by."


def test_rounding_is_no_evidence():
    frame = drawn(1, people=6, conditions=2).assign(value=lambda rows: 0.1 + 0.2 * (rows["condition"] == "c1"))
    found = contrasts(frame, "value", {"d": {"c1": 1.0, "c0": -1.0}}).estimates["d"]
    assert found.value == pytest.approx(0.2)
    assert found.p_value is None
    same = contrasts(frame.assign(value=0.3), "value", {"d": {"c1": 1.0, "c0": -1.0}}).estimates["d"]
    assert (same.value, same.p_value) == (0.0, None)


@pytest.mark.parametrize(("people", "conditions", "between"), [(4, 4, False), (12, 2, False), (24, 2, True)])
def test_intervals_hold_the_effect_about_as_often_as_they_say(people, conditions, between):
    wanted = {"d": {"c1": 1.0, "c0": -1.0}}
    truth, held = differences(0.8)[0], 0
    for seed in range(80):
        frame = drawn([seed, people], people, conditions, tasks=12, effect=0.8, between=between)
        interval = contrasts(frame, "value", wanted).estimates["d"].interval
        held += interval.low <= truth <= interval.high
    assert held >= 80 * 0.88


@pytest.mark.parametrize("correction", ["holm", "bonferroni"])
def test_p_values_are_corrected_as_the_library_does(correction):
    given = {"a": 0.01, "b": 0.04, "c": None, "d": 0.03, "e": 0.5}
    found = adjusted(given, correction)
    there = [name for name, p in given.items() if p is not None]
    expected = multipletests([given[name] for name in there], method=correction)[1]
    assert [found[name] for name in there] == pytest.approx(list(expected))
    assert found["c"] is None
    assert adjusted(given, "none") == given


def test_equivalence_is_two_one_sided_tests():
    apart = np.array([0.01, -0.02, 0.0, 0.03, -0.01, 0.02])
    low = stats.ttest_1samp(apart, -0.05, alternative="greater")
    high = stats.ttest_1samp(apart, 0.05, alternative="less")
    error = apart.std(ddof=1) / 6**0.5
    found = of_t(float(apart.mean()), float(error), 5, 6)
    assert equivalence(found, 0.05) == pytest.approx(max(low.pvalue, high.pvalue))
    assert equivalence(Estimate(0.0), 0.05) is None
