"""The observed household: what the scripted Actor has seen and done in a trial, taken from its steps alone.

The task, too, is known only by the words of its instruction, which are taken apart here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from console.trajectory import Step

_ARTICLE = r"(?:a |an |the |some |one )?"
_LOOK = re.compile(
    rf"\b(?:look at|examine) {_ARTICLE}(?P<thing>[a-z]+) (?:under|with|by|in|using) {_ARTICLE}(?P<place>[a-z]+)"
)
_TWO = re.compile(
    rf"\b(?:put|find) two (?P<thing>[a-z]+?)(?: and put them)? (?:in/on|in|on) {_ARTICLE}(?P<place>[a-z]+)"
)
_TREAT = re.compile(
    rf"\b(?P<how>[a-z]+) {_ARTICLE}(?P<thing>[a-z]+) and put (?:it|them) (?:in/on|in|on) {_ARTICLE}(?P<place>[a-z]+)"
)
_PUT = re.compile(
    rf"\bput {_ARTICLE}(?:(?P<how>[a-z]+) )?(?P<thing>[a-z]+) (?:in/on|in|on) {_ARTICLE}(?P<place>[a-z]+)"
)
_HOW = {"clean": "clean", "wash": "clean", "rinse": "clean", "hot": "heat", "heat": "heat", "warm": "heat"} | {
    "cook": "heat",
    "cool": "cool",
    "cold": "cool",
    "chill": "cool",
    "chilled": "cool",
    "heated": "heat",
}


@dataclass(frozen=True, slots=True)
class HouseholdTask:
    """A household task: what thing goes where, how many of it, and what is to be done to it; `looks` under `place`."""

    thing: str
    place: str
    treatment: str = ""
    count: int = 1
    looks: bool = False


@lru_cache(maxsize=1024)
def parse_task(instruction: str) -> HouseholdTask | None:
    """The household task in an instruction, None where it is worded in a way that is not understood."""
    text = instruction.lower()
    if match := _LOOK.search(text):
        return HouseholdTask(match["thing"], match["place"], looks=True)
    if match := _TWO.search(text):
        return HouseholdTask(match["thing"], match["place"], count=2)
    for pattern in (_TREAT, _PUT):
        if match := pattern.search(text):
            return HouseholdTask(match["thing"], match["place"], _HOW.get(match["how"] or "", ""))
    return None


_NAMED = re.compile(r"\ba ([a-z]+ \d+)")
_SIGHT = re.compile(r"(?:On the|The) ([a-z]+ \d+)(?:, you see| is open\. In it, you see) (.*)$", re.DOTALL)
_CLOSED = re.compile(r"The ([a-z]+ \d+) is closed")
_TAKEN = re.compile(r"^You (?:pick up|take) the ([a-z]+ \d+) from the ([a-z]+ \d+)")
_PUT_DOWN = re.compile(r"^You (?:move|put) the ([a-z]+ \d+) (?:to|in/on) the ([a-z]+ \d+)")
_TREATED = re.compile(r"^You (clean|heat|cool) the ([a-z]+ \d+) using")


@dataclass(slots=True)
class ObservedHousehold:
    """The observed household: where the Actor stands, what it holds and knows; things by their numbered names."""

    at: str = ""
    held: str = ""
    contents: dict[str, list[str]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    visited: list[str] = field(default_factory=list)
    treated: set[tuple[str, str]] = field(default_factory=set)
    placed: dict[str, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)


@lru_cache(maxsize=1024)
def receptacles(opening: str) -> tuple[str, ...]:
    """The receptacles that the opening names, in its order."""
    return tuple(_NAMED.findall(opening.partition("Your task is to")[0]))


def kind(name: str) -> str:
    """The kind of a numbered thing: `apple` of `apple 2`."""
    return name.rpartition(" ")[0]


def observe_household(steps: Iterable[Step]) -> ObservedHousehold:
    """The household as these steps have shown it."""
    household = ObservedHousehold()
    for step in steps:
        household.done.add(step.action.strip())
        if step.observation.strip().startswith("Nothing happens"):
            household.failed.add(step.action.strip())
        else:
            _look_round(household, step.action.strip(), step.observation)
            _handle(household, step.observation)
    return household


def _look_round(household: ObservedHousehold, action: str, observation: str) -> None:
    if action.startswith("go to "):
        household.at = action.removeprefix("go to ")
        if household.at not in household.visited:
            household.visited.append(household.at)
    closed = _CLOSED.search(observation)
    if closed:
        household.closed.add(closed[1])
    sight = _SIGHT.search(observation)
    if sight:
        household.closed.discard(sight[1])
        household.contents[sight[1]] = _NAMED.findall(sight[2])


def _handle(household: ObservedHousehold, observation: str) -> None:
    if taken := _TAKEN.match(observation):
        household.held = taken[1]
        household.placed.pop(taken[1], None)
        if taken[1] in household.contents.get(taken[2], ()):
            household.contents[taken[2]].remove(taken[1])
    elif put := _PUT_DOWN.match(observation):
        household.held = ""
        household.placed[put[1]] = put[2]
        household.contents.setdefault(put[2], []).append(put[1])
    elif treated := _TREATED.match(observation):
        household.treated.add((treated[1], treated[2]))
