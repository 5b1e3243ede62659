import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.tools.sm_exceptions import ConvergenceWarning

from console.analysis.statistics import mixed_models
from console.errors import BadInput
from tests.answered import study

# Pinheiro and Bates (2000), Mixed-Effects Models in S and S-PLUS, section 1.2: effort to rise from four stools.
STOOLS = [
    (12, 15, 12, 10),
    (10, 14, 13, 12),
    (7, 14, 13, 9),
    (7, 11, 10, 9),
    (8, 11, 8, 7),
    (9, 11, 11, 10),
    (8, 12, 12, 11),
    (7, 11, 8, 7),
    (9, 13, 10, 8),
]


def stools():
    rows = [(f"P{k}", f"T{j + 1}", value) for k, row in enumerate(STOOLS) for j, value in enumerate(row)]
    return pd.DataFrame(rows, columns=["participant", "condition", "value"])


def test_a_condition_that_no_participant_links_with_the_others_is_not_estimable():
    met = {"p": {"a": 0.5, "b": 0.4}, "q": {"a": 0.1, "b": 0.9}, "r": {"a": 0.3, "b": 0.2}, "s": {"c": 0.6}}
    rows = [(who, name, value) for who, values in (met | {"t": {"c": 0.5}}).items() for name, value in values.items()]
    found = mixed_models.fit_linear(pd.DataFrame(rows, columns=["participant", "condition", "value"]), "value")
    assert {one.value for one in found.differences.values()} == {None}
    assert "no participant connects some conditions" in found.note


def answers(seed, people, conditions, tasks, effect=0.0, between=False):
    return study(np.random.default_rng(seed), people, conditions, tasks, effect, between)


def test_the_mixed_model_of_the_four_stools_is_the_published_one():
    found = mixed_models.fit_linear(stools(), "value")
    assert found.level.value == pytest.approx(8.5556, abs=5e-5)
    values = [one.value for one in found.differences.values()]
    assert values == pytest.approx([3.8889, 2.2222, 0.6667], abs=5e-5)
    assert [one.df for one in found.differences.values()] == [24, 24, 24]
    assert (found.sd_participants, found.sd_residual) == pytest.approx((1.332, 1.100), abs=5e-4)
    half = 2.0639 * 0.5187  # the 97.5% point of t with 24 degrees of freedom, and the published standard error
    bounds = found.differences["T4"].interval
    assert (bounds.low, bounds.high) == pytest.approx((0.6667 - half, 0.6667 + half), abs=2e-3)
    assert found.differences["T4"].p_value == pytest.approx(0.2110, abs=5e-4)


def test_the_mixed_model_is_statsmodels_own():
    frame = answers(5, 9, 3, 20, effect=0.8).drop(columns="task_id")
    means = frame.groupby(["participant", "condition"], as_index=False)["value"].mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = smf.mixedlm("value ~ condition", means, groups=means["participant"]).fit()
    ours = mixed_models.fit_linear(frame, "value")
    assert ours.differences["c1"].value == pytest.approx(theirs.fe_params["condition[T.c1]"], abs=1e-6)
    half = (ours.differences["c1"].interval.high - ours.differences["c1"].interval.low) / 2
    assert half == pytest.approx(2.1199 * theirs.bse_fe["condition[T.c1]"], rel=1e-3)  # t with 16


def test_the_logistic_estimate_is_statsmodels_own():
    frame = answers(4, 12, 2, 20, effect=0.8)
    theirs = smf.gee(
        "value ~ condition",
        "participant",
        frame,
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    ).fit(cov_type="bias_reduced")
    found = mixed_models.fit_logistic(frame, "value").differences["c1"]
    assert found.value == pytest.approx(theirs.params["condition[T.c1]"])
    assert (found.interval.high - found.value) == pytest.approx(2.20099 * theirs.bse["condition[T.c1]"], rel=1e-4)


def test_clusters_of_different_sizes_have_the_bias_reduced_covariance_of_statsmodels():
    draw = np.random.default_rng(11)
    people = np.repeat([f"P{k}" for k in range(9)], draw.integers(3, 30, 9))
    columns = np.column_stack([np.ones(people.size), draw.normal(size=people.size)])
    answers = (draw.random(people.size) < 0.3 + 0.4 * (columns[:, 1] > 0)).astype(float)
    spread = sm.cov_struct.Exchangeable()
    theirs = sm.GEE(answers, columns, people, family=sm.families.Binomial(), cov_struct=spread).fit(
        cov_type="bias_reduced"
    )
    shuffled = draw.permutation(people.size)
    found = mixed_models.fit_logits(answers[shuffled], columns[shuffled], people[shuffled])
    assert found.values == pytest.approx(theirs.params, rel=1e-9)
    assert found.errors == pytest.approx(theirs.bse, rel=1e-9)


