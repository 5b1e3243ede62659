"""Strict JSON in the arguments of a call: limited in size and without duplicate keys, also in nested JSON texts."""

from __future__ import annotations

import json
import math
import re

import orjson

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
