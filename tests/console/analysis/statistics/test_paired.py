import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from console.analysis.statistics import paired
from console.errors import BadInput

# Student (1908), The probable error of a mean: hours of sleep gained by ten patients under two drugs.
FIRST_DRUG = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND_DRUG = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
# Hollander and Wolfe (1973), Nonparametric Statistical Methods, pp. 27 and 69.
FIRST_VISIT = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
SECOND_VISIT = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLIER = [1.15, 0.88, 0.90, 0.74, 1.21]


def frame(**columns):
    rows = [(f"P{k:02}", name, value) for name, values in columns.items() for k, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["participant", "condition", "value"])


def by_name(comparison):
    return {test.name: test for test in comparison.tests}


def test_the_paired_t_of_students_sleep():
    found = paired.compare(frame(a=FIRST_DRUG, b=SECOND_DRUG), "value", "a", "b")
    test = by_name(found)["paired t"]
    assert (test.statistic, test.p_value) == pytest.approx((-4.0621, 0.002833), abs=5e-5)
    assert found.difference.value == pytest.approx(-1.58)
    assert found.difference.df == 9
    assert (found.difference.interval.low, found.difference.interval.high) == pytest.approx(
        (-2.4599, -0.7001), abs=1e-4
    )


def test_welchs_t_of_students_sleep_taken_as_two_groups():
    found = paired.compare(frame(a=FIRST_DRUG, b=SECOND_DRUG), "value", "a", "b", "between")
    test = by_name(found)["Welch t"]
    assert (test.statistic, test.p_value) == pytest.approx((-1.8608, 0.07939), abs=5e-5)
    assert found.difference.df == pytest.approx(17.776, abs=5e-4)
    assert (found.difference.interval.low, found.difference.interval.high) == pytest.approx((-3.3655, 0.2055), abs=1e-4)


def test_the_rank_tests_of_hollander_and_wolfe():
    signed = by_name(paired.compare(frame(a=FIRST_VISIT, b=SECOND_VISIT), "value", "a", "b"))["Wilcoxon signed rank"]
    assert signed.p_value == pytest.approx(0.03906, abs=5e-5)
    assert signed.effect.value == pytest.approx((40 - 5) / 45)
    ranked = by_name(paired.compare(frame(a=AT_TERM, b=EARLIER), "value", "a", "b", "between"))["Mann-Whitney"]
    assert (ranked.statistic, ranked.p_value) == pytest.approx((35, 0.2544), abs=5e-5)
    assert ranked.effect.value == pytest.approx(2 * 35 / 50 - 1)


@pytest.mark.parametrize("design", ["within", "between"])
def test_the_bounds_of_g_are_where_the_noncentral_t_leaves_two_and_a_half_percent(design):
    found = paired.compare(frame(a=FIRST_DRUG, b=SECOND_DRUG), "value", "a", "b", design)
    test = found.tests[0]
    df, scale = (9, 10**-0.5) if design == "within" else (18, 5**-0.5)
    t = test.statistic if design == "within" else stats.ttest_ind(FIRST_DRUG, SECOND_DRUG).statistic
    bounds = test.effect.interval
    left = [float(stats.nct.cdf(t, df, bound / scale)) for bound in (bounds.low, bounds.high)]
    assert left == pytest.approx([0.975, 0.025], abs=1e-6)
    assert test.effect.value == pytest.approx(t * scale * (1 - 3 / (4 * df - 1)), rel=2e-3)


def test_with_four_participants_wilcoxon_is_exact_and_says_what_it_cannot_reach():
    found = by_name(paired.compare(frame(a=[3, 4, 5, 7], b=[1, 2, 3, 4]), "value", "a", "b"))
    assert found["Wilcoxon signed rank"].p_value == pytest.approx(0.125)  # although three differences are tied
    assert "cannot give a p-value below 0.125" in found["Wilcoxon signed rank"].note


