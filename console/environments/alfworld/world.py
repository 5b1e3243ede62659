"""A running household task that implements `World`; the task ends when its goal is reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from console.environments.alfworld.household import (
    MIDDLE,
    NOTHING_HAPPENS,
    State,
    find_reachable,
    initial_state,
    join_with_articles,
)
from console.environments.alfworld.rules import explain_failure, perform
from console.environments.alfworld.tasks import LOOK, TREATMENT, TWO, TaskSetup, furnish, task_setup
from console.environments.environment import TaskSpec, World, has_option

STEP_LIMIT = 50
"""The number of actions after which ALFWorld ends a trial."""


class HouseholdWorld(World):
    """The world of one household task. If `options["errors"]` is "fine", a reason follows `Nothing happens.`"""

    def __init__(self, task: TaskSpec) -> None:
        self._options = task.options
        self.reset()

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Restore the initial state, or set up another task from `options`; raise BadInput if they are invalid."""
        self._options = self._options if options is None else options
        self._fine = has_option("ALFWorld", self._options, "errors", "plain", "fine")
        self._setup = task_setup(self._options)
        self._state = initial_state(furnish(self._setup))
        self._steps, self._won = 0, False
        room = MIDDLE.format(seen=join_with_articles(list(self._state.household.receptacles)))
        return f"{room}\n\nYour task is to: {self._setup.instruction}", self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one command; return `Nothing happens.` if the command is impossible or the trial has ended."""
        if self._won or self._steps >= STEP_LIMIT:
            return NOTHING_HAPPENS, 0.0, self._won, not self._won, self._info()
        observation = perform(self._state, action)
        if observation == NOTHING_HAPPENS and self._fine:
            observation = f"{observation} {explain_failure(self._state, action)}".rstrip()
        self._steps += 1
        self._won = is_reached(self._setup, self._state)
        cut_off = self._steps >= STEP_LIMIT and not self._won
        return observation, float(self._won), self._won, cut_off, self._info()

    def _info(self) -> dict[str, Any]:
        return {"success": self._won, "score": float(self._won)}


def is_reached(setup: TaskSetup, state: State) -> bool:
    """Return whether this state reaches the goal of the task."""
    things = state.household.things
    if setup.type == LOOK:
        lit = [state.where[name] for name in state.done["use"] if things[name].kind == setup.receptacle]
        held = state.held is not None and things[state.held].kind == setup.thing
        return held and any(find_reachable(state, place) for place in lit)
    treatment = TREATMENT.get(setup.type)
    placed = [
        state.where[name]
        for name, thing in things.items()
        if thing.kind == setup.thing
        and name in state.where
        and state.household.receptacles[state.where[name]].kind == setup.receptacle
        and (treatment is None or name in state.done[treatment])
    ]
    wanted = 2 if setup.type == TWO else 1
    return any(count >= wanted for count in Counter(placed).values())
