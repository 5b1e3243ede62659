"""Values of a call: strict JSON, texts and numbers at any depth, values in commands and statements, and neighbours.

Strict arguments are limited in size and have no duplicate keys, also in nested JSON texts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from console.trajectory.terms import lowered

MAX_ARGUMENTS = 65_536
"""Maximum number of characters of strict arguments, and of arguments to parse as Python."""
MAX_VALUES = 2_000
MAX_DEPTH = 32

UNREADABLE = "the arguments cannot be read"
DUPLICATE_KEY = "a duplicate key is among the arguments"
TOO_LARGE = "the arguments are too long, too many or nested too deeply"

_KEY, _LONG = re.compile(r'"([^"]*)"\s*:'), re.compile(r"\d{19}")


def find_json_problem(given: str, found: object) -> str:
    """Return the reason why a JSON text, parsed as `found`, is not strict; return "" for strict JSON."""
    is_small = given.count("{") + given.count("[") < MAX_DEPTH and given.count(",") < MAX_VALUES // 2
    if len(given) > MAX_ARGUMENTS or not (is_small or _is_bounded(found)):
        return TOO_LARGE
    keys = _KEY.findall(given)
    # A JSON text as a value has escaped quotes.
    if "\\" not in given and len({*keys}) == len(keys) and not _LONG.search(given):
        return ""
    faults = _list_faults(given)
    return faults[0] if faults else ""


def has_duplicate_key(value: object) -> bool:
    """Return whether a value is or contains a JSON text with a duplicate key in an object."""
    if isinstance(value, list):
        return any(map(has_duplicate_key, value))
    if not isinstance(value, str) or "{" not in value:
        return False
    try:
        orjson.loads(value)
        return DUPLICATE_KEY in _list_faults(value)
    except orjson.JSONDecodeError:
        return False
    except RecursionError:
        # Nested too deeply to tell.
        return True


def parse_number(digits: str, faults: list[str]) -> float:
    """Return the number that JSON stores for these digits; integers beyond 64 bits lose their last digits."""
    is_whole = digits.lstrip("-").isdigit()
    if is_whole and (len(digits) < 19 or (len(digits) < 21 and -(2**63) <= int(digits) < 2**64)):
        return int(digits)
    if is_whole:
        faults.append(TOO_LARGE)
    if not math.isfinite(number := float(digits)):
        raise ValueError(UNREADABLE)
    return number


def _list_faults(given: str) -> list[str]:
    faults: list[str] = []

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) != len(pairs) or any(has_duplicate_key(value) for _, value in pairs):
            faults.append(DUPLICATE_KEY)
        return {}

    json.loads(given, object_pairs_hook=unique, parse_int=lambda digits: parse_number(digits, faults))
    return faults


def _is_bounded(found: object) -> bool:
    level, values = [found], 0
    for _ in range(MAX_DEPTH):
        values += len(level)
        if not level or values > MAX_VALUES:
            break
        holders = (
            each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))
        )
        level = [value for holder in holders for value in holder]
    return not level and values <= MAX_VALUES


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
        if len(arguments) == 1 and isinstance(value, str) and value[:1] == "{":
            # Some frameworks pass all arguments as one JSON text.
            with suppress(orjson.JSONDecodeError):
                value = orjson.loads(value)
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


def value_text(value: Any) -> str:
    """Return a string unchanged, and other values as JSON; write each element of a list of objects on its own line."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return "\n".join(json.dumps(each, ensure_ascii=False) for each in value)
    return json.dumps(value, ensure_ascii=False)
