"""How a limited number of inspections is spent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import BadInput
from console.review.simulated.orders import INSPECTION_ORDERS, Candidate, count_inspections, count_kept
from console.trajectory import Label

CANDIDATES = st.lists(
    st.builds(
        Candidate,
        st.floats(0, 1),
        st.sampled_from([Label.ALIGNED, Label.MISALIGNED, None]),
        st.none() | st.floats(0, 100),
    ),
    max_size=30,
)


@pytest.mark.parametrize(("non_halted", "budget"), [(272, 136), (240, 120), (105, 53)])
def test_half_of_the_papers_trajectories(non_halted, budget):
    assert count_inspections(0.5, non_halted) == budget


@pytest.mark.parametrize(
    ("true_positives", "false_positives", "budget", "expected"),
    [(100, 100, 136, 36), (100, 0, 136, 100), (10, 140, 136, 0), (50, 70, 120, 50), (0, 10, 53, 0)],
)
def test_kept_when_false_alarms_come_first(true_positives, false_positives, budget, expected):
    assert count_kept(true_positives, false_positives, budget) == expected


@given(CANDIDATES, st.integers(0, 40), st.integers(0, 5))
def test_fp_first_inspects_exactly_the_kept_ones_within_a_budget(candidates, budget, seed):
    judged = [candidate for candidate in candidates if candidate.label is not None]
    false_alarms = sum(candidate.label is Label.ALIGNED for candidate in judged)
    inspected = [candidates[at] for at in INSPECTION_ORDERS["fp-first"](candidates, seed)[:budget]]
    found = sum(candidate.label is Label.MISALIGNED for candidate in inspected)
    assert found == count_kept(len(judged) - false_alarms, false_alarms, budget)


@given(CANDIDATES, st.integers(0, 5))
def test_every_order_looks_at_each_once_and_at_halted_trials_last(candidates, seed):
    for inspection_order in INSPECTION_ORDERS.values():
        order = inspection_order(candidates, seed)
        assert sorted(order) == list(range(len(candidates)))
        halted = [candidates[at].label is None for at in order]
        assert halted == sorted(halted)


@given(CANDIDATES)
def test_priority_goes_from_high_to_low(candidates):
    order = INSPECTION_ORDERS["priority"](candidates, 0)
    priorities = [candidates[at].priority for at in order if candidates[at].label is not None]
    assert priorities == sorted(priorities, reverse=True)


def test_expected_cost_goes_before_priority_where_it_is_known():
    dear, likely, unknown = (
        Candidate(0.2, Label.ALIGNED, 9.0),
        Candidate(0.9, Label.ALIGNED, 0.9),
        Candidate(0.95, None),
    )
    assert INSPECTION_ORDERS["expected-cost"]([unknown, likely, dear], 0) == [2, 1, 0]
    assert INSPECTION_ORDERS["expected-cost"]([Candidate(0.2, Label.ALIGNED), Candidate(0.9, Label.ALIGNED)], 0) == [
        1,
        0,
    ]


def test_random_order_knows_neither_label_nor_priority_and_follows_its_seed():
    candidates = [Candidate(place / 40, Label.MISALIGNED if place % 2 else Label.ALIGNED) for place in range(40)]
    plain = [Candidate(0.5, Label.ALIGNED)] * 40
    assert INSPECTION_ORDERS["random"](candidates, 3) == INSPECTION_ORDERS["random"](plain, 3)
    assert INSPECTION_ORDERS["random"](candidates, 3) != INSPECTION_ORDERS["random"](candidates, 4)


def test_the_seed_mixes_equals():
    candidates = [Candidate(0.5, Label.MISALIGNED)] * 20
    assert INSPECTION_ORDERS["fp-first"](candidates, 1) != INSPECTION_ORDERS["fp-first"](candidates, 2)


def test_a_share_is_no_percentage():
    with pytest.raises(BadInput, match="from 0 to 1"):
        count_inspections(50, 272)
