"""Blocks of tasks are as alike as they can be in what is known of their tasks before anyone reviews."""

from random import Random

import pytest

from console.studies.design import Design, allocate
from console.studies.design.allocation import KnownTask, block_rows, describe_blocks, stratify
from console.studies.design.preregistration import preregistration

DESIGN = Design(
    name="pilot",
    source={"environment": "webshop"},
    tasks=10,
    seed=3,
    factors={"feedback": ("nl", "binary"), "score": ("shown", "hidden")},
)
KEYS = [f"t{number}" for number in range(40)]


def tasks_known(succeeded, halted=0, seed=0):
    rng = Random(seed)
    outcomes = ["succeeded"] * succeeded + ["halted"] * halted
    outcomes += ["failed"] * (len(KEYS) - len(outcomes))
    rng.shuffle(outcomes)
    return {key: KnownTask(how, rng.random(), rng.randint(3, 15)) for key, how in zip(KEYS, outcomes, strict=True)}


@pytest.mark.parametrize(("succeeded", "halted"), [(20, 0), (17, 0), (13, 6), (0, 0), (39, 1)])
def test_no_block_has_two_tasks_more_of_an_outcome_than_another(succeeded, halted):
    for seed in range(20):
        known = tasks_known(succeeded, halted, seed)
        dealt = stratify(DESIGN, KEYS, known)
        assert sorted(dealt) == sorted(KEYS)
        blocks = [dealt[at : at + 10] for at in range(0, 40, 10)]
        for outcome in ("succeeded", "failed", "halted"):
            counts = [sum(known[key].outcome == outcome for key in block) for block in blocks]
            assert max(counts) - min(counts) <= 1, (outcome, counts)


def test_score_and_length_are_closer_than_a_plain_cut_leaves_them():
    known = tasks_known(16)
    rows = block_rows(allocate(DESIGN, stratify(DESIGN, KEYS, known)), known)
    plain = block_rows(allocate(DESIGN, KEYS), known)
    for column in ("score", "steps"):
        assert spread(rows, column) < spread(plain, column) / 2


def spread(rows, column):
    values = [row[column] for row in rows]
    return max(values) - min(values)


def test_the_same_seed_deals_the_same_blocks_and_what_nothing_is_known_of_stays_as_it_was_drawn():
    known = tasks_known(16)
    assert stratify(DESIGN, KEYS, known) == stratify(DESIGN, KEYS, known)
    assert stratify(DESIGN, KEYS, {}) == tuple(KEYS)


def test_what_is_left_uneven_is_said_in_numbers():
    known = tasks_known(18)
    places = allocate(DESIGN, stratify(DESIGN, KEYS, known))
    said = " ".join(describe_blocks(places, known))
    assert "by at most 1 in tasks solved" in said
    text = preregistration(DESIGN, places, known=known)
    assert said in text
    assert "| block 1 | 10 | " in text
    even = tasks_known(20)
    assert "the same number of tasks" in " ".join(describe_blocks(allocate(DESIGN, stratify(DESIGN, KEYS, even)), even))
    unknown = " ".join(describe_blocks(places, {}))
    assert "so their blocks are random" in unknown
