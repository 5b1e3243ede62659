"""What an agent is told that only looks: none of these commands changes anything."""

from __future__ import annotations

from console.environments.alfworld.catalogue import HOLLOW
from console.environments.alfworld.descriptions import HELP, MIDDLE, condition, joined, seen
from console.environments.alfworld.household import Receptacle
from console.environments.alfworld.state import MIDDLE_OF_THE_ROOM, State, contents, facing, in_hand, reachable


def look(state: State) -> str:
    """What is around the agent."""
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
    """What the agent holds."""
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
    """What is seen of a receptacle: its content, or a closed door."""
    name = receptacle.name
    if not receptacle.openable:
        return f"On the {name}, you see {seen(contents(state, name))}."
    if name not in state.opened:
        return f"The {name} is closed."
    return f"The {name} is open. In it, you see {seen(contents(state, name))}."
