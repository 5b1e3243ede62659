"""A household: as it stands before anybody touches it, and its state while an agent acts in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A receptacle, a piece of furniture that things are in or on; `place` is where one stands to reach it."""

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
    """A household object, a thing that lies in or on a receptacle."""

    kind: str
    number: int

    @property
    def name(self) -> str:
        """`apple 2`."""
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class Household:
    """A household: receptacles and things by name, in the order of enumeration, and where each thing starts."""

    receptacles: Mapping[str, Receptacle]
    things: Mapping[str, HouseholdObject]
    starts: Mapping[str, str]


def order(part: Receptacle | HouseholdObject) -> tuple[str, int]:
    """The key by which ALFWorld enumerates: kinds by alphabet, the highest number of a kind first."""
    return part.kind, -part.number


MIDDLE_OF_THE_ROOM = 0
"""The place where every trial begins; no receptacle is reached from it."""


@dataclass(slots=True)
class State:
    """The state of a household: where everything is, and what has been done. `held` is the thing in the agent's hand.

    `done` maps a treatment (`clean`, `heat`, `cool`, `use`, `slice`) to the names of the things that it holds for.
    `taken_from` are the (thing, receptacle) pairs where a thing once was and no longer is.
    """

    household: Household
    where: dict[str, str]
    place: int = MIDDLE_OF_THE_ROOM
    held: str | None = None
    opened: set[str] = field(default_factory=set)
    done: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    taken_from: set[tuple[str, str]] = field(default_factory=set)


def fresh(household: Household) -> State:
    """The state before the first action."""
    return State(household, dict(household.starts))


def reachable(state: State, name: str) -> Receptacle | None:
    """The receptacle of that name if the agent stands before it, else None."""
    receptacle = state.household.receptacles.get(name)
    return receptacle if receptacle and receptacle.place == state.place else None


def accessible(state: State, name: str) -> Receptacle | None:
    """The receptacle of that name if the agent stands before it and no closed door is between, else None."""
    receptacle = reachable(state, name)
    return receptacle if receptacle and (not receptacle.openable or name in state.opened) else None


def in_hand(state: State, name: str) -> HouseholdObject | None:
    """The thing of that name if the agent holds it, else None."""
    return state.household.things[name] if name == state.held else None


def contents(state: State, receptacle: str) -> list[str]:
    """The names of the things in or on a receptacle, in the order of enumeration."""
    return [thing for thing in state.household.things if state.where.get(thing) == receptacle]


def facing(state: State) -> list[str]:
    """The receptacles that the agent stands before, in the order of enumeration."""
    return [name for name, receptacle in state.household.receptacles.items() if receptacle.place == state.place]
