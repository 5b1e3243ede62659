"""JSON Lines: one object per row, or the row's record if the row has a column of kind `record`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO

import orjson

from console.runs.export.formats.columns import Column, ColumnKind, Page, Row, iso

_CELLS: dict[ColumnKind, Callable[[Any], Any]] = {
    ColumnKind.TRUTH: bool,
    ColumnKind.TIME: iso,
    ColumnKind.JSON: orjson.Fragment,
}


def write(columns: Sequence[Column], pages: Iterable[Page], stream: BinaryIO) -> int:
    """Write one line per row as UTF-8; return the number of rows."""
    record = next((index for index, column in enumerate(columns) if column.kind is ColumnKind.RECORD), None)
    count = 0
    for page in pages:
        stream.writelines(
            (_line(columns, row) if record is None else str(row[record]).encode()) + b"\n" for row in page
        )
        count += len(page)
    return count


def _line(columns: Sequence[Column], row: Row) -> bytes:
    try:
        return orjson.dumps(_cells(columns, row, _CELLS))
    except orjson.JSONEncodeError:
        # Half of a surrogate pair, which orjson refuses and json escapes.
        return json.dumps(_cells(columns, row, {**_CELLS, ColumnKind.JSON: json.loads})).encode()


def _cells(columns: Sequence[Column], row: Row, cells: dict[ColumnKind, Callable[[Any], Any]]) -> dict[str, Any]:
    return {
        column.name: None if value is None else cells.get(column.kind, _same)(value)
        for column, value in zip(columns, row, strict=False)
    }


def _same(value: Any) -> Any:
    return value
