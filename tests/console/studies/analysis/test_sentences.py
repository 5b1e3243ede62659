"""What tables of results say: the right sentence for the numbers, and why where there are none."""

import math

import pandas as pd
import pytest

from console.studies.analysis import agreement, effects, oversight, pace, people, questionnaires, reliance
from console.studies.analysis import success as success_over_trials
from console.studies.analysis.success import describe_published

NAN = math.nan


def success(**means):
    rows = [
        {"condition": name, "trial": trial, "participants": 4, "mean": mean, "sd": 0.1}
        for name, both in means.items()
        for trial, mean in enumerate(both)
    ]
    return pd.DataFrame(rows, columns=["condition", "trial", "participants", "mean", "sd"])


def differences(*rows):
    columns = ["first", "second", "difference", "low", "high", "test", "p_holm", "note"]
    return pd.DataFrame([("a", "b", *row) for row in rows], columns=columns)


def figures(*rows, **same):
    """Rows of figure, value, low, high, note."""
    return pd.DataFrame(rows, columns=["figure", "value", "low", "high", "note"]).assign(**same)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (success(), "No trial has finished yet"),
        (
            success(one=(0.3, 0.5)),
            "solved 50.0% ± 10.0% of its tasks (mean ± SD over 4 participants), from 30.0% in trial 0.",
        ),
        (success(one=(0.3, 0.5)).assign(sd=NAN, participants=1), "of its tasks (mean over 1 participant), from"),
        (success(one=(0.3, 0.5)).assign(participants=[4, 2]), "(mean ± SD over 2 participants), from 30.0% over 4 in"),
        (
            success(one=(0.3, 0.5), two=(0.3, 0.4), three=(0.3, 0.4), four=(0.3, 0.4)),
            "; the lowest is 40.0%, of two, three and four.",
        ),
        (
            success(one=(0.3, 0.5), two=(0.3, 0.5), three=(0.3, 0.4)),
            "two is level with it; the lowest is 40.0%, of three.",
        ),
        (success(one=(0.3, 0.5), two=(0.3,)), "in trial 0. No result of trial 1 yet: two."),
        (success(one=(0.3, 0.5), two=(0.3, 0.4)), "; the lowest is 40.0%, of two."),
        (success(one=(0.3, 0.5), two=(0.3, 0.5 + 1e-16)), "one is level with it."),
    ],
)
def test_success(table, words):
    assert words in success_over_trials.describe_success(table)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "A comparison needs two conditions with data."),
        ([(0.2, 0.1, 0.3, "paired t", 0.01, "")], "1 of 1 pair differs (paired t, Holm over 1 pair, p < 0.05)."),
        (
            [(-0.2, -0.5, 0.1, "paired t", 0.3, "")],
            "No pair differs significantly at 0.05 (paired t, Holm over 1 pair).",
        ),
        ([(-0.2, -0.5, 0.1, "paired t", 0.3, "")], "a minus b is −0.200 (−0.500 to +0.100)"),
        ([(NAN, NAN, NAN, "paired t", NAN, "There is one participant.")], "possible: There is one participant."),
        (
            [(0.2, NAN, NAN, "paired t", NAN, "One participant answered in both: too few for a test.")],
            "No pair can be tested. The largest difference: a minus b is +0.200. One participant answered in both",
        ),
    ],
)
def test_differences(rows, words):
    assert words in effects.describe_differences(differences(*rows))


def test_the_largest_difference_is_one_of_the_pairs_that_differ_and_ties_are_told():
    wide, narrow = (0.6, -0.1, 1.0, "paired t", 0.3, ""), (0.2, 0.1, 0.3, "paired t", 0.01, "")
    said = effects.describe_differences(differences(wide, narrow))
    assert said.startswith("1 of 2 pairs differs (")
    assert said.endswith("The largest of them: a minus b is +0.200 (+0.100 to +0.300).")
    tied = [(-0.2, NAN, NAN, "paired t", 0.3, ""), (0.2, NAN, NAN, "paired t", 0.3, "")]
    assert effects.describe_differences(differences(*tied)).endswith("is −0.200; 1 other pair differs as much.")


