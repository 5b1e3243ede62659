"""Error feedback: the reason why a command was impossible, as detailed as in AutoPlan's household (its Table 6).

ALFWorld itself only returns `Nothing happens.`; a task option adds the reason after that sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from console.environments.alfworld.catalogue import APPLIANCE, FIXED, HOLDS, KNIVES, LAMPS, SLICEABLE, TREATABLE
from console.environments.alfworld.household import State, find_accessible, find_in_hand, find_reachable
from console.environments.alfworld.rules import COMMANDS

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
        yield from _using(names[0])
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


def _using(name: str) -> Iterator[str]:
    if name.rpartition(" ")[0] not in LAMPS:
        yield f"{name} cannot be used; only lamps can."
    yield f"{name} is not within reach; go to it first."


def _slicing(state: State, thing: str, knife: str) -> Iterator[str]:
    if knife.rpartition(" ")[0] not in KNIVES:
        yield f"To slice something takes a knife, not {knife}."
    yield from _not_carried(state, knife)
    if thing.rpartition(" ")[0] not in SLICEABLE:
        yield f"{thing} cannot be sliced."
    yield f"{thing} is not within reach."
