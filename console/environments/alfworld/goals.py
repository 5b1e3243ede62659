"""When a household task is done: the goals of ALFWorld's six task types."""

from __future__ import annotations

from collections import Counter

from console.environments.alfworld.briefs import LOOK, TREATMENT, TWO, Brief
from console.environments.alfworld.state import State, reachable


def reached(task: Brief, state: State) -> bool:
    """Whether the task is done in this state."""
    if task.type == LOOK:
        return _looked_at(task, state)
    treatment = TREATMENT.get(task.type)
    placed = [
        state.where[name]
        for name in _targets(task, state)
        if name in state.where
        and state.household.receptacles[state.where[name]].kind == task.receptacle
        and (treatment is None or name in state.done[treatment])
    ]
    wanted = 2 if task.type == TWO else 1
    return any(count >= wanted for count in Counter(placed).values())


def _looked_at(task: Brief, state: State) -> bool:
    """Whether a thing of the kind is held where a lamp stands that has been turned on."""
    if state.held is None or state.household.things[state.held].kind != task.thing:
        return False
    lit = (name for name in state.done["use"] if state.household.things[name].kind == task.receptacle)
    return any(reachable(state, state.where[name]) for name in lit)


def _targets(task: Brief, state: State) -> list[str]:
    return [name for name, thing in state.household.things.items() if thing.kind == task.thing]
