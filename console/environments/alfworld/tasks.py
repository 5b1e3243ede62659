"""Household tasks: any number of tasks per seed, each with a short plan that solves the task.

A running task implements `World`; the task ends when its goal is reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from random import Random
from typing import Any

from console.environments.alfworld.household import (
    ADJOINING,
    APPLIANCE,
    FIXED,
    FURNITURE,
    HOLDS,
    LAMPS,
    MIDDLE,
    MIDDLE_OF_THE_ROOM,
    NOTHING_HAPPENS,
    OPENABLE,
    THINGS,
    TREATABLE,
    Household,
    HouseholdObject,
    Receptacle,
    State,
    find_reachable,
    initial_state,
    join_with_articles,
    sort_key,
)
from console.environments.alfworld.rules import explain_failure, perform
from console.environments.environment import TaskSpec, World, has_option
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
            f"The options of an ALFWorld task lack {missing}. Use options from `tasks(seed, count)`."
        ) from None
    if (setup.room, setup.thing, setup.receptacle) not in choices(str(setup.type)) or setup.wording not in (0, 1):
        raise BadInput(f"No ALFWorld task has these options: {asdict(setup)}. Use options from `tasks(seed, count)`.")
    return setup


@lru_cache(maxsize=len(WORDINGS))
def choices(task_type: str) -> tuple[tuple[str, str, str], ...]:
    """Return every (room, kind of thing, kind of receptacle) for a task type, or () for an unknown type."""
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


SHARED_PLACE = 0.2
COUNTS, WEIGHTS = (0, 1, 2, 3), (30, 40, 20, 10)


def furnish(setup: TaskSetup) -> Household:
    """Return the household of a task: the same for equal setups, unsolved at the start and always solvable."""
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
        # The start state never solves the task.
        goal = setup.receptacle if setup.type in (PLACE, TWO) and kind == setup.thing else ""
        if possible := [part.name for part in receptacles if kind in HOLDS[part.kind] and part.kind != goal]:
            for number in range(1, _count(setup, kind, random) + 1):
                yield HouseholdObject(kind, number), random.choice(possible)


def _count(setup: TaskSetup, kind: str, random: Random) -> int:
    count: int = random.choices(COUNTS, WEIGHTS)[0]
    if kind == setup.thing:
        return max(count, 2 if setup.type == TWO else 1)
    if kind in FIXED:
        return int(setup.type == LOOK and kind == setup.receptacle) or min(count, 1)
    return count


def tasks(seed: int, count: int) -> list[TaskSpec]:
    """Return the first `count` tasks of a seed, the six types in turn; `gold` holds the target and a solution."""
    setups = [_setup(seed, index) for index in range(count)]
    return [_task(f"alfworld-{seed}-{index}", setup) for index, setup in enumerate(setups)]


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


def _task(name: str, setup: TaskSetup) -> TaskSpec:
    gold = {name: getattr(setup, name) for name in ("type", "thing", "receptacle")}
    actions = {"actions": plan(setup, furnish(setup))}
    return TaskSpec(name, "alfworld", setup.instruction, gold | actions, asdict(setup))


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
