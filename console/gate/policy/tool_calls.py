"""The tool calls of an action, read strictly: what two readers could take differently is no call at all."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_ARGUMENTS = 65_536
"""Characters of a call's arguments; longer ones are not read."""
MAX_VALUES = 2_000
MAX_DEPTH = 32

_CALLED = re.compile(r"\s*(?P<name>[\w.-]+)\((?P<arguments>.*)\)\s*", re.DOTALL)
_BRACKETED = re.compile(r"\s*(?P<name>[\w.-]+)\s*\[(?P<argument>[^\r\n]*)\]\s*")


@dataclass(frozen=True, slots=True)
class ReadCall:
    """One call with its text as the agent wrote it; what stands in brackets is its `argument`."""

    text: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The name as it is, then without each namespace before it.

        `mcp__shop__refund` and `functions.shop.refund` are both `refund` in the end, however wide or in which case the
        prefix is written.
        """
        found = [self.name, *([plain] if (plain := unicodedata.normalize("NFKC", self.name)) != self.name else [])]
        while "." in found[-1].rstrip("."):
            found.append(found[-1].rstrip(".").partition(".")[2])
        if found[-1].lower().startswith("mcp__"):
            while "__" in found[-1].strip("_"):
                found.append(found[-1].partition("__")[2])
        return tuple(name for name in found if name)


@dataclass(frozen=True, slots=True)
class ActionPart:
    """A part of an action that is ruled on by itself: a call, or a line that is none (`call` is None)."""

    text: str
    call: ReadCall | None


def action_parts(action: str) -> tuple[ActionPart, ...]:
    """The parts of an action: one call, one call a line, or each line where one of them is no call."""
    whole = _call(action)
    if whole is not None:
        return (ActionPart(action, whole),)
    parts = tuple(ActionPart(line, _call(line)) for line in action.splitlines() if line.strip())
    if not parts or any(part.call is None for part in parts):
        return tuple(ActionPart(part.text, None) for part in parts) or (ActionPart(action, None),)
    return parts


def _call(text: str) -> ReadCall | None:
    if match := _BRACKETED.fullmatch(text):
        return ReadCall(text, match["name"], {"argument": match["argument"]}) if _is_one(match["argument"]) else None
    match = _CALLED.fullmatch(text)
    arguments = _arguments(match["arguments"]) if match else None
    return ReadCall(text, match["name"], arguments) if match and arguments is not None else None


def _is_one(argument: str) -> bool:
    """Whether what stands in brackets is one argument: another reader may end it at the first bracket or line."""
    return len(argument) <= MAX_ARGUMENTS and not {"[", "]"} & {*argument} and len(argument.splitlines()) <= 1


def _arguments(text: str) -> Mapping[str, Any] | None:
    if len(text) > MAX_ARGUMENTS:
        return None
    try:
        found = json.loads(text.strip() or "{}", object_pairs_hook=_once, parse_constant=_refused, parse_float=_number)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and _is_bounded(found) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("A name is there twice, and which of its values counts is up to the reader.")
    return found


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON.")


def _number(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is more than a number can be here.")
    return number


def _is_bounded(found: Any) -> bool:
    level, values = [found], 0
    for _ in range(MAX_DEPTH):
        values += len(level)
        if not level or values > MAX_VALUES:
            break
        level = [value for holder in level for value in _held(holder)]
    return not level and values <= MAX_VALUES


def _held(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