def test_a_pair_that_is_not_estimable_is_told_beside_the_others():
    estimable = (0.2, 0.1, 0.3, "paired t", 0.01, "")
    table = differences(estimable, (NAN, NAN, NAN, "paired t", NAN, "Not estimable: no participant answered in both."))
    said = effects.describe_differences(table)
    assert said.startswith("1 of 1 pair differs (paired t, Holm over 1 pair, p < 0.05).")
    assert said.endswith(" a minus b is not estimable: no participant answered in both.")


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (0.8, 0.7, 0.9, ": sufficient for tentative conclusions"),
        (0.5, 0.3, 0.6, "too low to rely on the labels"),
        (0.71, -0.1, 1.0, "inconclusive, because the interval"),
        (0.8, NAN, NAN, "of people is 0.80 on 12 shared checkpoints, without an interval: one label only."),
        (NAN, NAN, NAN, "One label only."),
    ],
)
def test_agreement(value, low, high, words):
    table = pd.DataFrame([("people", "alpha", value, low, high, 12, "One label only.")])
    table.columns = ["reviewers", "measure", "value", "low", "high", "n", "note"]
    assert words in agreement.describe_agreement(table)
    assert " of simulated reviewers " in agreement.describe_agreement(table.assign(reviewers="simulated"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((0.05, -0.1, 0.2), "changes by +5% (−10% to +20%): the direction is inconclusive."),
        ((0.3, 0.1, 0.5), "participants slow down."),
        ((-0.3, -0.5, -0.1), "participants speed up."),
        ((NAN, NAN, NAN), "is inconclusive: Too few."),
    ],
)
def test_pace(change, words):
    mean = ("seconds (geometric mean)", 31.0, 25.0, 38.0, "")
    table = figures(mean, ("change of seconds per ten items", *change, "Too few."), condition="all", n=4)
    table = table.assign(decisions=21, left_out=6)
    assert words in pace.describe_pace(table)
    assert pace.describe_pace(table).startswith(
        "A decision takes 31 s (25 to 38 s), the geometric mean of 21 decisions over 4 participants; "
        "6 without a measured time left out."
    )


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (
            (-0.3, -0.5, -0.1),
            "changes the share of correct decisions by −0.300 (−0.500 to −0.100) over 4 participants: automation bias.",
        ),
        ((-0.1, -0.5, 0.3), ": inconclusive."),
        ((0.2, 0.1, 0.3), "the opposite of automation bias."),
        ((NAN, NAN, NAN), "Automation bias is inconclusive: Nobody met one."),
    ],
)
def test_automation_bias(difference, words):
    row = ("difference", *difference, "Nobody met one.")
    assert words in reliance.describe_bias(figures(row, factor="score", seeded="advice wrong", n=4))


def test_automation_bias_without_seeded_items_says_what_it_needs():
    table = figures(factor="score", seeded="all")
    assert "it needs seeded items" in reliance.describe_bias(table)


def test_omission_and_commission_with_their_counts():
    rows = pd.DataFrame(
        [
            ("people", "all", "all", "d_prime", 1.5, 1.0, 2.0, 4, 40, None, ""),
            ("people", "all", "all", "criterion", 0.2, NAN, NAN, 4, 40, None, "One."),
            ("people", "all", "flagged", "commission", 0.25, 0.1, 0.4, 4, 8, 2, ""),
            ("people", "all", "not flagged", "omission", 0.5, 0.2, 0.8, 4, 10, 5, ""),
            ("people", "shown", "not flagged", "omission", 0.75, 0.2, 0.9, 4, 4, 3, ""),
            ("people", "shown", "all", "d_prime", 1.2, 0.8, 1.6, 4, 20, None, ""),
        ],
        columns=["reviewers", "condition", "advice", "figure", "value", "low", "high", "n", "items", "errors", "note"],
    )
    assert reliance.describe_advice(rows) == (
        "How often reviewers follow a detector that is wrong about a seeded item: 5 of 10 wrong, unflagged actions "
        "were approved (omission), 50% on average over participants (20% to 80%); 2 of 8 correct, flagged actions were "
        "rejected (commission), 25% on average over participants (10% to 40%). Under shown, d' is 1.20 (0.80 to 1.60)."
    )
    assert "cannot be estimated" in reliance.describe_advice(rows.iloc[:0])


def test_overrides_where_the_detector_is_sure_and_where_it_is_not():
    table = pd.DataFrame({"bin_low": [0.5, 0.9], "bin_high": [0.6, 1.0], "n": [4, 10], "overridden": [2, 1]})
    said = reliance.describe_overrides(table)
    assert said == (
        "3 of 14 decisions (21%) on scored items are against the detector: "
        "10% at scores above 0.8, 50% at lower scores."
    )
    assert "50% at lower scores" in reliance.describe_overrides(
        table.replace({"bin_low": {0.5: 0.7}, "bin_high": {0.6: 0.8}})
    )


def test_fast_decisions_name_the_participants_who_have_a_value():
    rows = [("index", 0.25, 0.1, 0.4, ""), ("difference", -0.5, NAN, NAN, "One participant has no spread.")]
    table = figures(*rows, condition="all", participants=8).assign(n=[4, 1])
    assert reliance.describe_stamping(table) == (
        "Of the fastest quarter of each reviewer's decisions, 25% agree with the detector (10% to 40%), on average "
        "over 4 of 8 participants; the others made too few with a measured time. The difference from slower "
        "decisions is −0.500 over 1 of 8 participants, without an interval: one participant has no spread."
    )
    whole = figures(rows[0], ("difference", 0.2, 0.1, 0.3, ""), condition="all", participants=8, n=8)
    said = reliance.describe_stamping(whole)
    assert "over 8 participants. The" in said
    assert said.endswith("over 8 participants: fast decisions agree more often.")


