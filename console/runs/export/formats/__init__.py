"""Formats that tables leave in. A new format is one file here and one line in FORMATS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from console.errors import Unknown
from console.runs.export.formats import csv, jsonl, parquet
from console.runs.export.formats.columns import Column, ColumnKind, Page, Row

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FORMATS", "Column", "ColumnKind", "Format", "Page", "Row", "format_of"]


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


def as_csv(frame: pd.DataFrame) -> bytes:
    """The table as CSV that a spreadsheet opens without running any cell; what is missing is an empty cell."""
    columns = [Column(str(name), _kind(frame[name])) for name in frame.columns]
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    stream = BytesIO()
    FORMATS["csv"].write(columns, [list(rows)], stream)
    return stream.getvalue()


_KINDS = {"b": ColumnKind.TRUTH, "i": ColumnKind.INTEGER, "u": ColumnKind.INTEGER, "f": ColumnKind.NUMBER}


def _kind(column: pd.Series[Any]) -> ColumnKind:
    return _KINDS.get(column.dtype.kind, ColumnKind.TEXT)
