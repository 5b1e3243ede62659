"""What an agent is told of a household, word for word as ALFWorld 0.4.2 tells it, and the commands that only look.

None of these commands changes anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from console.environments.alfworld.catalogue import HOLLOW
from console.environments.alfworld.household import (
    MIDDLE_OF_THE_ROOM,
    Receptacle,
    State,
    contents,
    facing,
    in_hand,
    reachable,
)

NOTHING_HAPPENS = "Nothing happens."
MIDDLE = "You are in the middle of a room. Looking quickly around you, you see {seen}."

HELP = (files(__package__) / "help.txt").read_text("utf-8")


def joined(names: Sequence[str]) -> str:
    """The names joined: `x`, `x, and y`, `x, y, and z`; `nothing` of none."""
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def seen(names: Sequence[str]) -> str:
    """The names as they are seen: `a x, and a y`. The article is always `a`, before a vowel too."""
    return joined([f"a {name}" for name in names])


def condition(name: str, *, hot: bool, cool: bool, clean: bool, sliced: bool) -> str:
    """The condition of a thing in words, by what has been done to it."""
    words = [word for word, holds in (("hot", hot), ("cool", cool), ("clean", clean)) if holds]
    if words == ["cool"] and not sliced:
        words = ["cold"]
    told = " and ".join(words) + " sliced" * sliced
    return f"This is a {told.strip()} {name}." if told else f"There's nothing special about {name}."


def look(state: State) -> str:
    """The look around: what stands before the agent, and what it sees beside."""
    if state.place == MIDDLE_OF_THE_ROOM:
        return MIDDLE.format(seen="nothing")
    before = facing(state)
    beside = [
        thing
        for thing, receptacle in state.where.items()
        if receptacle in before and any((thing, other) in state.taken_from for other in before if other != receptacle)
    ]
    ordered = [thing for thing in state.household.things if thing in beside]
    return f"You are facing the {joined(before)}. Next to it, you see {seen(ordered)}."


def inventory(state: State) -> str:
    """The inventory: what the agent holds."""
    return f"You are carrying: a {state.held}." if state.held else "You are not carrying anything."


def examine(state: State, name: str) -> str | None:
    """Looks at a receptacle before the agent, or at the thing in the hand; what only lies there cannot be examined."""
    if receptacle := reachable(state, name):
        return sight(state, receptacle)
    thing = in_hand(state, name)
    if thing is None:
        return None
    if thing.kind in HOLLOW:
        return f"This is a normal {name}. In it, you see nothing."
    hot, cooled, cleaned, sliced = (name in state.done[treatment] for treatment in ("heat", "cool", "clean", "slice"))
    return condition(name, hot=hot, cool=cooled, clean=cleaned, sliced=sliced)


def help_text(state: State) -> str:
    """The list of commands."""
    return HELP


def sight(state: State, receptacle: Receptacle) -> str:
    """The sight of a receptacle: its content, or a closed door."""
    name = receptacle.name
    if not receptacle.openable:
        return f"On the {name}, you see {seen(contents(state, name))}."
    if name not in state.opened:
        return f"The {name} is closed."
    return f"The {name} is open. In it, you see {seen(contents(state, name))}."
