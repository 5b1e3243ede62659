"""Which fields the first records of a JSON file have, seen from its beginning alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import ijson

WRAPPERS = ("results", "simulations", "trajectories", "records", "runs", "conversations", "data")
"""Names under which a JSON object may hold the list of records."""

_DEPTH = 6
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""An escaped surrogate. Half ones, and bytes that are no UTF-8, make the parser forget all that it saw."""
_OPENS = {"start_map", "start_array"}
_CLOSES = {"end_map", "end_array"}


@lru_cache(maxsize=4)
def outline(head: bytes) -> frozenset[str]:
    """The paths of the first top-level value, such as `[].traj[].role`; what comes after broken JSON is left out."""
    found: set[str] = set()
    trail: list[str] = []
    readable = _HALF.sub(r"\\u0020", head.decode(errors="replace"))
    try:
        for event, value in ijson.basic_parse(readable.encode(), multiple_values=True):
            if event in _CLOSES:
                trail.pop()
                if not trail:
                    break
            elif event == "map_key":
                trail[-1] = f".{value}"
                found.add("".join(trail[:_DEPTH]))
            elif event in _OPENS:
                trail.append("[]" if event == "start_array" else "")
            elif len(trail) <= _DEPTH:
                found.add("".join(trail))
    except ijson.JSONError:
        pass
    return frozenset(found)


def base_of(paths: frozenset[str], *alternatives: tuple[str, ...]) -> str | None:
    """Where the records are: `` (each is a top-level value), `[]`, `.results[]`; None if no alternative fits."""
    for base in _bases():
        if any(all(base + mark in paths for mark in marks) for marks in alternatives):
            return base
    return None


def _bases() -> Iterator[str]:
    yield ""
    yield "[]"
    yield from (f".{name}[]" for name in WRAPPERS)
