"""The setup of a household task: its type, target thing, target receptacle, room and wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from console.environments.alfworld.catalogue import (
    APPLIANCE,
    FIXED,
    FURNITURE,
    HOLDS,
    LAMPS,
    THINGS,
    TREATABLE,
)
from console.errors import BadInput

PLACE, LOOK, TWO = "pick_and_place_simple", "look_at_obj_in_light", "pick_two_obj_and_place"
CLEAN, HEAT, COOL = (f"pick_{verb}_then_place_in_recep" for verb in ("clean", "heat", "cool"))

TREATMENT: Mapping[str, str] = {CLEAN: "clean", HEAT: "heat", COOL: "cool"}

WORDINGS: Mapping[str, tuple[str, str]] = {
    PLACE: ("put a {thing} in {receptacle}.", "put some {thing} on {receptacle}."),
    LOOK: ("look at {thing} under the {receptacle}.", "examine the {thing} with the {receptacle}."),
    CLEAN: ("put a clean {thing} in {receptacle}.", "clean some {thing} and put it in {receptacle}."),
    HEAT: ("put a hot {thing} in {receptacle}.", "heat some {thing} and put it in {receptacle}."),
    COOL: ("put a cool {thing} in {receptacle}.", "cool some {thing} and put it in {receptacle}."),
    TWO: ("put two {thing} in {receptacle}.", "find two {thing} and put them in {receptacle}."),
}
"""The six task types in ALFWorld's order, each with its two wordings."""

LOOK_ROOMS = ("bedroom", "livingroom")


@dataclass(frozen=True, slots=True)
class TaskSetup:
    """The setup of a task; in tasks to examine a thing under a lamp, `receptacle` is the kind of lamp."""

    type: str
    room: str
    thing: str
    receptacle: str
    wording: int
    seed: str

    @property
    def instruction(self) -> str:
        """The task's instruction, worded as in ALFWorld's templates."""
        return WORDINGS[self.type][self.wording].format(thing=self.thing, receptacle=self.receptacle)


def task_setup(options: Mapping[str, Any]) -> TaskSetup:
    """Return the setup in a task's options; raise BadInput if they do not describe a household task."""
    try:
        setup = TaskSetup(**{name: options[name] for name in TaskSetup.__dataclass_fields__})
    except KeyError as missing:
        raise BadInput(
            f"The options of an ALFWorld task lack {missing}; take them from `tasks(seed, count)`."
        ) from None
    if (setup.room, setup.thing, setup.receptacle) not in choices(str(setup.type)) or setup.wording not in (0, 1):
        raise BadInput(f"No ALFWorld task has these options: {asdict(setup)}. Use options from `tasks(seed, count)`.")
    return setup


@lru_cache(maxsize=len(WORDINGS))
def choices(task_type: str) -> tuple[tuple[str, str, str], ...]:
    """Return every (room, kind of thing, kind of receptacle) for a task type; empty if the type is unknown."""
    if task_type not in WORDINGS:
        return ()
    if task_type == LOOK:
        return tuple((room, thing, lamp) for room in LOOK_ROOMS for thing in _movable(room) for lamp in sorted(LAMPS))
    return tuple(
        (room, thing, receptacle)
        for room in sorted(FURNITURE)
        for thing in _movable(room)
        for receptacle in sorted(FURNITURE[room])
        if thing in HOLDS[receptacle] and _makes_sense(task_type, room, thing, receptacle)
    )


def _movable(room: str) -> list[str]:
    return sorted(THINGS[room] - FIXED)


def _makes_sense(task_type: str, room: str, thing: str, receptacle: str) -> bool:
    treatment = TREATMENT.get(task_type)
    if treatment:
        appliance = APPLIANCE[treatment]
        return appliance in FURNITURE[room] and receptacle != appliance and thing in TREATABLE[treatment]
    return any(thing in HOLDS[other] and least for other, (least, _) in FURNITURE[room].items() if other != receptacle)
