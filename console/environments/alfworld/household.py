"""A household: its initial arrangement, and its state while an agent acts in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A receptacle, such as a piece of furniture; `place` is the agent's position to reach the receptacle."""

    kind: str
    number: int
    place: int
    openable: bool

    @property
    def name(self) -> str:
        """`fridge 1`."""
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class HouseholdObject:
    """An object in or on a receptacle."""

    kind: str
    number: int

    @property
    def name(self) -> str:
        """`apple 2`."""
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class Household:
    """A household: receptacles and things by name, in enumeration order, and the initial receptacle of each thing."""

    receptacles: Mapping[str, Receptacle]
    things: Mapping[str, HouseholdObject]
    starts: Mapping[str, str]


def sort_key(part: Receptacle | HouseholdObject) -> tuple[str, int]:
    """Return the sort key of ALFWorld's enumeration: kinds alphabetically, then numbers in descending order."""
    return part.kind, -part.number


MIDDLE_OF_THE_ROOM = 0
"""The place where every trial begins, away from all receptacles."""


@dataclass(slots=True)
class State:
    """The state of a household: the location of every thing, and the treatments so far.

    `done` maps a treatment (`clean`, `heat`, `cool`, `use`, `slice`) to the treated things. `taken_from` holds (thing,
    receptacle) for each thing that was moved away from a receptacle.
    """

    household: Household
    where: dict[str, str]
    place: int = MIDDLE_OF_THE_ROOM
    held: str | None = None
    opened: set[str] = field(default_factory=set)
    done: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    taken_from: set[tuple[str, str]] = field(default_factory=set)


def initial_state(household: Household) -> State:
    """Return the state before the first action."""
    return State(household, dict(household.starts))


def find_reachable(state: State, name: str) -> Receptacle | None:
    """Return the receptacle with this name if it is in front of the agent, else None."""
    receptacle = state.household.receptacles.get(name)
    return receptacle if receptacle and receptacle.place == state.place else None


def find_accessible(state: State, name: str) -> Receptacle | None:
    """Return the receptacle with this name if it is in front of the agent and not closed, else None."""
    receptacle = find_reachable(state, name)
    return receptacle if receptacle and (not receptacle.openable or name in state.opened) else None


def find_in_hand(state: State, name: str) -> HouseholdObject | None:
    """Return the thing with this name if the agent holds it, else None."""
    return state.household.things[name] if name == state.held else None


def list_contents(state: State, receptacle: str) -> list[str]:
    """Return the names of the things in or on a receptacle, in the order of enumeration."""
    return [thing for thing in state.household.things if state.where.get(thing) == receptacle]


def list_facing(state: State) -> list[str]:
    """Return the names of the receptacles in front of the agent, in enumeration order."""
    return [name for name, receptacle in state.household.receptacles.items() if receptacle.place == state.place]
