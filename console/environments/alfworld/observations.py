"""Observations of a household, word for word as in ALFWorld 0.4.2, and the commands that only observe."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from console.environments.alfworld.catalogue import HOLLOW
from console.environments.alfworld.household import (
    MIDDLE_OF_THE_ROOM,
    Receptacle,
    State,
    find_in_hand,
    find_reachable,
    list_contents,
    list_facing,
)

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
    before = list_facing(state)
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