@pytest.mark.parametrize("people", [5, 9, 12, 13, 30])
def test_wilcoxon_is_scipys_where_no_values_are_tied(people):
    apart = np.random.default_rng(people).normal(0.4, 1, people)
    found = by_name(paired.compare(frame(a=apart, b=np.zeros(people)), "value", "a", "b"))["Wilcoxon signed rank"]
    theirs = stats.wilcoxon(apart)
    assert (found.statistic, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_holm_corrects_over_the_pairs_of_conditions():
    draw = np.random.default_rng(2)
    found = paired.compare_all_pairs(
        frame(a=draw.normal(0, 1, 8), b=draw.normal(1, 1, 8), c=draw.normal(2, 1, 8)), "value"
    )
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    given_p = sorted(one.tests[0].p_value for one in found)
    expected = np.maximum.accumulate(np.minimum(1, np.array(given_p) * [3, 2, 1]))
    assert sorted(one.tests[0].adjusted for one in found) == pytest.approx(list(expected))


def test_equal_values_are_no_crash():
    same = frame(a=[1, 1, 1], b=[1, 1, 1])
    for design in ("within", "between"):
        (found,) = paired.compare_all_pairs(same, "value", design)
        assert found.difference.value == 0
        assert found.difference.interval is None
        assert "equal" in found.difference.note
        assert found.tests[0].p_value is None
        assert found.tests[0].adjusted is None


def met(**conditions):
    """A row for each condition that a participant met."""
    rows = [(who, name, value) for who, values in conditions.items() for name, value in values.items()]
    return pd.DataFrame(rows, columns=["participant", "condition", "value"])


def test_a_pair_that_nobody_did_both_of_is_not_estimable_and_the_others_are():
    rows = met(p={"a": 0.5, "b": 0.4}, q={"a": 0.1, "b": 0.4}, r={"a": 0.1, "c": 0.4}, s={"a": 0.3, "c": 0.1})
    found = {(one.first, one.second): one for one in paired.compare_all_pairs(rows, "value")}
    nobody = found["b", "c"]
    said = {nobody.difference.note, *(test.note for test in nobody.tests), *(test.effect.note for test in nobody.tests)}
    assert said == {"Not estimable: no participant answered in both."}
    assert [test.n for test in nobody.tests] == [0, 0]
    assert found["a", "b"].tests[0].p_value is not None


def test_one_participant_who_did_both_is_too_few_for_a_test():
    (found,) = paired.compare_all_pairs(met(p={"a": 0.5, "b": 0.4}), "value")
    assert found.difference.value == pytest.approx(0.1)
    assert {test.note for test in found.tests} == {"One participant answered in both: too few for a test."}


def test_a_group_that_nobody_or_one_answered_in_is_too_few_for_a_test():
    rows = met(p={"a": 0.5}, q={"a": 0.1}, r={"b": 0.2}, s={"c": None})
    found = {(one.first, one.second): one for one in paired.compare_all_pairs(rows, "value", "between")}
    assert {test.note for test in found["a", "b"].tests} == {"A group of one participant is too few for a test."}
    assert {test.note for test in found["a", "c"].tests} == {"Not estimable: one condition has no answers."}
    assert found["a", "c"].difference.value is None


def test_who_did_only_one_condition_counts_between_but_not_within():
    rows = frame(a=[1.0, 2, 4, 5], b=[2.0, 4, 7])
    assert paired.compare(rows, "value", "a", "b").difference.n == 3
    assert paired.compare(rows, "value", "a", "b", "between").difference.n == 7


def test_an_unknown_condition_is_named():
    with pytest.raises(BadInput, match="No row has condition 'z'"):
        paired.compare(frame(a=[1], b=[2]), "value", "a", "z")


VALUES = st.lists(st.integers(0, 25), min_size=3, max_size=9)


@pytest.mark.at_length
@given(values=st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), min_size=3, max_size=9))
def test_the_other_way_round_is_the_same_with_its_sign_turned(values):
    rows = frame(a=[a for a, _ in values], b=[b for _, b in values])
    for design in ("within", "between"):
        one, other = (paired.compare(rows, "value", *pair, design) for pair in (("a", "b"), ("b", "a")))
        assert one.difference.value == pytest.approx(-other.difference.value)
        for mine, theirs in zip(one.tests, other.tests, strict=True):
            assert mine.p_value == (None if theirs.p_value is None else pytest.approx(theirs.p_value))
            if mine.effect.value is not None:
                assert mine.effect.value == pytest.approx(-theirs.effect.value)
