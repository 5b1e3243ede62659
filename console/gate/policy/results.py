"""Names of tools in a policy, and earlier results of tools in a task.

A name is matched by its last segment or in full if the rule permits more, else by every suffix. Results are for
conditions such as `results("get_order").status == "open"`.

A result is recorded if the agent reported it after beginning an action that the console allowed. Only recorded results
can loosen a policy. Any other result is only the agent's statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import orjson

from console.trajectory import checkpoints
from console.trajectory.call_values import MAX_ARGUMENTS
from console.trajectory.calls import (
    MAX_TOOL_NAME,
    find_problem,
    name_segments,
    name_suffixes,
    read_calls,
    read_strictly,
)


def names_suffix(name: str, glob: str) -> bool:
    """Return whether a glob matches the tool's full name or a remainder of the name; a too long name always matches."""
    return len(name) > MAX_TOOL_NAME or is_like(list_suffixes(name), (glob,))


def list_suffixes(name: str) -> tuple[str, ...]:
    """Return the tool's full name, and its remainder after each separator and each `__`."""
    found = name_suffixes(name)
    return (*found, *(one[at.start() :] for one in found for at in re.finditer("(?<=__)(?=.)", one)))


def names_tool(name: str, glob: str) -> bool:
    """Return whether a glob matches the last segment of the tool's name, or the full name segment by segment."""
    # Clients write `__` after a server's name or within a tool's name: the glob must match in both readings.
    return len(name) <= MAX_TOOL_NAME and all(
        _are_like(name_segments(name, is_mcp=is_mcp), name_segments(glob, is_mcp=is_mcp)) for is_mcp in (False, True)
    )


def _are_like(segments: Sequence[str], wanted: Sequence[str]) -> bool:
    if len(wanted) == 1:
        segments = segments[-1:]
    return len(wanted) == len(segments) and all(
        is_like((segment,), (part,)) if at % 2 == 0 else segment == part
        for at, (segment, part) in enumerate(zip(segments, wanted, strict=True))
    )


def is_like(names: Iterable[str], globs: tuple[str, ...]) -> bool:
    """Return whether one of the texts matches one of the globs."""
    return any(_glob(globs).fullmatch(name) for name in names)


@lru_cache(maxsize=1_024)
def _glob(globs: tuple[str, ...]) -> re.Pattern[str]:
    return checkpoints.globs(globs)


_MOST_CHOICES = 1_000
"""The largest number of combinations of results for which a condition is evaluated."""


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """The action that led to a result, and the result as text."""

    action: str
    text: str


@dataclass(frozen=True, slots=True)
class EarlierResults:
    """The results in a task so far, oldest first: results recorded by the console, and results stated by the agent."""

    recorded: tuple[EarlierResult, ...] = ()
    stated: tuple[EarlierResult, ...] = ()

    def latest(self, tools: Sequence[str]) -> dict[str, Any]:
        """Return the latest recorded result of each tool, without the tools that have no readable result."""
        found: dict[str, Any] = {}
        for name in tools:
            of_tool = [one.text for one in self.recorded if _is_only_call(one.action, name)]
            if of_tool and (value := _read(of_tool[-1])) is not None:
                found[name] = value
        return found

    def choices(self, tools: Sequence[str]) -> Iterator[dict[str, Any]] | None:
        """Return every combination of results of these tools, stated or recorded; None if there are too many."""
        number, lists = 1, []
        for name in tools:
            texts = dict.fromkeys(one.text for one in (*self.recorded, *self.stated) if _has_call(one.action, name))
            lists.append([value for text in texts if (value := _read(text)) is not None])
            number *= len(lists[-1])
        if number > _MOST_CHOICES:
            return None
        return (dict(zip(tools, values, strict=True)) for values in product(*lists))


NO_RESULTS = EarlierResults()


def _is_only_call(action: str, tool: str) -> bool:
    call = parts[0].call if len(parts := read_strictly(action)) == 1 else None
    return call is not None and names_tool(call.name, tool)


def _has_call(action: str, tool: str) -> bool:
    return any(names_suffix(call.name, tool) for call in read_calls(action))


@lru_cache(maxsize=64)
def _read(text: str) -> Any:
    """Return the value of a JSON result, else its text; None if it is too long, null or not strict JSON."""
    if len(text) > MAX_ARGUMENTS:
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return None if find_problem(f'{{"result":{text}}}') else value
