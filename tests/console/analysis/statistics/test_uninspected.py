"""Bounds on what no one inspected, against enumeration, the known distributions and published counts."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats

from console.analysis.statistics.uninspected import (
    Audits,
    KnownItems,
    LabelCounts,
    bound_rest,
    bound_rest_always,
    bound_rest_always_assisted,
    bound_rest_assisted,
    count_needed_audits,
    measure_error,
    split_scores,
)
from console.errors import BadInput


def chance(population: int, drawn: int, count: int, total: int) -> float:
    """The hypergeometric probability by whole numbers."""
    return comb(total, count) * comb(population - total, drawn - count) / comb(population, drawn)


def by_enumeration(audits: Audits, level: float) -> int:
    """The largest rest for which so few misaligned audits are not too unlikely, total by total."""
    n, k, size = audits.drawn, audits.labelled, audits.population
    possible = [
        total
        for total in range(k, size - n + k + 1)
        if sum(chance(size, n, count, total) for count in range(k + 1)) > 1 - level
    ]
    return max(possible) - k


@pytest.mark.parametrize(("clean", "share"), [(60, 0.05), (161, 0.02), (348, 0.01)])
def test_of_a_thousand_actions_so_many_clean_audits_give_the_share_and_one_less_does_not(clean, share):
    assert bound_rest(Audits(1_000, clean, 0)).share <= share
    assert bound_rest(Audits(1_000, clean - 1, 0)).share > share
    assert count_needed_audits(1_000, share) == clean


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_bound_is_that_of_enumeration(level):
    for population, drawn in ((1, 1), (7, 3), (40, 11), (40, 40)):
        for labelled in range(drawn + 1):
            audits = Audits(population, drawn, labelled)
            assert bound_rest(audits, level).misaligned == by_enumeration(audits, level), audits


def test_the_fewest_clean_audits_are_those_of_trying_each_number():
    for population, share in product((2, 30, 77), (0.0, 0.05, 0.3)):
        tried = [n for n in range(population) if bound_rest(Audits(population, n, 0)).share <= share]
        assert count_needed_audits(population, share) == (min(tried) if tried else None), (population, share)


def test_label_counts_are_those_of_two_binomials_given_the_true_count():
    counts = LabelCounts(30, 8, sensitivity=0.8, alarms=0.15)
    expected = np.zeros(9)
    for true in range(9):
        caught, alarms = stats.binom(true, 0.8), stats.binom(8 - true, 0.15)
        for one, other in product(range(true + 1), range(9 - true)):
            expected[one + other] += chance(30, 8, true, 12) * caught.pmf(one) * alarms.pmf(other)
    assert counts.table(np.array([12]))[0] == pytest.approx(expected, abs=1e-12)
    assert counts.expected(12) == pytest.approx(expected @ np.arange(9))


def test_the_confidence_sequence_is_wider_than_one_look_and_narrows_with_clean_audits():
    always = [bound_rest_always(Audits(1_000, n, 0)).share for n in (0, 30, 60, 120, 900)]
    once = [bound_rest(Audits(1_000, n, 0)).share for n in (0, 30, 60, 120, 900)]
    assert always == sorted(always, reverse=True)
    assert all(one <= other for one, other in zip(once, always, strict=True))
    assert always[0] == 1.0
    # A prior of one half misaligned action in 17 costs less than half of the bound again.
    assert always[2] < 1.5 * once[2]


def test_the_confidence_sequence_fails_as_rarely_as_it_says_on_every_path():
    """Exactly, without drawing: over all orders of 12 actions, the bound is below the truth at some look in few."""
    population, total, level = 12, 8, 0.8
    alive, failed = {0: 1.0}, 0.0
    for n in range(1, population + 1):
        moved: dict[int, float] = {}
        for k, weight in alive.items():
            bad = (total - k) / (population - n + 1)
            for count, p in ((k + 1, bad), (k, 1 - bad)):
                if p > 0:
                    moved[count] = moved.get(count, 0.0) + weight * p
        for k in list(moved):
            if bound_rest_always(Audits(population, n, k), level).misaligned < total - k:
                failed += moved.pop(k)
        alive = moved
    assert 0 < failed <= 1 - level


def test_reviewers_errors_are_bounded_by_clopper_and_pearson_and_widen_the_bound():
    known = KnownItems(misaligned=40, caught=36, aligned=40, alarms=4)
    error = measure_error(known)
    interval = stats.binomtest(36, 40).proportion_ci(confidence_level=1 - 0.01, method="exact")
    assert error.sensitivity == pytest.approx(interval.low)
    alarms = stats.binomtest(4, 40).proportion_ci(confidence_level=1 - 0.005, method="exact")
    assert (error.alarms_low, error.alarms_high) == pytest.approx((alarms.low, alarms.high))
    plain, widened = bound_rest(Audits(1_000, 60, 2)), bound_rest(Audits(1_000, 60, 2), error=error)
    assert plain.share < widened.share < 1.0
    assert bound_rest_always(Audits(1_000, 60, 2), error=error).share > widened.share
    # Reviewers who were never seen to catch a misaligned action say nothing about the rest.
    assert bound_rest(Audits(1_000, 60, 2), error=measure_error(KnownItems(5, 0, 5, 0))).share == 1.0
    assert measure_error(KnownItems()).sensitivity == 0.0


def test_scores_that_separate_tighten_the_bound_and_others_cost_little():
    plain = bound_rest(Audits(1_000, 120, 24)).misaligned - 176
    separated = bound_rest_assisted(Audits(800, 96, 2), Audits(200, 24, 22)).misaligned - 176
    useless = bound_rest_assisted(Audits(500, 60, 12), Audits(500, 60, 12)).misaligned - 176
    assert separated < 0.7 * plain
    assert useless < 1.02 * plain


def test_the_assisted_bound_holds_for_every_division_of_the_misaligned_actions():
    """Exactly: for each division, the chance of samples whose bound is below the truth is at most 1 - level."""
    low, high, drawn = 14, 6, (5, 3)
    bounds = {
        (a, b): bound_rest_assisted(Audits(low, drawn[0], a), Audits(high, drawn[1], b), 0.8).misaligned
        for a, b in product(range(drawn[0] + 1), range(drawn[1] + 1))
    }
    worst = 0.0
    for below, above in product(range(low + 1), range(high + 1)):
        failed = sum(
            chance(low, drawn[0], a, below) * chance(high, drawn[1], b, above)
            for (a, b), bound in bounds.items()
            if a <= below and b <= above and bound < below + above - a - b
        )
        worst = max(worst, failed)
    assert 0.05 < worst <= 0.2 + 1e-9


def test_every_look_by_score_fails_as_rarely_as_it_says_even_if_the_labels_choose_the_next_stratum():
    """Exactly, over all paths: the next audit comes from the stratum whose labels so far are the more uncertain."""
    sizes, totals, level = (9, 7), (6, 6), 0.6
    alive, failed = {((0, 0), (0, 0)): 1.0}, 0.0
    for _ in range(sum(sizes)):
        moved: dict[tuple[tuple[int, int], tuple[int, int]], float] = {}
        for (taken, found), weight in alive.items():
            open_ = [at for at in (0, 1) if taken[at] < sizes[at]]
            at = min(open_, key=lambda place: (abs(found[place] - taken[place] / 2), -place))
            bad = (totals[at] - found[at]) / (sizes[at] - taken[at])
            for one, p in ((1, bad), (0, 1 - bad)):
                if p > 0:
                    more = tuple(n + (place == at) for place, n in enumerate(taken))
                    state = (more, tuple(k + one * (place == at) for place, k in enumerate(found)))
                    moved[state] = moved.get(state, 0.0) + weight * p
        for state in list(moved):
            parts = [Audits(size, n, k) for size, n, k in zip(sizes, *state, strict=True)]
            if bound_rest_always_assisted(*parts, level).misaligned < sum(totals) - sum(state[1]):
                failed += moved.pop(state)
        alive = moved
    assert 0 < failed <= 1 - level


def test_reviewers_errors_widen_the_bounds_by_score():
    error = measure_error(KnownItems(misaligned=40, caught=36, aligned=40, alarms=4))
    parts = Audits(800, 96, 2), Audits(200, 24, 22)
    for bound in (bound_rest_assisted, bound_rest_always_assisted):
        assert bound(*parts).share < bound(*parts, error=error).share < 1.0
    blind = measure_error(KnownItems(5, 0, 5, 0))
    assert bound_rest_always_assisted(*parts, error=blind).share == 1.0


def test_a_stratum_without_audits_counts_as_all_misaligned():
    found = bound_rest_assisted(Audits(50, 50, 0), Audits(10, 0, 0))
    assert (found.misaligned, found.rest) == (10, 10)
    assert bound_rest_always_assisted(Audits(50, 50, 0), Audits(10, 0, 0)).misaligned == 10


def test_scores_are_split_where_they_leave_the_least_variance():
    scores = np.array([0.0, 0.1, 0.15, 0.2, 0.7, 0.9, 0.95])
    least = min(
        sorted(set(scores))[:-1],
        key=lambda cut: sum(part.var() * part.size for part in (scores[scores <= cut], scores[scores > cut])),
    )
    assert split_scores(scores) == least == 0.2
    assert split_scores(np.array([0.3, 0.3])) is None
    assert split_scores(np.array([])) is None


def test_impossible_counts_are_refused():
    with pytest.raises(BadInput, match="3 misaligned of 2 audits"):
        Audits(10, 2, 3)
