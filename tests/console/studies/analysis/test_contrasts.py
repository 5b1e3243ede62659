"""The primary contrasts of a study as another hand computes them, with statsmodels and scipy, from the same tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols

from console.studies.analysis.contrasts import describe_planned, planned
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
    (row,) = planned(tables).to_dict("records")
    wide = cells(tables).pivot(index="participant", columns="condition")
    turned = np.where(wide["block"]["shown"] == "t0", 1.0, -1.0)
    fit = ols(
        "apart ~ turned", wide["value"].assign(apart=lambda cell: cell["shown"] - cell["hidden"], turned=turned)
    ).fit()
    low, high = fit.conf_int().loc["Intercept"]
    found = [row[column] for column in ("estimate", "low", "high", "p", "p_adjusted")]
    p = fit.pvalues["Intercept"]
    assert found == pytest.approx([fit.params["Intercept"], low, high, p, p], abs=1e-9)
    assert (row["contrast"], row["n"]) == ("score: shown - hidden", 8)


def test_a_contrast_without_a_test_is_none_of_those_that_are_corrected_together():
    shown = planned(frames(8))
    untested = shown.assign(low=None, high=None, p=None, p_adjusted=None, note="Nothing varies.")
    told = describe_planned(pd.concat([shown, shown.assign(contrast="other"), untested], ignore_index=True))
    assert told.count("corrected over 2 tests") == 2
    assert "Inconclusive. Nothing varies. The estimate is" in told


def test_an_answer_of_simulated_reviewers_says_whose_it_is():
    shown = planned(frames(8))
    assert "; 8 participants)" in describe_planned(shown)
    assert "; 8 simulated participants)" in describe_planned(shown.assign(annotator_kind="simulated"))


def test_between_participants_it_is_scipys_pooled_t_test():
    tables = frames(10, between=True)
    (row,) = planned(tables).to_dict("records")
    groups = [part["value"] for _, part in cells(tables).groupby("condition")]
    tested = stats.ttest_ind(groups[1], groups[0])
    low, high = tested.confidence_interval()
    found = [row[column] for column in ("estimate", "low", "high", "p")]
    assert found == pytest.approx([groups[1].mean() - groups[0].mean(), low, high, tested.pvalue], abs=1e-9)
