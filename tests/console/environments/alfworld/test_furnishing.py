"""The rooms that tasks are set in."""

import pytest

from console.environments.alfworld.catalogue import ADJOINING, FURNITURE, HOLDS, THINGS
from console.environments.alfworld.household import initial_state
from console.environments.alfworld.tasks import furnish, task_setup, tasks
from console.environments.alfworld.world import is_reached

HOUSES = [(asked, furnish(asked)) for asked in (task_setup(task.options) for task in tasks(21, 240))]


def test_everything_lies_where_it_fits():
    for asked, household in HOUSES:
        for name, source in household.starts.items():
            kind = household.things[name].kind
            assert kind in HOLDS[household.receptacles[source].kind]
            assert kind in THINGS[asked.room]


def test_no_task_is_done_from_the_start_and_there_is_enough_to_do_it_with():
    for asked, household in HOUSES:
        assert not is_reached(asked, initial_state(household))
        targets = sum(thing.kind == asked.thing for thing in household.things.values())
        assert targets >= (2 if asked.type == "pick_two_obj_and_place" else 1)


def test_a_room_has_the_furniture_of_its_kind_numbered_from_one():
    for asked, household in HOUSES:
        for kind, (least, most) in FURNITURE[asked.room].items():
            numbers = sorted(part.number for part in household.receptacles.values() if part.kind == kind)
            assert numbers == list(range(1, len(numbers) + 1))
            assert max(least, kind == asked.receptacle) <= len(numbers) <= most


def test_at_most_two_receptacles_of_a_kind_that_adjoins_share_a_place():
    shared = 0
    for _, household in HOUSES:
        for place in {part.place for part in household.receptacles.values()}:
            there = [part for part in household.receptacles.values() if part.place == place]
            shared += len(there) == 2
            assert len(there) == 1 or (len(there) == 2 and {part.kind for part in there} <= ADJOINING)
    assert shared > 0


def test_some_cabinets_have_doors_and_some_have_none():
    cabinets = [part for _, household in HOUSES for part in household.receptacles.values() if part.kind == "cabinet"]
    assert {part.openable for part in cabinets} == {True, False}


@pytest.mark.parametrize("room", FURNITURE)
def test_everything_in_a_room_has_furniture_there_that_always_holds_it(room):
    always = [kind for kind, (least, _) in FURNITURE[room].items() if least]
    assert all(any(thing in HOLDS[kind] for kind in always) for thing in THINGS[room])
