"""The primary contrasts of a study as another hand computes them, with statsmodels and scipy, from the same tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols

from console.analysis.statistics.contrasts import estimate_contrasts
from console.studies.analysis.contrasts import describe_planned, estimate_planned
from console.studies.design import Design
from console.studies.design.contrasts import plan_rows
from tests.answered import study

SOURCE = {"actor": "scripted", "environment": "webshop"}
RENAMED = {"c0": "hidden", "c1": "shown"}


def frames(people, *, between=False):
    """Tidy tables of a study of two conditions with three trials, its plan among them."""
    drawn = study(np.random.default_rng(3), people, 2, tasks=20, effect=0.9, between=between)
    drawn["condition"] = drawn["condition"].map(RENAMED)
    last = drawn.rename(columns={"value": "solved_paper"}).assign(trial=2, closed=True, annotator_kind="human")
    outcomes = pd.concat([last, last.assign(trial=0, solved_paper=0)], ignore_index=True)
    design = Design(
        name="pilot",
        source=SOURCE,
        comparison="between" if between else "within",
        factors={"score": ["hidden", "shown"]},
    )
    primary = pd.DataFrame(plan_rows(design)).query("kind == 'primary'")
    return {"outcomes": outcomes, "success": outcomes, "participants": outcomes, "plan": primary}


def cells(tables):
    """Each participant's share solved at the last trial under each condition, with the set of tasks."""
    last = tables["outcomes"].query("trial == 2")
    grouped = last.groupby(["participant", "condition"])
    return grouped.agg(value=("solved_paper", "mean"), block=("task_id", lambda keys: min(keys)[:2])).reset_index()


def test_within_participants_it_is_statsmodels_least_squares_of_their_differences():
    tables = frames(8)
    (row,) = estimate_planned(tables).to_dict("records")
    wide = cells(tables).pivot(index="participant", columns="condition")
    turned = np.where(wide["block"]["shown"] == "t0", 1.0, -1.0)
    fit = ols(
        "apart ~ turned", wide["value"].assign(apart=lambda cell: cell["shown"] - cell["hidden"], turned=turned)
    ).fit()
    low, high = fit.conf_int().loc["Intercept"]
    found = [row[column] for column in ("simple", "simple_low", "simple_high", "simple_p")]
    assert found == pytest.approx([fit.params["Intercept"], low, high, fit.pvalues["Intercept"]], abs=1e-9)
    assert (row["contrast"], row["n"]) == ("score: shown - hidden", 8)


def test_a_contrast_without_a_test_is_none_of_those_that_are_corrected_together():
    shown = estimate_planned(frames(8)).assign(p=0.01, p_adjusted=0.02)
    untested = shown.assign(low=None, high=None, p=None, p_adjusted=None, note="Nothing varies.")
    told = describe_planned(pd.concat([shown, shown.assign(contrast="other"), untested], ignore_index=True))
    assert told.count("corrected over 2 tests") == 2
    assert "Inconclusive. Nothing varies. The estimate is" in told
    uncorrected = pd.concat([shown, shown]).assign(p_adjusted=0.01)
    assert "corrected" not in describe_planned(uncorrected)


def test_an_answer_of_simulated_reviewers_says_whose_it_is():
    shown = estimate_planned(frames(8))
    assert "The interval is for people and tasks like these 8 participants and 40 tasks." in describe_planned(shown)
    simulated = describe_planned(shown.assign(annotator_kind="simulated"))
    assert "The interval is for reviewers and tasks like these 8 simulated participants and 40 tasks." in simulated


def test_the_scope_of_an_estimate_from_complete_participants_names_them():
    tables = frames(4)
    outcomes = tables["outcomes"]
    lost = (outcomes["participant"] == outcomes["participant"].iloc[0]) & (outcomes["condition"] == "shown")
    few = outcomes[~lost]
    told = describe_planned(estimate_planned(tables | {"outcomes": few, "success": few, "participants": few}))
    assert "for people like the 3 participants with answers in every compared condition, on these tasks only: " in told
    assert "on these tasks only: 3 participants with answers on both sides of the contrast are fewer than 5." in told


def test_between_participants_the_simple_figure_is_scipys_welch_test():
    tables = frames(10, between=True)
    (row,) = estimate_planned(tables).to_dict("records")
    groups = [part["value"] for _, part in cells(tables).groupby("condition")]
    tested = stats.ttest_ind(groups[1], groups[0], equal_var=False)
    low, high = tested.confidence_interval()
    found = [row[column] for column in ("simple", "simple_low", "simple_high", "simple_p")]
    assert found == pytest.approx([groups[1].mean() - groups[0].mean(), low, high, tested.pvalue], abs=1e-9)


def without_shared_tasks(tables):
    """The tables of a study in which each condition has tasks of its own."""
    outcomes = tables["outcomes"].assign(task_id=lambda rows: rows["condition"] + rows["task_id"].str[3:])
    return tables | {"outcomes": outcomes, "success": outcomes}


def test_a_design_without_a_claim_over_tasks_says_so_on_page_one():
    told = describe_planned(estimate_planned(without_shared_tasks(frames(8))))
    assert "on these tasks only: no task links the compared conditions." in told


def test_the_joint_interval_agrees_with_the_corrected_decision():
    shown = estimate_planned(frames(8)).iloc[[0]]
    assert "Yes: +0.238 (" in describe_planned(shown)
    raised = describe_planned(shown.assign(p_adjusted=0.2, low_joint=-0.1, high_joint=0.5))
    assert (
        "Inconclusive: +0.238 (−0.100 to +0.500), p = 0.200. The data are compatible with effects up to 0.500" in raised
    )


def reviewed(rng, people=24, tasks=60):
    """Constant error rates: one group decides on flagged actions, which are mostly wrong, the other on all actions."""
    wrong, flagged = rng.random(tasks) < 0.5, np.zeros(tasks, dtype=bool)
    flagged[np.flatnonzero(wrong)[:20]] = flagged[np.flatnonzero(~wrong)[:1]] = True
    rows = [
        (f"P{person:02}", "all" if person % 2 else "flagged", f"t{task}", rng.random() > (0.4 if wrong[task] else 0.1))
        for person in range(people)
        for task in range(tasks)
        if person % 2 or flagged[task]
    ]
    return pd.DataFrame(rows, columns=["participant", "condition", "task_id", "value"])


@pytest.mark.at_length
def test_reviewers_who_do_not_tire_are_not_said_to_tire():
    """More false alarms mean other actions: only the actions that both groups review are compared."""
    said = {"estimates": 0, "simple": 0}
    for seed in range(60):
        fit = estimate_contrasts(reviewed(np.random.default_rng(seed)), "value", {"d": {"all": 1.0, "flagged": -1.0}})
        assert fit.claims["d"].tasks >= 20
        for name in said:
            said[name] += getattr(fit, name)["d"].p_value < 0.05
    assert max(said.values()) <= 9, "P(more than 8 of 60 at .05) is below .01"
