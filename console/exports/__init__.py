"""Formats that tables leave in. A new format is one file here and one line in FORMATS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

from console.errors import Unknown
from console.exports import csv, jsonl, parquet
from console.exports.columns import Column, Kind, Page, Row

__all__ = ["FORMATS", "Column", "Format", "Kind", "Page", "Row", "format_of"]


@dataclass(frozen=True, slots=True)
class Format:
    """A writer and the media type of what it writes."""

    write: Callable[[Sequence[Column], Iterable[Page], BinaryIO], int]
    media_type: str


FORMATS: dict[str, Format] = {
    "csv": Format(csv.write, "text/csv"),
    "jsonl": Format(jsonl.write, "application/jsonl"),
    "parquet": Format(parquet.write, "application/vnd.apache.parquet"),
}


def format_of(path: PurePath) -> Format:
    """The format that a file's suffix names; raises Unknown, naming those there are."""
    name = path.suffix.removeprefix(".").lower()
    if name not in FORMATS:
        raise Unknown("export format", name, FORMATS)
    return FORMATS[name]
