"""Allocations: balanced as promised, also within strata, provably from the table; the same seed, the same table."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import BadInput
from console.studies.design import Design, allocate, balance, conditions, sample_tasks, task_count
from console.studies.design.allocation import KnownTask, block_rows, describe_blocks, promise, stratify
from console.studies.design.preregistration import preregistration

KEYS = [f"t{number}" for number in range(1_000)]


def design(n, people, **fields):
    arms = [{"name": f"c{number}"} for number in range(n)]
    base = {"name": "s", "source": {"environment": "webshop"}, "tasks": 3, "conditions": arms}
    return Design(**{**base, "participants": {"human": people}, **fields})


def allocated(found):
    return allocate(found, sample_tasks(found, KEYS))


def tallies(places):
    return {tally.what: tally for tally in balance(places)}


def by_participant(places):
    rows = {}
    for place in places:
        rows.setdefault(place.code, []).append(place)
    return rows


def test_the_reference_study():
    found = design(4, 4, tasks=25)
    places = allocated(found)
    assert len(places) == 16
    assert task_count(found) == 100
    for rows in by_participant(places).values():
        assert [place.position for place in rows] == [1, 2, 3, 4]
        assert {place.condition for place in rows} == {"c0", "c1", "c2", "c3"}
        assert len({task for place in rows for task in place.tasks}) == 100
    found = tallies(places)
    assert {name: (tally.least, tally.most) for name, tally in found.items()} == {
        "condition at position": (1, 1),
        "condition with tasks": (1, 1),
        "condition after condition": (1, 1),
        "tasks at position": (0, 2),
    }


@settings(deadline=None)
@given(n=st.integers(1, 9), squares=st.integers(1, 3), seed=st.integers(0, 10**6))
def test_complete_squares_are_balanced(n, squares, seed):
    found = tallies(allocated(design(n, n * squares, seed=seed)))
    assert found["condition at position"].even
    assert found["condition with tasks"].even
    if n % 2 == 0 or squares == 2:
        assert found["condition after condition"].even
    if n % 2 or squares == 2:
        assert found["tasks at position"].even


@settings(deadline=None)
@given(n=st.integers(1, 8), people=st.integers(1, 30), seed=st.integers(0, 10**6))
def test_incomplete_squares_are_uneven_by_one_at_most(n, people, seed):
    found = tallies(allocated(design(n, people, seed=seed)))
    for what in ("condition at position", "condition with tasks"):
        assert found[what].most - found[what].least <= 1


@settings(deadline=None)
@given(n=st.integers(1, 8), people=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_permuted_blocks_keep_groups_within_one_of_each_other(n, people, seed):
    places = allocated(design(n, people, seed=seed, comparison="between"))
    assert [place.position for place in places] == [1] * people
    assert len({place.tasks for place in places}) == 1
    for so_far in range(1, people + 1):
        sizes = Counter(place.condition for place in places[:so_far])
        assert max(sizes.values()) - (min(sizes.values()) if len(sizes) == n else 0) <= 1


@pytest.mark.parametrize("order", ["random", "fixed"])
def test_other_orders_still_spread_the_tasks_over_the_conditions(order):
    stated = {"fixed_order_because": "carry-over is the question"} if order == "fixed" else {}
    places = allocated(design(4, 8, order=order, **stated))
    assert tallies(places)["condition with tasks"].even
    orders = {tuple(place.condition for place in rows) for rows in by_participant(places).values()}
    assert len(orders) == 1 if order == "fixed" else len(orders) > 1


def test_same_seed_same_allocation_and_another_seed_another():
    assert allocated(design(4, 8, seed=3)) == allocated(design(4, 8, seed=3))
    assert allocated(design(4, 8, seed=3)) != allocated(design(4, 8, seed=4))


def test_the_sample_does_not_hang_on_the_order_of_the_source():
    found = design(4, 4, seed=9)
    assert sample_tasks(found, KEYS) == sample_tasks(found, KEYS[::-1])


def test_more_participants_leave_the_first_ones_where_they_are():
    assert allocated(design(4, 8))[:16] == allocated(design(4, 4))


def test_every_kind_of_participant_is_balanced_by_itself():
    found = design(
        4, 0, participants={"human": 4, "oracle": 4, "rules": 4, "noisy": [{"count": 4, "false_accept": 0.3}]}
    )
    places = allocated(found)
    assert [place.code for place in places][::4] == [f"P{number:02d}" for number in range(1, 17)]
    for kind in ("human", "oracle", "rules", "noisy"):
        own = tallies([place for place in places if place.kind == kind])
        assert own["condition at position"].even
        assert own["condition with tasks"].even
    rules = {place.kind: place.rule for place in places}
    assert rules["noisy"] == {"false_accept": 0.3, "false_reject": 0.1, "seconds_per_item": 30.0}
    assert rules["human"] == {}


def test_too_few_tasks_are_refused_with_the_number_needed():
    with pytest.raises(BadInput, match="needs 12 tasks, but the source has 5"):
        sample_tasks(design(4, 4), KEYS[:5])
    with pytest.raises(BadInput, match="needs 12 different tasks"):
        allocate(design(4, 4), ["a"] * 12)


def test_conditions_named_in_places_are_those_of_the_design():
    found = design(3, 6)
    assert {place.condition for place in allocated(found)} == {arm.name for arm in conditions(found)}


def test_the_same_tasks_under_every_condition():
    found = design(4, 4, same_tasks=True)
    places = allocated(found)
    assert task_count(found) == 3
    assert len({place.tasks for place in places}) == 1
    assert tallies(places)["condition at position"].even
    said = promise(found)
    assert said[0] == "Each participant has every condition once, all on the same tasks."
    assert not [sentence for sentence in said if "block" in sentence]


DESIGN = Design(
    name="pilot",
    source={"environment": "webshop"},
    tasks=10,
    seed=3,
    factors={"feedback": ("nl", "binary"), "score": ("shown", "hidden")},
)
FORTY_KEYS = [f"t{number}" for number in range(40)]


def tasks_known(succeeded, halted=0, seed=0):
    rng = Random(seed)
    outcomes = ["succeeded"] * succeeded + ["halted"] * halted
    outcomes += ["failed"] * (len(FORTY_KEYS) - len(outcomes))
    rng.shuffle(outcomes)
    return {
        key: KnownTask(how, rng.random(), rng.randint(3, 15)) for key, how in zip(FORTY_KEYS, outcomes, strict=True)
    }


@pytest.mark.parametrize(("succeeded", "halted"), [(20, 0), (17, 0), (13, 6), (0, 0), (39, 1)])
def test_no_block_has_two_tasks_more_of_an_outcome_than_another(succeeded, halted):
    for seed in range(20):
        known = tasks_known(succeeded, halted, seed)
        dealt = stratify(DESIGN, FORTY_KEYS, known)
        assert sorted(dealt) == sorted(FORTY_KEYS)
        blocks = [dealt[at : at + 10] for at in range(0, 40, 10)]
        for outcome in ("succeeded", "failed", "halted"):
            counts = [sum(known[key].outcome == outcome for key in block) for block in blocks]
            assert max(counts) - min(counts) <= 1, (outcome, counts)


def test_score_and_length_are_closer_than_a_plain_cut_leaves_them():
    known = tasks_known(16)
    rows = block_rows(allocate(DESIGN, stratify(DESIGN, FORTY_KEYS, known)), known)
    plain = block_rows(allocate(DESIGN, FORTY_KEYS), known)
    for column in ("score", "steps"):
        assert spread(rows, column) < spread(plain, column) / 2


def spread(rows, column):
    values = [row[column] for row in rows]
    return max(values) - min(values)


def test_the_same_seed_deals_the_same_blocks_and_what_nothing_is_known_of_stays_as_it_was_drawn():
    known = tasks_known(16)
    assert stratify(DESIGN, FORTY_KEYS, known) == stratify(DESIGN, FORTY_KEYS, known)
    assert stratify(DESIGN, FORTY_KEYS, {}) == tuple(FORTY_KEYS)


def test_what_is_left_uneven_is_said_in_numbers():
    known = tasks_known(18)
    places = allocate(DESIGN, stratify(DESIGN, FORTY_KEYS, known))
    said = " ".join(describe_blocks(places, known))
    assert "by at most 1 in tasks solved" in said
    text = preregistration(DESIGN, places, known=known)
    assert said in text
    assert "| block 1 | 10 | " in text
    even = tasks_known(20)
    assert "the same number of tasks" in " ".join(
        describe_blocks(allocate(DESIGN, stratify(DESIGN, FORTY_KEYS, even)), even)
    )
    unknown = " ".join(describe_blocks(places, {}))
    assert "so their blocks are random" in unknown
