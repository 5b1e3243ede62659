"""Replies with requirement lines: the JSON schemas that are sent to the endpoint, and tolerant reading of the replies.

Values that do not fit the schema are left out and counted; a reply without the expected list gives None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.detection.detectors.shared.reply_parsing import object_schema

LISTED, FILLED, FURTHER = "requirements", "lines", "further"
MOST_LINES = 24
_OBJECT = re.compile(r"\{")
_TRIES = 50
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """A requirement from the model, not yet verified: kind, source, quote, and the thing to which the value belongs."""

    kind: str
    source: str
    quote: str
    bound_to: str = ""


@dataclass(frozen=True, slots=True)
class FilledEntry:
    """A line from the model, not yet verified: its status, and the quoted evidence with its step.

    `number` is the requirement's number. A further requirement has number 0, a kind, and its words (`asked`) at a step.
    """

    number: int
    standing: str
    quote: str
    step: int
    kind: str = ""
    asked: str = ""
    asked_step: int = 0


def list_schema(kinds: Sequence[str], sources: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of a list of requirements."""
    entry = {"kind": _one_of(kinds), "source": _one_of(sources), "quote": _TEXT, "bound_to": _TEXT}
    return object_schema({LISTED: _array(entry)})


def fill_schema(kinds: Sequence[str], standings: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of the lines of a checkpoint, and of requirements that the user stated later."""
    found = {"standing": _one_of(standings), "quote": _TEXT, "step": _NUMBER}
    added = {"kind": _one_of(kinds), "asked": _TEXT, "asked_step": _NUMBER, **found}
    return object_schema({FILLED: _array({"number": _NUMBER, **found}), FURTHER: _array(added)})


def read_listed(text: str) -> tuple[ListedEntry, ...] | None:
    """Return the listed requirements, or None if the reply contains no such list."""
    rows = _rows(text, LISTED)
    if rows is None:
        return None
    fields = ("kind", "source", "quote", "bound_to")
    told = ([_text(row, name) for name in fields] for row in rows)
    return tuple(ListedEntry(kind.lower(), source.lower(), quote, bound) for kind, source, quote, bound in told)


def read_filled(text: str) -> tuple[FilledEntry, ...] | None:
    """Return the filled lines, then the further lines, or None if the reply contains no list of lines."""
    rows = _rows(text, FILLED)
    if rows is None:
        return None
    added = _rows(text, FURTHER) or ()
    return (*(_filled(row, _whole(row, "number")) for row in rows), *(_filled(row, 0) for row in added))


def _filled(row: Mapping[str, Any], number: int) -> FilledEntry:
    standing = _text(row, "standing").strip().lower().replace("_", " ").replace("-", " ")
    found = (_text(row, "quote"), _whole(row, "step"), _text(row, "kind").lower())
    return FilledEntry(number, standing, *found, _text(row, "asked"), _whole(row, "asked_step"))


def _rows(text: str, name: str) -> list[Mapping[str, Any]] | None:
    """Return the objects of the list with this name."""
    for document in _documents(text):
        rows = document.get(name)
        if isinstance(rows, list):
            return [row for row in rows if isinstance(row, dict)]
    return None


def _documents(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield each JSON object in the text, also within a sentence or a fence; skip objects within an earlier object."""
    decoder, end = json.JSONDecoder(strict=False), 0
    for tries, match in enumerate(_OBJECT.finditer(text)):
        if tries >= _TRIES:
            return
        if match.start() < end:
            continue
        try:
            document, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            yield document


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else str(value) if isinstance(value, (int, float)) else ""


def _whole(row: Mapping[str, Any], name: str) -> int:
    """Parse a whole number, also in a text such as "step 3"; return 0 if there is none."""
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return 0
    found = re.search(r"\d{1,6}", str(value))
    return int(found[0]) if found else 0


def _one_of(values: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _array(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": object_schema(properties)}