def test_sets_of_tasks_that_are_rotated_are_told_from_the_conditions():
    frame = answers(9, 4, 4, 25)
    hard = frame["task_id"].str.startswith("t3-")
    frame = pd.concat([frame[~hard], frame[hard].assign(value=0)])
    adjusted, plain = (
        mixed_models.fit_linear(frame, "value"),
        mixed_models.fit_linear(frame.drop(columns="task_id"), "value"),
    )
    assert (adjusted.differences["c1"].df, plain.differences["c1"].df) == (6, 9)
    assert adjusted.differences["c1"].value == pytest.approx(plain.differences["c1"].value)
    widths = [one.differences["c1"].interval.high - one.differences["c1"].interval.low for one in (adjusted, plain)]
    assert widths[0] < widths[1] * 0.7


def test_participants_who_do_not_differ_are_no_crash_and_the_note_says_so():
    rows = [("a", "x", 0.1), ("a", "y", 0.5), ("b", "x", 0.3), ("b", "y", 0.3), ("c", "x", 0.2), ("c", "y", 0.45)]
    found = mixed_models.fit_linear(pd.DataFrame(rows, columns=["participant", "condition", "value"]), "value")
    assert "fixed effects" in found.note
    assert found.differences["y"].value == pytest.approx(0.65 / 3)
    assert found.differences["y"].df == 2


def test_between_participants_it_is_least_squares_of_their_means():
    frame = answers(6, 24, 2, 25, effect=0.8, between=True)
    found = mixed_models.fit_linear(frame, "value", reference="c1")
    means = frame.groupby(["condition", "participant"])["value"].mean()
    assert found.reference == "c1"
    assert found.level.value == pytest.approx(means["c1"].mean())
    assert found.differences["c0"].value == pytest.approx(means["c0"].mean() - means["c1"].mean())
    assert found.differences["c0"].df == 22


@pytest.mark.parametrize("fit", [mixed_models.fit_linear, mixed_models.fit_logistic])
def test_what_cannot_be_estimated_is_a_sentence(fit):
    two = answers(1, 1, 2, 5)
    found = fit(two, "value")
    assert found.differences["c1"].value is None
    assert "participants" in found.note
    found = fit(answers(1, 6, 2, 5).assign(value=1), "value")
    assert found.differences["c1"].value is None
    assert found.note


def test_separation_is_a_sentence():
    frame = answers(1, 8, 2, 20)
    found = mixed_models.fit_logistic(frame.assign(value=(frame["condition"] == "c1").astype(int)), "value")
    assert found.differences["c1"].value is None
    assert "estimating equations" in found.note or "unbounded" in found.note


def test_an_exact_fit_has_no_interval_and_says_so():
    rows = [(f"P{k}", name, k * 0.1 + 0.2 * (name == "y")) for k in range(5) for name in "xy"]
    found = mixed_models.fit_linear(pd.DataFrame(rows, columns=["participant", "condition", "value"]), "value")
    assert found.differences["y"].value == pytest.approx(0.2)
    assert found.differences["y"].interval is None
    assert found.differences["y"].note


def test_bad_input_is_named():
    frame = stools()
    with pytest.raises(BadInput, match="No row has condition 'T9'"):
        mixed_models.fit_linear(frame, "value", reference="T9")
    with pytest.raises(BadInput, match="Fewer than two conditions"):
        mixed_models.fit_linear(frame[frame["condition"] == "T1"], "value")
    with pytest.raises(BadInput, match="other than 0 and 1"):
        mixed_models.fit_logistic(frame, "value")
    with pytest.raises(BadInput, match="no column 'solved'"):
        mixed_models.fit_linear(frame, "solved")


@pytest.mark.at_length
@pytest.mark.parametrize(
    ("people", "conditions", "between"), [(4, 4, False), pytest.param(24, 2, True, marks=pytest.mark.at_length)]
)
def test_without_an_effect_it_rejects_seldom(people, conditions, between):
    found = [
        mixed_models.fit_linear(answers(seed, people, conditions, 25, between=between), "value").differences["c1"]
        for seed in range(40)
    ]
    assert np.mean([one.p_value < 0.05 for one in found]) <= 0.15
