"""A household: the kinds of its things, its arrangement, its state while an agent acts in it, and its observations.

The world is that of ALFWorld 0.4.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from console.trajectory.strict_yaml import read_data


@dataclass(frozen=True, slots=True)
class HouseholdCatalogue:
    """The tables of the YAML file; a word in capitals means all things in a group."""

    groups: dict[str, str]
    appliances: dict[str, str]
    holds: dict[str, str]
    openable: dict[str, float]
    furniture: dict[str, dict[str, tuple[int, int]]]
    things: dict[str, str]


def _kinds(text: str) -> frozenset[str]:
    words = text.split()
    members = [_kinds(_CATALOGUE.groups[word]) if word.isupper() else {word} for word in words]
    return frozenset().union(*members)


_CATALOGUE = read_data(files(__package__) / "catalogue.yaml", HouseholdCatalogue)
_GROUPS = {name: _kinds(text) for name, text in _CATALOGUE.groups.items()}

CLEANABLE, HEATABLE, COOLABLE = _GROUPS["CLEANABLE"], _GROUPS["HEATABLE"], _GROUPS["COOLABLE"]
SLICEABLE, KNIVES, LAMPS = _GROUPS["SLICEABLE"], _GROUPS["KNIVES"], _GROUPS["LAMPS"]
FIXED, HOLLOW, ADJOINING = _GROUPS["FIXED"], _GROUPS["HOLLOW"], _GROUPS["ADJOINING"]
APPLIANCE: Mapping[str, str] = _CATALOGUE.appliances
TREATABLE: Mapping[str, frozenset[str]] = {"clean": CLEANABLE, "heat": HEATABLE, "cool": COOLABLE}
HOLDS: Mapping[str, frozenset[str]] = {name: _kinds(text) for name, text in _CATALOGUE.holds.items()}
OPENABLE: Mapping[str, float] = _CATALOGUE.openable
FURNITURE: Mapping[str, Mapping[str, tuple[int, int]]] = _CATALOGUE.furniture
THINGS: Mapping[str, frozenset[str]] = {name: _kinds(text) for name, text in _CATALOGUE.things.items()}


@dataclass(frozen=True, slots=True)
class HouseholdObject:
    """An object in or on a receptacle."""

    kind: str
    number: int

    @property
    def name(self) -> str:
        """The kind and number, such as `apple 2`."""
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class Receptacle(HouseholdObject):
    """A receptacle, such as a piece of furniture; `place` is the agent's position to reach the receptacle."""

    place: int
    openable: bool


@dataclass(frozen=True, slots=True)
class Household:
    """A household: receptacles and things by name, in enumeration order, and the initial receptacle of each thing."""

    receptacles: Mapping[str, Receptacle]
    things: Mapping[str, HouseholdObject]
    starts: Mapping[str, str]


def sort_key(part: HouseholdObject) -> tuple[str, int]:
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


NOTHING_HAPPENS = "Nothing happens."
MIDDLE = "You are in the middle of a room. Looking quickly around you, you see {seen}."

HELP = (files(__package__) / "help.txt").read_text("utf-8")


def join_names(names: Sequence[str]) -> str:
    """Join the names: `x`, `x, and y`, `x, y, and z`; `nothing` if there are none."""
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def join_with_articles(names: Sequence[str]) -> str:
    """Join the names with articles: `a x, and a y`. The article is always `a`, before a vowel too."""
    return join_names([f"a {name}" for name in names])


def describe_condition(name: str, *, hot: bool, cool: bool, clean: bool, sliced: bool) -> str:
    """Return a sentence about the condition of a thing (hot, cool, clean, sliced)."""
    words = [word for word, holds in (("hot", hot), ("cool", cool), ("clean", clean)) if holds]
    if words == ["cool"] and not sliced:
        words = ["cold"]
    told = " and ".join(words) + " sliced" * sliced
    return f"This is a {told.strip()} {name}." if told else f"There's nothing special about {name}."


def look(state: State) -> str:
    """Describe the receptacles in front of the agent and the things beside them."""
    if state.place == MIDDLE_OF_THE_ROOM:
        return MIDDLE.format(seen="nothing")
    before = [name for name, receptacle in state.household.receptacles.items() if receptacle.place == state.place]
    beside = [
        thing
        for thing, receptacle in state.where.items()
        if receptacle in before and any((thing, other) in state.taken_from for other in before if other != receptacle)
    ]
    ordered = [thing for thing in state.household.things if thing in beside]
    return f"You are facing the {join_names(before)}. Next to it, you see {join_with_articles(ordered)}."


def inventory(state: State) -> str:
    """Return a sentence about the thing that the agent holds."""
    return f"You are carrying: a {state.held}." if state.held else "You are not carrying anything."


def examine(state: State, name: str) -> str | None:
    """Describe a receptacle in front of the agent, or the thing in the agent's hand; return None for any other name."""
    if receptacle := find_reachable(state, name):
        return describe_receptacle(state, receptacle)
    thing = find_in_hand(state, name)
    if thing is None:
        return None
    if thing.kind in HOLLOW:
        return f"This is a normal {name}. In it, you see nothing."
    hot, cooled, cleaned, sliced = (name in state.done[treatment] for treatment in ("heat", "cool", "clean", "slice"))
    return describe_condition(name, hot=hot, cool=cooled, clean=cleaned, sliced=sliced)


def help_text(state: State) -> str:
    """Return the list of commands."""
    return HELP


def describe_receptacle(state: State, receptacle: Receptacle) -> str:
    """Describe a receptacle: its contents, or its closed door."""
    name = receptacle.name
    if not receptacle.openable:
        return f"On the {name}, you see {join_with_articles(list_contents(state, name))}."
    if name not in state.opened:
        return f"The {name} is closed."
    return f"The {name} is open. In it, you see {join_with_articles(list_contents(state, name))}."