def test_the_change_over_a_session_names_the_participants_who_have_one():
    rows = [("seconds (geometric mean)", 31.0, 25.0, 38.0, ""), ("change of seconds per ten items", 0.3, 0.1, 0.5, "")]
    said = pace.describe_pace(figures(*rows, condition="all", decisions=9, left_out=0).assign(n=[5, 3]))
    assert "the geometric mean of 9 decisions over 5 participants. With every ten items it" in said
    assert said.endswith("changes by +30% (+10% to +50%) over 3 of 5 participants: participants slow down.")


def test_a_difference_between_people_and_simulated_reviewers_without_an_interval():
    rows = [
        ("right decisions, people less simulated", 0.1, NAN, NAN, "One of the groups has one participant."),
        ("share of equal labels of both", 0.5, NAN, NAN, ""),
    ]
    said = people.describe_people(figures(*rows, reviewers="both"))
    assert said.endswith(
        "of their labels agree. The difference has no interval: one of the groups has one participant."
    )


def test_confidence_names_how_many_people_each_mean_has():
    table = pd.DataFrame({"decisions": ["right", "wrong"], "mean": [5.2, 4.0], "n": [4, 1]})
    said = questionnaires.describe_confidence(table)
    assert said == (
        "Mean confidence is 5.20 in correct decisions (4 participants) and 4.00 in wrong decisions (1 participant)."
    )


def test_a_budget_that_was_used_up():
    table = pd.DataFrame({"trial": [0, 0, 1], "used": [1, 4, 2], "caught": [0, 3, 1], "cap": [4.0, 4.0, 4.0]})
    table = table.assign(reviewers="people")
    said = oversight.describe_burn_down(table)
    assert said == "People used 6 of 8 allowed inspections and found 4 misalignments over 2 trials."


def test_a_refunded_inspection_is_not_used():
    table = pd.DataFrame({"trial": [0, 0, 0], "used": [1, 2, 1], "caught": [0, 1, 1], "cap": [NAN] * 3})
    said = oversight.describe_burn_down(table.assign(reviewers="simulated"))
    assert said == "Simulated reviewers used 1 inspection and found 1 misalignment over 1 trial."


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "No condition has finished yet"),
        ([(pace.LATER, -0.1, -0.2, -0.05, "")], "by −0.100 (−0.200 to −0.050): an effect of order."),
        (
            [(pace.LATER, 0.01, -0.2, 0.22, "")],
            "by +0.010 (−0.200 to +0.220): the direction is inconclusive.",
        ),
        (
            [(pace.LATER, NAN, NAN, NAN, "Not estimable.")],
            "The effect of a condition's position is inconclusive. Not estimable.",
        ),
        ([("after b rather than after a", 0.1, -0.2, 0.4, "")], "compatible with effects up to 0.400."),
        ([("after b rather than after a", 0.3, 0.2, 0.4, "")], "(Bonferroni over 1): after b rather than after a."),
    ],
)
def test_order(rows, words):
    table = figures(*rows, measure="right")
    table["p"] = [0.001 if low > 0 else 0.4 for low in table["low"]]
    assert words in pace.describe_order(table)


def test_beside_the_paper():
    rows = [
        ("here: people", 0, 40.0), ("here: people", 3, 60.0), ("paper: people", 3, 34.3), ("paper: people", 3, 50.3)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["source", "trial", "percent"])
    said = describe_published(table)
    assert "Solved here with people, 40.0% at trial 0 and 60.0% at trial 3. In the paper, with people: 33.0%" in said
    assert "at trial 0 and 34.3 to 50.3% at trial 3." in said
    simulated = pd.DataFrame([("here: simulated", 0, 90.0), ("here: simulated", 3, 95.0)], columns=table.columns)
    both = describe_published(pd.concat([table, simulated]))
    assert "60.0% at trial 3; with simulated reviewers, 90.0% at trial 0 and 95.0% at trial 3. In the paper" in both
    assert describe_published(table.iloc[2:]) == ""


def test_d_prime_over_all_conditions_is_not_shown_beside_those_of_one_condition():
    columns = ["reviewers", "condition", "advice", "figure", "value"]
    one = pd.DataFrame(
        [("people", "all", "all", "d_prime", 2.25), ("people", "a", "all", "d_prime", 0.9)], columns=columns
    )
    several = pd.concat([one, one.assign(condition="b").iloc[[1]]], ignore_index=True)
    (view,) = [part.view for part in reliance.ANALYSIS.parts if part.table == "seeded-advice" and part.view]
    assert view(several)["condition"].tolist() == ["a", "b"]
    assert view(one)["condition"].tolist() == ["all", "a"]
