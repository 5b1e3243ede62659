"""What a layout is, and the JSON files that most of them are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from console.runs.export.layouts.parts.reviewed import RunRecords


@dataclass(frozen=True, slots=True)
class Layout:
    """A file of the form that another tool reads: what it is for, its suffix, and how it is written.

    `write` puts a run's records on the stream and returns how many `unit` there are. `takes` are the names in ASKED_FOR
    that change it; `needs` is the library that writes it, where it is none of ours.
    """

    title: str
    unit: str
    suffix: str
    media_type: str
    write: Callable[[RunRecords, BinaryIO], int]
    takes: tuple[str, ...] = ()
    needs: str | None = None


def write_lines(documents: Iterable[Any], stream: BinaryIO) -> int:
    """Writes one JSON document a line; returns how many."""
    count = 0
    for document in documents:
        stream.write(orjson.dumps(document) + b"\n")
        count += 1
    return count


def write_list(documents: Iterable[Any], stream: BinaryIO) -> int:
    """Writes one JSON list, an element a line, without holding it; returns how many."""
    count = 0
    stream.write(b"[")
    for document in documents:
        stream.write((b",\n" if count else b"\n") + orjson.dumps(document))
        count += 1
    stream.write(b"\n]\n")
    return count
