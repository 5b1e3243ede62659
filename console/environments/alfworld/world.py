"""A running household task in the shape of `World`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.environments.alfworld.briefs import brief
from console.environments.alfworld.descriptions import MIDDLE, NOTHING_HAPPENS, seen
from console.environments.alfworld.furnishing import furnish
from console.environments.alfworld.goals import reached
from console.environments.alfworld.rules import perform
from console.environments.alfworld.state import fresh
from console.environments.environment import TaskSpec

STEP_LIMIT = 50
"""ALFWorld itself cuts a trial off after this many actions."""


class HouseholdWorld:
    """One trial in one household. Nothing is shared between worlds, so each may run in a thread of its own."""

    def __init__(self, task: TaskSpec) -> None:
        self._options = task.options
        self.reset()

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Puts everything back in its place, or sets up another task's `options`; there is no chance, so no `seed`.

        Raises BadInput where the options are not those of a household task.
        """
        self._options = self._options if options is None else options
        self._brief = brief(self._options)
        self._state = fresh(furnish(self._brief))
        self._steps, self._won = 0, False
        room = MIDDLE.format(seen=seen(list(self._state.household.receptacles)))
        return f"{room}\n\nYour task is to: {self._brief.instruction}", self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Runs one command; an impossible one, and any after the end, is answered with `Nothing happens.`."""
        if self._won or self._steps >= STEP_LIMIT:
            return NOTHING_HAPPENS, 0.0, self._won, not self._won, self._info()
        told = perform(self._state, action)
        self._steps += 1
        self._won = reached(self._brief, self._state)
        cut_off = self._steps >= STEP_LIMIT and not self._won
        return told, float(self._won), self._won, cut_off, self._info()

    def _info(self) -> dict[str, Any]:
        return {"success": self._won, "score": float(self._won)}


def start(task: TaskSpec) -> HouseholdWorld:
    """The task's world, reset."""
    return HouseholdWorld(task)
