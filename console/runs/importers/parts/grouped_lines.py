"""Records of a file put together by a key, though they stand apart in it: memory holds one group at a time."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from console.errors import UnreadableFile

_IN_MEMORY = 16 * 2**20
GROUP_LIMIT_BYTES = 128 * 2**20
_TOO_LONG = "what belongs to the session or trace that begins here is longer than 128 MB in all; split it"


@dataclass(frozen=True, slots=True)
class GroupedRecord:
    """A JSON value and the line it begins on."""

    line: int
    value: Any


def grouped(records: Iterable[tuple[str, int, Any]], path: Path) -> Iterator[tuple[str, list[GroupedRecord]]]:
    """The groups in the order of their first record; takes (key, line, value). Raises UnreadableFile above 128 MB."""
    # Three numbers a record, (line, start, bytes), packed: a large file has a million of them.
    places: dict[str, array[int]] = {}
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        for key, line, value in records:
            raw = orjson.dumps(value)
            places.setdefault(key, array("q")).extend((line, spool.tell(), len(raw)))
            spool.write(raw)
        for key, entries in places.items():
            if sum(entries[2::3]) > GROUP_LIMIT_BYTES:
                raise UnreadableFile(str(path), _TOO_LONG, entries[0])
            yield key, [_read(spool, *entries[at : at + 3]) for at in range(0, len(entries), 3)]


def _read(spool: Any, line: int, start: int, size: int) -> GroupedRecord:
    spool.seek(start)
    return GroupedRecord(line, orjson.loads(spool.read(size)))


def first_values(head: bytes) -> Iterator[dict[str, Any]]:
    """The objects on the first whole lines of a file, as far as they are JSON."""
    for raw in head.split(b"\n"):
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            yield value
