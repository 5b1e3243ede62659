"""What the scripted helper in the household has seen and done in a trial, read back from its steps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from console.trajectory import Step

_NAMED = re.compile(r"\ba ([a-z]+ \d+)")
_SIGHT = re.compile(r"(?:On the|The) ([a-z]+ \d+)(?:, you see| is open\. In it, you see) (.*)$", re.DOTALL)
_CLOSED = re.compile(r"The ([a-z]+ \d+) is closed")
_TAKEN = re.compile(r"^You (?:pick up|take) the ([a-z]+ \d+) from the ([a-z]+ \d+)")
_PUT = re.compile(r"^You (?:move|put) the ([a-z]+ \d+) (?:to|in/on) the ([a-z]+ \d+)")
_TREATED = re.compile(r"^You (clean|heat|cool) the ([a-z]+ \d+) using")


@dataclass(slots=True)
class Round:
    """Where the helper stands, what it holds, and what it knows of each receptacle; things by their numbered names."""

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
    """`apple` of `apple 2`."""
    return name.rpartition(" ")[0]


def go_round(steps: Iterable[Step]) -> Round:
    """What these steps amount to."""
    seen = Round()
    for step in steps:
        seen.done.add(step.action.strip())
        if step.observation.strip().startswith("Nothing happens"):
            seen.failed.add(step.action.strip())
        else:
            _look_round(seen, step.action.strip(), step.observation)
            _handle(seen, step.observation)
    return seen


def _look_round(seen: Round, action: str, observation: str) -> None:
    if action.startswith("go to "):
        seen.at = action.removeprefix("go to ")
        if seen.at not in seen.visited:
            seen.visited.append(seen.at)
    closed = _CLOSED.search(observation)
    if closed:
        seen.closed.add(closed[1])
    sight = _SIGHT.search(observation)
    if sight:
        seen.closed.discard(sight[1])
        seen.contents[sight[1]] = _NAMED.findall(sight[2])


def _handle(seen: Round, observation: str) -> None:
    if taken := _TAKEN.match(observation):
        seen.held = taken[1]
        seen.placed.pop(taken[1], None)
        if taken[1] in seen.contents.get(taken[2], ()):
            seen.contents[taken[2]].remove(taken[1])
    elif put := _PUT.match(observation):
        seen.held = ""
        seen.placed[put[1]] = put[2]
        seen.contents.setdefault(put[2], []).append(put[1])
    elif treated := _TREATED.match(observation):
        seen.treated.add((treated[1], treated[2]))
