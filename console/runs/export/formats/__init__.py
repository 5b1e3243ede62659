"""Formats of exported tables. To add a format, write a file here and a line in FORMATS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from console.errors import Unknown
from console.runs.export.formats.columns import (
    Column,
    ColumnKind,
    Page,
    Row,
    write_csv,
    write_json_lines,
    write_parquet,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Format:
    """An export format: a writer and its media type."""

    write: Callable[[Sequence[Column], Iterable[Page], BinaryIO], int]
    media_type: str


FORMATS: dict[str, Format] = {
    "csv": Format(write_csv, "text/csv"),
    "jsonl": Format(write_json_lines, "application/jsonl"),
    "parquet": Format(write_parquet, "application/vnd.apache.parquet"),
}


def format_of(path: PurePath) -> Format:
    """Return the format for a file's suffix; raise Unknown, with the list of formats, if the suffix has no format."""
    name = path.suffix.removeprefix(".").lower()
    if name not in FORMATS:
        raise Unknown("export format", name, FORMATS)
    return FORMATS[name]


def as_csv(frame: pd.DataFrame) -> bytes:
    """Return the table as CSV with empty cells for missing values; escape cells that spreadsheets run as formulas."""
    columns = [Column(str(name), _kind(frame[name])) for name in frame.columns]
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    stream = BytesIO()
    FORMATS["csv"].write(columns, [list(rows)], stream)
    return stream.getvalue()


_KINDS = {"b": ColumnKind.TRUTH, "i": ColumnKind.INTEGER, "u": ColumnKind.INTEGER, "f": ColumnKind.NUMBER}


def _kind(column: pd.Series[Any]) -> ColumnKind:
    return _KINDS.get(column.dtype.kind, ColumnKind.TEXT)
