"""The rules of a household: the effect of every command, as in ALFWorld 0.4.2.

A rule returns the observation, or None if the command is impossible and the state stays unchanged. Some oddities of the
original are kept: a lamp stays on after its use, heating and cooling work through a closed door, and going to the
current place does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from console.environments.alfworld.household import (
    APPLIANCE,
    FIXED,
    HOLDS,
    KNIVES,
    LAMPS,
    NOTHING_HAPPENS,
    SLICEABLE,
    TREATABLE,
    State,
    describe_receptacle,
    examine,
    find_accessible,
    find_in_hand,
    find_reachable,
    help_text,
    inventory,
    look,
)
from console.trajectory.checkpoints import is_thought

THOUGHT_NOTED = "OK."
"""The observation after a thought, as in the reference loop."""
Rule = Callable[..., str | None]
_OPPOSITES = {"heat": "cool", "cool": "heat"}


def perform(state: State, command: str) -> str:
    """Run one command on the state and return the observation."""
    command = command.strip()
    if is_thought(command):
        return THOUGHT_NOTED
    pattern, rule = COMMANDS.get(command.partition(" ")[0], _UNKNOWN)
    match = pattern.fullmatch(command)
    told = rule(state, *match.groups()) if match else None
    return NOTHING_HAPPENS if told is None else told


def go_to(state: State, name: str) -> str | None:
    """Walk to a receptacle; return None if the name is unknown or the agent is already there."""
    receptacle = state.household.receptacles.get(name)
    if receptacle is None or receptacle.place == state.place:
        return None
    state.place = receptacle.place
    return f"You arrive at {name}. {describe_receptacle(state, receptacle)}"


def open_up(state: State, name: str) -> str | None:
    """Open a closed receptacle."""
    receptacle = find_reachable(state, name)
    if receptacle is None or not receptacle.openable or name in state.opened:
        return None
    state.opened.add(name)
    return f"You open the {name}. {describe_receptacle(state, receptacle)}"


def close(state: State, name: str) -> str | None:
    """Close an open receptacle."""
    if not find_reachable(state, name) or name not in state.opened:
        return None
    state.opened.remove(name)
    return f"You close the {name}."


def take(state: State, name: str, source: str) -> str | None:
    """Take a movable thing from an accessible receptacle into the empty hand."""
    here = find_accessible(state, source) and state.where.get(name) == source
    if not here or state.held or state.household.things[name].kind in FIXED:
        return None
    del state.where[name]
    state.taken_from.add((name, source))
    state.held = name
    return f"You pick up the {name} from the {source}."


def move(state: State, name: str, target: str) -> str | None:
    """Put the held object in or on an accessible receptacle that can hold it."""
    thing, receptacle = find_in_hand(state, name), find_accessible(state, target)
    if not thing or not receptacle or thing.kind not in HOLDS[receptacle.kind]:
        return None
    state.held = None
    state.where[name] = target
    state.taken_from.discard((name, target))
    return f"You move the {name} to the {target}."


def treat(treatment: str, state: State, name: str, appliance: str) -> str | None:
    """Clean, heat or cool the held thing with the matching appliance; heating and cooling undo each other."""
    thing, receptacle = find_in_hand(state, name), find_reachable(state, appliance)
    if not thing or thing.kind not in TREATABLE[treatment]:
        return None
    if not receptacle or receptacle.kind != APPLIANCE[treatment]:
        return None
    state.done[treatment].add(name)
    if opposite := _OPPOSITES.get(treatment):
        state.done[opposite].discard(name)
    return f"You {treatment} the {name} using the {appliance}."


def use(state: State, name: str) -> str | None:
    """Turn a lamp on; a second use gives the same observation."""
    if name not in state.household.things or state.household.things[name].kind not in LAMPS:
        return None
    if not find_reachable(state, state.where.get(name, "")):
        return None
    state.done["use"].add(name)
    return f"You turn on the {name}."


def slice_up(state: State, name: str, knife: str) -> str | None:
    """Slice a thing within reach with the held knife."""
    blade, thing = find_in_hand(state, knife), state.household.things.get(name)
    if not blade or blade.kind not in KNIVES or not thing or thing.kind not in SLICEABLE:
        return None
    if not find_reachable(state, state.where.get(name, "")):
        return None
    state.done["slice"].add(name)
    return f"You sliced the {name} with the {knife}."


_UNKNOWN: tuple[re.Pattern[str], Rule] = (re.compile(r"(?!)"), look)

COMMANDS: Mapping[str, tuple[re.Pattern[str], Rule]] = MappingProxyType(
    {
        "look": (re.compile("look"), look),
        "inventory": (re.compile("inventory"), inventory),
        "go": (re.compile("go to (.+)"), go_to),
        "open": (re.compile("open (.+)"), open_up),
        "close": (re.compile("close (.+)"), close),
        "take": (re.compile("take (.+) from (.+)"), take),
        "move": (re.compile("move (.+) to (.+)"), move),
        "put": (re.compile("put (.+) in/on (.+)"), move),
        "clean": (re.compile("clean (.+) with (.+)"), partial(treat, "clean")),
        "heat": (re.compile("heat (.+) with (.+)"), partial(treat, "heat")),
        "cool": (re.compile("cool (.+) with (.+)"), partial(treat, "cool")),
        "use": (re.compile("use (.+)"), use),
        "slice": (re.compile("slice (.+) with (.+)"), slice_up),
        "examine": (re.compile("examine (.+)"), examine),
        "help": (re.compile("help"), help_text),
    }
)
"""The commands by their first word. `put ... in/on ...` is the form of `move ... to ...` in older ALFWorld games."""


_INDEX = re.compile(r"\s\d+$")


def explain_failure(state: State, command: str) -> str:
    """Return the first reason why the command was impossible, or "" if no reason is known."""
    command = command.strip()
    word = command.partition(" ")[0]
    if word not in COMMANDS:
        return f"Unknown command {word!r}; `help` lists the commands."
    match = COMMANDS[word][0].fullmatch(command)
    if match is None:
        return f"{word!r} needs more, or other, words; `help` shows its form."
    return next(iter([*_unnamed(state, match.groups()), *_reasons(state, word, match.groups())]), "")


def _unnamed(state: State, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if not _INDEX.search(name):
            yield f"{name} has no number; say which one you mean, such as {name} 1."
        elif name not in state.household.receptacles and name not in state.household.things:
            yield f"This room has no {name}."


def _reasons(state: State, word: str, names: tuple[str, ...]) -> Iterator[str]:
    if word == "go":
        yield f"You are at {names[0]} already."
    elif word in ("open", "close"):
        yield from _elsewhere(state, names[0])
        yield f"{names[0]} is {'open' if names[0] in state.opened else 'closed'}, or has no door."
    elif word == "take":
        yield from _taking(state, *names)
    elif word in ("move", "put"):
        yield from _putting(state, *names)
    elif word in TREATABLE:
        yield from _treating(state, word, *names)
    elif word == "use":
        if names[0].rpartition(" ")[0] not in LAMPS:
            yield f"{names[0]} cannot be used; only lamps can."
        yield f"{names[0]} is not within reach; go to it first."
    elif word == "slice":
        yield from _slicing(state, *names)
    else:
        yield f"You neither stand at {names[0]} nor carry it."


def _elsewhere(state: State, receptacle: str) -> Iterator[str]:
    if not find_reachable(state, receptacle):
        yield f"You are not at {receptacle}; go to {receptacle} first."


def _shut(state: State, receptacle: str) -> Iterator[str]:
    yield from _elsewhere(state, receptacle)
    if not find_accessible(state, receptacle):
        yield f"{receptacle} is closed; open {receptacle} first."


def _taking(state: State, thing: str, source: str) -> Iterator[str]:
    yield from _shut(state, source)
    if state.where.get(thing) != source:
        yield f"{thing} is not at {source}."
    if state.held:
        yield f"You carry {state.held} already; put it down first."
    if thing in state.household.things and state.household.things[thing].kind in FIXED:
        yield f"{thing} cannot be carried."


def _not_carried(state: State, thing: str) -> Iterator[str]:
    if not find_in_hand(state, thing):
        yield f"You do not carry {thing}; take it first."


def _putting(state: State, thing: str, target: str) -> Iterator[str]:
    yield from _not_carried(state, thing)
    yield from _shut(state, target)
    kind = target.rpartition(" ")[0]
    if thing.rpartition(" ")[0] not in HOLDS.get(kind, ()):
        yield f"A {kind} does not take such a thing."


def _treating(state: State, treatment: str, thing: str, appliance: str) -> Iterator[str]:
    needed = APPLIANCE[treatment]
    if appliance.rpartition(" ")[0] != needed:
        yield f"To {treatment} something takes a {needed}, not {appliance}."
    yield from _not_carried(state, thing)
    yield from _elsewhere(state, appliance)
    if thing.rpartition(" ")[0] not in TREATABLE[treatment]:
        yield f"To {treatment} {thing} is not possible."


def _slicing(state: State, thing: str, knife: str) -> Iterator[str]:
    if knife.rpartition(" ")[0] not in KNIVES:
        yield f"To slice something takes a knife, not {knife}."
    yield from _not_carried(state, knife)
    if thing.rpartition(" ")[0] not in SLICEABLE:
        yield f"{thing} cannot be sliced."
    yield f"{thing} is not within reach."
