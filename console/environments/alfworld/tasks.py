"""Household tasks: any number of tasks per seed, each with a short plan that solves the task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from random import Random

from console.environments.alfworld.catalogue import APPLIANCE
from console.environments.alfworld.furnishing import furnish
from console.environments.alfworld.household import MIDDLE_OF_THE_ROOM, Household
from console.environments.alfworld.task_setup import LOOK, TREATMENT, TWO, WORDINGS, TaskSetup, choices
from console.environments.environment import TaskSpec


def tasks(seed: int, count: int) -> list[TaskSpec]:
    """Return the first `count` tasks of a seed, the six types in turn; `gold` holds the target and a solution."""
    return [_task(seed, index) for index in range(count)]


def plan(setup: TaskSetup, household: Household) -> list[str]:
    """Return the actions that solve a task in its household."""
    targets = [name for name, thing in household.things.items() if thing.kind == setup.thing]
    route = _Route(household)
    if setup.type == LOOK:
        lamp = next(name for name, thing in household.things.items() if thing.kind == setup.receptacle)
        return [*route.fetch(targets[0]), *route.reach(household.starts[lamp]), f"use {lamp}"]
    goal = _first(household, setup.receptacle)
    actions: list[str] = []
    for target in targets[: 2 if setup.type == TWO else 1]:
        actions += route.fetch(target)
        if treatment := TREATMENT.get(setup.type):
            appliance = _first(household, APPLIANCE[treatment])
            actions += [*route.reach(appliance), f"{treatment} {target} with {appliance}"]
        actions += [*route.open_at(goal), f"move {target} to {goal}"]
    return actions


def _task(seed: int, index: int) -> TaskSpec:
    setup = _setup(seed, index)
    return TaskSpec(
        task_id=f"alfworld-{seed}-{index}",
        environment="alfworld",
        instruction=setup.instruction,
        gold={
            "type": setup.type,
            "thing": setup.thing,
            "receptacle": setup.receptacle,
            "actions": plan(setup, furnish(setup)),
        },
        options=asdict(setup),
    )


def _setup(seed: int, index: int) -> TaskSetup:
    random = Random(f"brief {seed} {index}")
    task_type = list(WORDINGS)[(seed + index) % len(WORDINGS)]
    room, thing, receptacle = random.choice(choices(task_type))
    return TaskSetup(task_type, room, thing, receptacle, random.randrange(2), f"{seed} {index}")


class _Route:
    def __init__(self, household: Household) -> None:
        self._receptacles, self._starts = household.receptacles, household.starts
        self._place = MIDDLE_OF_THE_ROOM
        self._opened: set[str] = set()

    def reach(self, name: str) -> Iterator[str]:
        if self._receptacles[name].place != self._place:
            self._place = self._receptacles[name].place
            yield f"go to {name}"

    def open_at(self, name: str) -> Iterator[str]:
        yield from self.reach(name)
        if self._receptacles[name].openable and name not in self._opened:
            self._opened.add(name)
            yield f"open {name}"

    def fetch(self, thing: str) -> Iterator[str]:
        source = self._starts[thing]
        yield from self.open_at(source)
        yield f"take {thing} from {source}"


def _first(household: Household, kind: str) -> str:
    return next(part.name for part in household.receptacles.values() if part.kind == kind)
