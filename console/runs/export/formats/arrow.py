"""Cells as Arrow arrays, which the CSV and the parquet writer share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from console.runs.export.formats.columns import Column, ColumnKind, Page

TYPES = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.INTEGER: pa.int64(),
    ColumnKind.NUMBER: pa.float64(),
    ColumnKind.TRUTH: pa.bool_(),
    ColumnKind.TIME: pa.timestamp("ms", tz="UTC"),
    ColumnKind.JSON: pa.string(),
    ColumnKind.RECORD: pa.string(),
}


def arrays(columns: Sequence[Column], page: Page) -> list[Any]:
    """One Arrow array for each column of a page that is not empty."""
    return [array(column.kind, values) for column, values in zip(columns, zip(*page, strict=True), strict=False)]


def array(kind: ColumnKind, values: Sequence[Any]) -> Any:
    """The values as one Arrow array; lone surrogates keep their bytes."""
    if kind is ColumnKind.TRUTH:
        values = [None if value is None else bool(value) for value in values]
    try:
        return _array(values, TYPES[kind])
    except UnicodeEncodeError:
        coded = [None if value is None else value.encode("utf-8", "surrogatepass") for value in values]
        return _array(coded, pa.binary()).cast(pa.string(), safe=False)


@contextmanager
def little_memory() -> Iterator[None]:
    """Arrow takes its memory from the system for a while: its own allocator holds megabytes more than a page needs."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


def _array(values: Sequence[Any], kind: Any) -> Any:
    # pyarrow.array would import pandas (46 MB) just to ask whether a list is a Series; a list scalar does not.
    return pa.scalar(values, pa.list_(kind)).values
