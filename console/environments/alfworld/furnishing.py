"""Furnishes the room of a task: which receptacles stand in it, and which things lie where."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from console.environments.alfworld.briefs import LOOK, PLACE, TWO, Brief
from console.environments.alfworld.catalogue import ADJOINING, FIXED, FURNITURE, HOLDS, OPENABLE, THINGS
from console.environments.alfworld.household import Household, HouseholdObject, Receptacle, order

SHARED_PLACE = 0.2
COUNTS, WEIGHTS = (0, 1, 2, 3), (30, 40, 20, 10)


def furnish(task: Brief) -> Household:
    """The household of a task: always the same for equal briefs, never solved from the start, always solvable."""
    random = Random(f"household {task.seed}")
    receptacles = sorted(_receptacles(task, random), key=order)
    starts = dict(_starts(task, receptacles, random))
    things = sorted(starts, key=order)
    return Household(
        receptacles={part.name: part for part in receptacles},
        things={thing.name: thing for thing in things},
        starts={thing.name: starts[thing] for thing in things},
    )


def _receptacles(task: Brief, random: Random) -> Iterator[Receptacle]:
    place = 0
    for kind, (least, most) in FURNITURE[task.room].items():
        least = max(least, kind == task.receptacle)
        alone = False
        for number in range(1, random.randint(least, most) + 1):
            shared = alone and kind in ADJOINING and random.random() < SHARED_PLACE
            place += not shared
            alone = not shared
            yield Receptacle(kind, number, place, random.random() < OPENABLE.get(kind, 0.0))


def _starts(task: Brief, receptacles: list[Receptacle], random: Random) -> Iterator[tuple[HouseholdObject, str]]:
    for kind in sorted(THINGS[task.room]):
        possible = [part.name for part in receptacles if kind in HOLDS[part.kind] and not _solves(task, kind, part)]
        if possible:
            for number in range(1, _count(task, kind, random) + 1):
                yield HouseholdObject(kind, number), random.choice(possible)


def _solves(task: Brief, kind: str, receptacle: Receptacle) -> bool:
    return task.type in (PLACE, TWO) and kind == task.thing and receptacle.kind == task.receptacle


def _count(task: Brief, kind: str, random: Random) -> int:
    count: int = random.choices(COUNTS, WEIGHTS)[0]
    if kind == task.thing:
        return max(count, 2 if task.type == TWO else 1)
    if kind in FIXED:
        return int(task.type == LOOK and kind == task.receptacle) or min(count, 1)
    return count
