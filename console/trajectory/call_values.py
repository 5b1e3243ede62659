"""Values of a call: its texts and numbers at any depth, the values in commands and statements, and their neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from console.trajectory.terms import lowered

Leaves = Sequence[tuple[str, str]]
"""Pairs (name, text) of each text and number in a call's arguments, including nested values."""
YES, NO = "true", "false"
STATEMENT = re.compile(r"\s*(?:select|insert|update|delete|merge|replace|create|alter|drop|with)\s", re.IGNORECASE)
COMMAND_NAME = re.compile(r"^(?:command|cmd|commands|shell|bash|script|command_line|argv)$", re.IGNORECASE)
_QUOTED = re.compile(r"'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"")
_INSTATEMENT = re.compile(r"(?<![\w.'\"-])\d+(?:\.\d+)?(?![\w.'\"-])")
_IN_COMMAND = re.compile(r"(?<!\S)[^\s'\"|;&<>()=-][^\s'\"|;&<>()=]*[/.@:][^\s'\"|;&<>()]+")
_MOST_INNER, _LONGEST_COMMAND = 20, 20_000


def inner_values(name: str, text: str) -> list[str]:
    """Return the texts and numbers in an SQL statement, or the quoted texts, paths and addresses in a command."""
    is_statement = bool(STATEMENT.match(text[:100]))
    if len(text) > _LONGEST_COMMAND or not (is_statement or COMMAND_NAME.match(name)):
        return []
    quoted = [first or second for first, second in _QUOTED.findall(text)]
    bare = (_INSTATEMENT if is_statement else _IN_COMMAND).findall(_QUOTED.sub(" ", text))
    return [value for value in dict.fromkeys([*quoted, *bare]) if value != text][:_MOST_INNER]


def _scalars(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) for each value that is not a list or an object, in the order of the call."""
    waiting: list[tuple[str, Any]] = list(reversed(list(arguments.items())))
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(reversed(list(value.items())))
        elif isinstance(value, (list, tuple)):
            waiting.extend((name, part) for part in reversed(value))
        else:
            yield str(name), value


def switches(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, `true` or `false`) for each yes and no value of a call."""
    for name, value in _scalars(arguments):
        if isinstance(value, bool):
            yield name, YES if value else NO


def leaves(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, value as text) for each text and number in a call's arguments, including nested values."""
    for name, value in _scalars(arguments):
        if isinstance(value, float) and value.is_integer():
            yield name, str(int(value))
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield name, str(value)


def values_beside(name: str, value: str, given: Mapping[str, Any]) -> frozenset[str]:
    """Return the values in the inner object of an argument, else the ids of the call; none for an id or long number."""
    if re.fullmatch(r"\d{5,}|(?=\S*\d)(?=\S*[^\W\d])\S*", value):
        return frozenset()
    inner, waiting = set[str](), list(given.values())
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            own = list(leaves(one))
            inner |= {text for _, text in own if len(text) > 2} if (name, value) in own else set()
            waiting += one.values()
        elif isinstance(one, (list, tuple)):
            waiting += one
    plain = [text for text in given.values() if isinstance(text, str) and len(text) > 3 and re.search(r"\d", text)]
    return frozenset(lowered(text).strip() for text in inner or plain if text != value)
