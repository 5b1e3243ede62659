"""Thought / Action / Observation texts, numbered or not, as ReAct prompts write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from console.trajectory import Step

_MARKER = re.compile(r"^(Thought|Action|Observation)(?:\s+(\d+))?\s*:[ \t]?(.*)$", re.IGNORECASE | re.DOTALL)
_ORDER = {"thought": 0, "action": 1, "observation": 2}


def steps_of(lines: Iterable[str]) -> tuple[Step, ...]:
    """The steps in these lines; a line without a marker belongs to the part before it, so texts stay whole.

    A numbered marker counts only where its number goes on, so that the same words inside an observation stay there.
    """
    steps: list[dict[str, list[str]]] = []
    part, number = "", 0
    for line in lines:
        match = _MARKER.match(line)
        if match and _goes_on(match, part, number):
            name, given = match[1].lower(), match[2]
            if not steps or _begins_step(name, part, int(given or 0), number):
                steps.append({})
            part, number = name, int(given or 0)
            steps[-1][part] = [match[3]]
        elif steps:
            steps[-1][part].append(line)
    return tuple(_step(parts) for parts in steps)


def starts_step(line: str) -> bool:
    """Whether the line is a thought, an action or an observation."""
    return _MARKER.match(line) is not None


def _goes_on(match: re.Match[str], part: str, number: int) -> bool:
    if match[2] is None:
        return not number
    given = int(match[2])
    follows = part == "" or given == number + 1
    return follows or (given == number and _ORDER[match[1].lower()] > _ORDER[part])


def _begins_step(name: str, part: str, given: int, number: int) -> bool:
    return given != number or _ORDER[name] <= _ORDER[part]


def _step(parts: dict[str, list[str]]) -> Step:
    texts = {name: "\n".join(lines).strip() for name, lines in parts.items()}
    return Step(texts.get("thought", ""), texts.get("action", ""), texts.get("observation", ""))
