"""Power: few rejections without an effect, more with more people; the test is the one that the results show."""

import numpy as np
import pandas as pd
import pytest

from console.analysis.statistics import paired
from console.analysis.statistics.contrasts import estimate_contrasts
from console.analysis.statistics.estimates import estimate_difference, estimate_mean
from console.errors import BadInput
from console.studies.design import Design, power
from console.studies.design.power import Assumptions


def design(**fields):
    base = {"name": "s", "source": {"environment": "webshop"}, "factors": {"score": ["shown", "hidden"]}}
    return Design(**{**base, **fields})


@pytest.mark.parametrize("comparison", ["within", "between"])
def test_without_an_effect_it_rejects_no_more_often_than_stated(comparison):
    found = design(comparison=comparison, tasks=25)
    (estimate,) = power.power(
        found, Assumptions(effect=0, effect_sd=0, task_effect_sd=0.8), participants=[12], simulations=1_000
    )
    assert estimate.low <= 0.05
    assert estimate.rejected == round(estimate.power * 1_000)


def test_more_participants_find_more_and_estimate_more_closely():
    few, many = power.power(design(), participants=[4, 30], simulations=200)
    assert few.power < many.power
    assert few.half_width > many.half_width
    assert few.low <= few.power <= few.high


def test_a_large_effect_is_nearly_always_found():
    (found,) = power.power(design(tasks=50), Assumptions(effect=0.4), participants=[16], simulations=100)
    assert found.power > 0.95


def test_same_seed_same_power_whatever_other_numbers_are_asked_for():
    alone = power.power(design(), participants=[6], simulations=50, seed=2)
    assert power.power(design(), participants=[4, 6], simulations=50, seed=2)[1] == alone[0]
    assert power.power(design(), participants=[6], simulations=50, seed=3) != alone


def test_the_number_of_people_is_the_designs_where_none_is_given():
    (found,) = power.power(design(participants={"human": 7, "oracle": 2}), simulations=5)
    assert found.participants == 7


def test_progress_counts_every_simulated_study():
    seen = []
    power.power(design(), participants=[2, 3], simulations=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_test_is_the_one_that_the_results_show():
    rng = np.random.default_rng(5)
    first, second = rng.random(6), rng.random(6)
    frame = pd.DataFrame(
        {"participant": [*range(6)] * 2, "condition": ["a"] * 6 + ["b"] * 6, "rate": [*first, *second]}
    )
    within = paired.compare(frame, "rate", "a", "b")
    assert within.tests[0].p_value == pytest.approx(estimate_mean(first - second).p_value)
    apart = frame.assign(participant=range(12))
    between = paired.compare(apart, "rate", "a", "b", "between")
    assert between.tests[0].p_value == pytest.approx(estimate_difference(first, second).p_value)


def test_levels_of_a_factor_are_averaged_over_the_other_factors():
    crossed = design(factors={"score": ["shown", "hidden"], "brief": ["none", "target"]})
    assert power.get_compared_levels(crossed) == ("score", "shown", "hidden")
    assert power.get_compared_levels(crossed, "brief") == ("brief", "none", "target")
    (single,) = power.power(design(), participants=[12], simulations=200)
    (double,) = power.power(crossed, participants=[12], simulations=200)
    assert double.half_width < single.half_width


@pytest.mark.parametrize(
    ("fields", "asked", "said"),
    [
        ({"factors": {}}, {}, "one condition"),
        (
            {},
            {"assumptions": Assumptions(factor="brief")},
            "does not vary 'brief'. Choose a factor that it varies: score",
        ),
        ({}, {"assumptions": Assumptions(start=0.95)}, "0.95 \\(start\\) and 1.05 .*between 0 and 1"),
        ({}, {"assumptions": Assumptions(alpha=0)}, "alpha 0 is not between 0 and 1"),
        ({}, {"assumptions": Assumptions(task_sd=-1)}, "task_sd -1 is not from 0 to 10"),
        ({}, {"assumptions": Assumptions(dropout=1)}, "dropout 1 is not from 0 to below 1"),
        ({}, {"tasks": [0]}, "for 0 tasks. Set --tasks"),
        ({}, {"participants": [1]}, "for 1 participants. Set --n to numbers from 2 to 1000"),
        ({}, {"simulations": 0}, "at least 1 simulation"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_simulated_is_refused(fields, asked, said):
    with pytest.raises(BadInput, match=said):
        power.power(design(**fields), **asked)


@pytest.mark.at_length
def test_dropout_costs_power_and_refuses_studies():
    big = Assumptions(effect=0.2)
    (kept,) = power.power(design(), big, participants=[8], simulations=120)
    lossy = Assumptions(effect=0.2, dropout=0.3)
    (lost,) = power.power(design(), lossy, participants=[8], simulations=120)
    assert lost.power < kept.power - 0.1
    assert (kept.refused, lost.refused > 0.3) == (0, True), "fewer than five people with both parts, often"


def test_tasks_are_an_axis_that_people_cannot_replace():
    varied = Assumptions(effect=0.15, task_effect_sd=0.8)
    between = design(comparison="between")
    few, many = power.power(between, varied, participants=[60], tasks=[8, 25], simulations=150)
    assert (few.tasks, many.tasks) == (8, 25)
    assert few.power < many.power - 0.1


@pytest.mark.at_length
def test_printed_power_is_what_reports_of_such_studies_find():
    """An independent drawing, analysed by the report's table."""
    assumed = Assumptions(start=0.4, effect=0.2, dropout=0.15)
    (printed,) = power.power(design(tasks=20), assumed, participants=[10], simulations=200)
    found = [_found(assumed, np.random.default_rng(seed)) for seed in range(80)]
    assert abs(printed.power - np.mean(found)) < 0.16, "three standard errors of 80 studies"


def _found(assumed, rng):
    """Whether the contrast of one study of ten people and two sets of twenty tasks is found over tasks."""
    person, task = (axis.ravel() for axis in np.indices((10, 40)))
    raised = (task >= 20) == (person % 2 == 0)
    kept = rng.random((10, 2))[person, raised.astype(int)] >= assumed.dropout
    base, more = power._intercepts(assumed)
    effects = rng.normal(0, assumed.effect_sd, 10)[person] + rng.normal(0, assumed.task_effect_sd, 40)[task]
    logit = np.where(raised, more, base) + rng.normal(0, assumed.participant_sd, 10)[person]
    logit = logit + rng.normal(0, assumed.task_sd, 40)[task] + effects * (raised - 0.5)
    rows = pd.DataFrame({"participant": person, "task_id": task, "condition": np.where(raised, "b", "a"),
                         "value": rng.random(400) < 1 / (1 + np.exp(-logit))})[kept]  # fmt: skip
    fit = estimate_contrasts(rows, "value", {"d": {"b": 1.0, "a": -1.0}})
    return fit.claims["d"].over_tasks and fit.estimates["d"].p_value < 0.05


@pytest.mark.at_length
def test_the_curve_gives_the_smallest_number_of_people_that_reaches_the_goal():
    assumed = Assumptions(effect=0.25, task_effect_sd=0.2)
    few, many = power.recruit(design(), assumed, [8, 25], simulations=60)
    assert few.participants > many.participants >= 4
    assert min(few.power, many.power) >= 0.8
    assert power.recruit(design(), Assumptions(effect=0.01), [8], simulations=20)[0].participants is None


def test_a_design_that_supports_no_claim_over_tasks_says_so():
    (found,) = power.power(design(tasks=2), Assumptions(effect=0.4), participants=[12], simulations=40)
    assert not found.over_tasks
    assert found.power > 0
