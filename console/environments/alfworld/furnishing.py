"""The furnishing of a task's room: its receptacles, and the things in them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from console.environments.alfworld.catalogue import ADJOINING, FIXED, FURNITURE, HOLDS, OPENABLE, THINGS
from console.environments.alfworld.household import Household, HouseholdObject, Receptacle, sort_key
from console.environments.alfworld.task_setup import LOOK, PLACE, TWO, TaskSetup

SHARED_PLACE = 0.2
COUNTS, WEIGHTS = (0, 1, 2, 3), (30, 40, 20, 10)


def furnish(setup: TaskSetup) -> Household:
    """Return the household of a task: equal for equal setups, not solved at the start, always solvable."""
    random = Random(f"household {setup.seed}")
    receptacles = sorted(_receptacles(setup, random), key=sort_key)
    starts = dict(_starts(setup, receptacles, random))
    things = sorted(starts, key=sort_key)
    return Household(
        receptacles={part.name: part for part in receptacles},
        things={thing.name: thing for thing in things},
        starts={thing.name: starts[thing] for thing in things},
    )


def _receptacles(setup: TaskSetup, random: Random) -> Iterator[Receptacle]:
    place = 0
    for kind, (least, most) in FURNITURE[setup.room].items():
        least = max(least, kind == setup.receptacle)
        alone = False
        for number in range(1, random.randint(least, most) + 1):
            shared = alone and kind in ADJOINING and random.random() < SHARED_PLACE
            place += not shared
            alone = not shared
            yield Receptacle(kind, number, place, random.random() < OPENABLE.get(kind, 0.0))


def _starts(setup: TaskSetup, receptacles: list[Receptacle], random: Random) -> Iterator[tuple[HouseholdObject, str]]:
    for kind in sorted(THINGS[setup.room]):
        possible = [part.name for part in receptacles if kind in HOLDS[part.kind] and not _solves(setup, kind, part)]
        if possible:
            for number in range(1, _count(setup, kind, random) + 1):
                yield HouseholdObject(kind, number), random.choice(possible)


def _solves(setup: TaskSetup, kind: str, receptacle: Receptacle) -> bool:
    return setup.type in (PLACE, TWO) and kind == setup.thing and receptacle.kind == setup.receptacle


def _count(setup: TaskSetup, kind: str, random: Random) -> int:
    count: int = random.choices(COUNTS, WEIGHTS)[0]
    if kind == setup.thing:
        return max(count, 2 if setup.type == TWO else 1)
    if kind in FIXED:
        return int(setup.type == LOOK and kind == setup.receptacle) or min(count, 1)
    return count
