"""A flag carries nothing about seeding within a round: the draw of unflagged items, and rounds of a real study."""

from random import Random

import numpy as np
import pytest
from sqlmodel import select

from console.database import reading
from console.studies.sessions import joining, steps
from console.studies.sessions.next_item import draw_unflagged
from storage import tables
from tests.blindness import p_of_flags


def round_of(own_flagged, known_flagged, own, known):
    """(flagged, seeded) of each item of a round."""
    flags = [True] * (own_flagged + known_flagged) + [False] * (own + known)
    return np.array(flags), np.array([False] * own_flagged + [True] * known_flagged + [False] * own + [True] * known)


def rounds_of(seed, count=30, draw=True):
    """Rounds as the presets have them, with the draw or with all that could be drawn."""
    rng, rounds = Random(seed), []
    for _ in range(count):
        own_flagged, known_flagged, own, known = rng.randint(4, 12), 5, rng.randint(0, 3), 4
        if draw:
            kept = draw_unflagged(range(own), range(known), own_flagged, known_flagged, rng)
            own, known = map(len, kept)
        rounds.append(round_of(own_flagged, known_flagged, own, known))
    return rounds


@pytest.mark.at_length
def test_under_twenty_seeds_no_draw_tells_and_flags_that_go_with_seeding_are_found():
    told = sorted(p_of_flags(rounds_of(seed)) for seed in range(20))
    assert told[0] * 20 > 0.05, "after Holm"
    assert sum(p_of_flags(planted_rounds(seed)) < 0.05 for seed in range(20)) >= 18
    assert sum(p_of_flags(rounds_of(seed, draw=False)) < 0.05 for seed in range(20)) >= 18, "without the draw it tells"


def planted_rounds(seed):
    """300 items in rounds of 20, half of them seeded, whose flags go with seeding at a correlation of .2."""
    rng, seeded = np.random.default_rng(seed), np.arange(20) < 10
    return [(rng.random(20) < np.where(seeded, 0.6, 0.4), seeded) for _ in range(15)]


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ((6, 4, 10, 10), [(10, 6), (9, 7)]),
        ((6, 4, 6, 4), [(6, 4)]),
        ((6, 4, 4, 4), [(4, 2), (3, 3)]),
        ((6, 0, 5, 3), [(5, 0)]),
        ((0, 3, 5, 3), [(0, 0)]),
        ((0, 0, 5, 3), [(5, 0)]),
        ((5, 5, 0, 4), [(0, 0)]),
    ],
)
def test_the_share_of_seeded_items_is_that_of_the_flagged(given, sizes):
    own_flagged, known_flagged, own, known = given
    found = {
        tuple(map(len, draw_unflagged(range(own), range(known), own_flagged, known_flagged, Random(seed))))
        for seed in range(30)
    }
    assert found == set(sizes)


@pytest.mark.at_length
def test_a_study_shows_as_many_seeded_among_unflagged_as_among_flagged(study, decide):
    checks = {"known_good": 2, "known_bad": 2, "unflagged_good": 2, "unflagged_bad": 2, "audited": 0.5}
    made = study(factors={}, tasks=14, budget=None, seed=4, trials=2, checks=checks)
    person = joining.join(made.join_code)
    joining.finish_instructions(person.id)
    rounds = {}
    while (place := steps.find_position(person.id)).kind != "finished":
        if place.kind not in ("review", "probe"):
            (steps.begin if place.kind == "introduction" else steps.hand_over)(person.id)
            continue
        if place.claim.kind != "halted":
            rounds.setdefault(place.trial, []).append((flagged(place.claim.item_id), place.kind == "probe"))
        decide(place, "look again")
    assert any(not flag for flag, _ in rounds[1]), "the round shows unflagged items"
    for items in rounds.values():
        shares = [[seeded for flag, seeded in items if flag is wanted] for wanted in (True, False)]
        if all(shares):
            expected = sum(shares[0]) / len(shares[0]) * len(shares[1])
            assert abs(sum(shares[1]) - expected) < 1, items


def flagged(item_id):
    """Whether the detector flags the item's action."""
    with reading() as session:
        item, verdict = tables.Item, tables.Verdict
        of_item = select(verdict.flagged).join(item, item.verdict_id == verdict.id).where(item.id == item_id)
        return session.exec(of_item).one()
