"""A shortest sensible way to do a household task, by one who knows where everything is."""

from __future__ import annotations

from collections.abc import Iterator

from console.environments.alfworld.briefs import LOOK, TREATMENT, TWO, Brief, brief
from console.environments.alfworld.catalogue import APPLIANCE
from console.environments.alfworld.furnishing import furnish
from console.environments.alfworld.household import Household
from console.environments.alfworld.state import MIDDLE_OF_THE_ROOM
from console.environments.environment import TaskSpec


def oracle_actions(task: TaskSpec) -> list[str]:
    """The actions that do the task, in order; raises BadInput where it is not a household task."""
    asked = brief(task.options)
    return plan(asked, furnish(asked))


def plan(task: Brief, household: Household) -> list[str]:
    """The actions that do a task in its household."""
    targets = [name for name, thing in household.things.items() if thing.kind == task.thing]
    route = _Route(household)
    if task.type == LOOK:
        lamp = next(name for name, thing in household.things.items() if thing.kind == task.receptacle)
        return [*route.fetch(targets[0]), *route.reach(household.starts[lamp]), f"use {lamp}"]
    goal = _first(household, task.receptacle)
    actions: list[str] = []
    for target in targets[: 2 if task.type == TWO else 1]:
        actions += route.fetch(target)
        if treatment := TREATMENT.get(task.type):
            appliance = _first(household, APPLIANCE[treatment])
            actions += [*route.reach(appliance), f"{treatment} {target} with {appliance}"]
        actions += [*route.open_at(goal), f"move {target} to {goal}"]
    return actions


class _Route:
    """Keeps track of where the agent stands and of the doors it has opened."""

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
