"""The meter of a round shows what the participant did, and nothing of what an item is."""

import random
import re

import pytest

from console.database import now_ms, review_queue
from console.studies.sessions import joining, steps
from tests.participant_frames import Tab, streamlit_runtime

SEEDED = {"known_good": 1, "known_bad": 2, "unflagged_good": 1, "audited": 0.6}
DESIGNS = {
    "nothing seeded": {"tasks": 8, "budget": "3"},
    "seeded": {"tasks": 10, "budget": "3", "checks": SEEDED},
    "seeded, every item paid": {"tasks": 10, "budget": "10", "checks": SEEDED},
    "seeded, halted trials free": {"tasks": 10, "budget": "3", "checks": SEEDED, "halted_free": True},
    "attention checks": {"tasks": 8, "budget": "3", "checks": {"attention": 2}},
}


def shown(tab):
    """(used, cap) of the meter that the participant's page draws, or None."""
    found = re.search(r'aria-valuemax=\\?"(\d+)\\?" aria-valuenow=\\?"(\d+)', "\n".join(map(str, tab.frames())))
    return found and (int(found[2]), int(found[1]))


def skip(place):
    """Skips the item of a place."""
    claim = place.claim
    review_queue().skip(item_id=claim.item_id, reviewer=place.participant.code, token=claim.token, now_ms=now_ms())


def walk_rounds(person, answer):
    """Per round, for each item in turn: its place, and the meter as it was drawn first and then again."""
    tab, rounds = Tab(person.secret), {}
    while True:
        first = shown(tab)
        place = steps.find_position(person.id)
        if place.kind == "finished":
            return rounds
        if place.kind not in ("review", "probe"):
            (steps.begin if place.kind == "introduction" else steps.hand_over)(person.id)
            continue
        rounds.setdefault((place.condition, place.trial), []).append((place, first, shown(tab)))
        answer(place)


@pytest.fixture
def person(study, request):
    """A participant of a study with the design."""
    made = study(**{"factors": {}, "seed": 3} | request.param)
    joined = joining.join(made.join_code)
    joining.finish_instructions(joined.id)
    with streamlit_runtime():
        yield joined


USUAL = "seeded"


@pytest.mark.parametrize(
    "person",
    [pytest.param(d, id=name, marks=[pytest.mark.at_length] * (name != USUAL)) for name, d in DESIGNS.items()],
    indirect=True,
)
def test_the_meter_moves_alike_whatever_the_item_is(person, decide):
    for items in walk_rounds(person, lambda place: decide(place, "look again")).values():
        meters = [first for _place, first, _again in items]
        assert meters == [again for _place, _first, again in items], "a rendering differs from the first"
        assert len({cap for _used, cap in meters}) == 1, meters
        free = [place.run.halted_free and place.claim.kind == "halted" for place, _first, _again in items]
        assert [used for used, _cap in meters] == [n - sum(free[:n]) for n in range(1, len(items) + 1)]


@pytest.mark.at_length
@pytest.mark.parametrize("person", [DESIGNS["seeded"]], indirect=True)
def test_what_is_skipped_does_not_move_the_cap(person, decide):
    chance = random.Random(2)
    rounds = walk_rounds(person, lambda place: skip(place) if chance.random() < 0.4 else decide(place, "look again"))
    assert {place.kind for items in rounds.values() for place, _first, _again in items} == {"probe", "review"}
    for items in rounds.values():
        assert all(first == again for _place, first, again in items)
        assert len({first[1] for _place, first, _again in items}) == 1
