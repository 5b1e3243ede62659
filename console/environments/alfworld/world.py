"""A running household task in the shape of `World`, done when the goal of its type (six in ALFWorld) is reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from console.environments.alfworld.error_feedback import why
from console.environments.alfworld.furnishing import furnish
from console.environments.alfworld.household import State, fresh, reachable
from console.environments.alfworld.observations import MIDDLE, NOTHING_HAPPENS, seen
from console.environments.alfworld.rules import perform
from console.environments.alfworld.task_setup import LOOK, TREATMENT, TWO, TaskSetup, task_setup
from console.environments.environment import TaskSpec
from console.errors import BadInput

STEP_LIMIT = 50
"""ALFWorld itself cuts a trial off after this many actions."""


class HouseholdWorld:
    """The world of one household task. Nothing is shared between worlds, so each may run in its own thread.

    `options["errors"]` is "plain", as in ALFWorld, or "fine": what follows `Nothing happens.` then says why.
    """

    def __init__(self, task: TaskSpec) -> None:
        self._options = task.options
        self.reset()

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Puts everything back in its place, or sets up another task's `options`; there is no chance, so no `seed`.

        Raises BadInput where the options are not those of a household task.
        """
        self._options = self._options if options is None else options
        self._fine = _wants_fine(self._options)
        self._setup = task_setup(self._options)
        self._state = fresh(furnish(self._setup))
        self._steps, self._won = 0, False
        room = MIDDLE.format(seen=seen(list(self._state.household.receptacles)))
        return f"{room}\n\nYour task is to: {self._setup.instruction}", self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Runs one command; an impossible one, and any after the end, is answered with `Nothing happens.`."""
        if self._won or self._steps >= STEP_LIMIT:
            return NOTHING_HAPPENS, 0.0, self._won, not self._won, self._info()
        observation = perform(self._state, action)
        if observation == NOTHING_HAPPENS and self._fine:
            observation = f"{observation} {why(self._state, action)}".rstrip()
        self._steps += 1
        self._won = reached(self._setup, self._state)
        cut_off = self._steps >= STEP_LIMIT and not self._won
        return observation, float(self._won), self._won, cut_off, self._info()

    def _info(self) -> dict[str, Any]:
        return {"success": self._won, "score": float(self._won)}


def _wants_fine(options: Mapping[str, Any]) -> bool:
    wanted = options.get("errors", "plain")
    if wanted not in ("plain", "fine"):
        raise BadInput(f'The ALFWorld option "errors" is {wanted!r}; it is "plain" or "fine".')
    return bool(wanted == "fine")


def start(task: TaskSpec) -> HouseholdWorld:
    """The task's world, reset."""
    return HouseholdWorld(task)


def reached(setup: TaskSetup, state: State) -> bool:
    """Whether the goal of the task is reached in this state."""
    if setup.type == LOOK:
        return _looked_at(setup, state)
    treatment = TREATMENT.get(setup.type)
    placed = [
        state.where[name]
        for name in _targets(setup, state)
        if name in state.where
        and state.household.receptacles[state.where[name]].kind == setup.receptacle
        and (treatment is None or name in state.done[treatment])
    ]
    wanted = 2 if setup.type == TWO else 1
    return any(count >= wanted for count in Counter(placed).values())


def _looked_at(setup: TaskSetup, state: State) -> bool:
    """Whether a thing of the kind is held where a lamp stands that has been turned on."""
    if state.held is None or state.household.things[state.held].kind != setup.thing:
        return False
    lit = (name for name in state.done["use"] if state.household.things[name].kind == setup.receptacle)
    return any(reachable(state, state.where[name]) for name in lit)


def _targets(setup: TaskSetup, state: State) -> list[str]:
    return [name for name, thing in state.household.things.items() if thing.kind == setup.thing]
