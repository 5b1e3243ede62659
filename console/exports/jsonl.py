"""JSON Lines: one object a row, or the row's own record where it carries one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO

import orjson

from console.exports.columns import Column, Kind, Page, Row, iso

_CELLS: dict[Kind, Callable[[Any], Any]] = {
    Kind.TRUTH: bool,
    Kind.TIME: iso,
    Kind.JSON: lambda text: orjson.Fragment(text),
}


def write(columns: Sequence[Column], pages: Iterable[Page], stream: BinaryIO) -> int:
    """Writes one line a row as UTF-8; returns how many."""
    record = next((index for index, column in enumerate(columns) if column.kind is Kind.RECORD), None)
    count = 0
    for page in pages:
        stream.writelines(
            (_line(columns, row) if record is None else str(row[record]).encode()) + b"\n" for row in page
        )
        count += len(page)
    return count


def _line(columns: Sequence[Column], row: Row) -> bytes:
    cells = {column.name: _cell(column.kind, value) for column, value in zip(columns, row, strict=False)}
    try:
        return orjson.dumps(cells)
    except orjson.JSONEncodeError:
        return json.dumps(cells, default=lambda fragment: json.loads(fragment.contents)).encode()


def _cell(kind: Kind, value: Any) -> Any:
    return None if value is None else _CELLS.get(kind, _same)(value)


def _same(value: Any) -> Any:
    return value
