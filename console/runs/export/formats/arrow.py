"""Tables written by Arrow: Parquet, and CSV with escaped formulas that `read_csv` restores."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import CSVWriter, WriteOptions
from pyarrow.parquet import ParquetWriter

from console.runs.export.formats.columns import Column, ColumnKind, Page

_RISKY = r"^[=+\-@'\x00-\x1f\x7f-\x{9f}]"
_LONGEST_CELL = 2**31 - 1
_ROW_GROUP_BYTES = 8 * 2**20

_TYPES = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.INTEGER: pa.int64(),
    ColumnKind.NUMBER: pa.float64(),
    ColumnKind.TRUTH: pa.bool_(),
    ColumnKind.TIME: pa.timestamp("ms", tz="UTC"),
    ColumnKind.JSON: pa.string(),
    ColumnKind.RECORD: pa.string(),
}


def _arrays(columns: Sequence[Column], page: Page) -> list[Any]:
    """Return one Arrow array for each column; the page must have rows."""
    return [
        _column_array(column.kind, values) for column, values in zip(columns, zip(*page, strict=True), strict=False)
    ]


def _column_array(kind: ColumnKind, values: Sequence[Any]) -> Any:
    """Return the values as one Arrow array; preserve the bytes of lone surrogates."""
    if kind is ColumnKind.TRUTH:
        values = [None if value is None else bool(value) for value in values]
    try:
        return _array(values, _TYPES[kind])
    except UnicodeEncodeError:
        coded = [None if value is None else value.encode("utf-8", "surrogatepass") for value in values]
        return _array(coded, pa.binary()).cast(pa.string(), safe=False)


@contextmanager
def little_memory() -> Iterator[None]:
    """Make Arrow allocate memory from the system, because its own allocator holds megabytes more than a page needs."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


def _array(values: Sequence[Any], kind: Any) -> Any:
    # pyarrow.array would import pandas (46 MB) just to ask whether a list is a Series; a list scalar does not.
    return pa.scalar(values, pa.list_(kind)).values


def write_csv(columns: Sequence[Column], pages: Iterable[Page], stream: BinaryIO) -> int:
    """Write a header and the rows as UTF-8; return the number of rows.

    Put a `'` in front of a text that starts with one of `= + - @ '` or a control character; do not change numbers.
    """
    stream.write((",".join(column.name for column in columns) + "\n").encode())
    schema = pa.schema([(column.name, _cell_type(column.kind)) for column in columns])
    with little_memory(), CSVWriter(stream, schema, write_options=WriteOptions(include_header=False)) as writer:
        return sum(map(partial(_write_page, writer, schema, columns), pages))


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a file that `write_csv` wrote, as strings without the escaping `'`."""
    csv.field_size_limit(_LONGEST_CELL)
    with path.open(encoding="utf-8", errors="surrogatepass", newline="") as stream:
        for row in csv.DictReader(stream):
            yield {name: cell.removeprefix("'") for name, cell in row.items()}


def _write_page(writer: CSVWriter, schema: pa.Schema, columns: Sequence[Column], page: Page) -> int:
    if page:
        cells = [_cells(column.kind, array) for column, array in zip(columns, _arrays(columns, page), strict=True)]
        writer.write_batch(pa.record_batch(cells, schema=schema))
    return len(page)


def _cell_type(kind: ColumnKind) -> Any:
    return pa.string() if kind is ColumnKind.TIME else _TYPES[kind]


def _cells(kind: ColumnKind, array: Any) -> Any:
    if kind is ColumnKind.TIME:
        moments = pc.binary_replace_slice(array.cast(pa.timestamp("ms")).cast(pa.string()), 10, 11, "T")
        return pc.binary_join_element_wise(moments, "Z", "")
    return _harmless(array) if _TYPES[kind] == pa.string() else array


def _harmless(texts: Any) -> Any:
    # The first and last in order clear most columns; the expression on every cell would cost a tenth of an export.
    # Their bytes are compared, because half of a surrogate pair has no text.
    ends = pc.min_max(texts.cast(pa.binary()))
    first, last = ends["min"].as_py(), ends["max"].as_py()
    if first is None or (first >= b"A" and last < b"\x7f"):
        return texts
    risky = pc.match_substring_regex(texts, _RISKY)
    return pc.if_else(risky, pc.binary_join_element_wise("'", texts, ""), texts)


def write_parquet(columns: Sequence[Column], pages: Iterable[Page], stream: BinaryIO) -> int:
    """Write the rows in groups of about 8 MB; return the number of rows."""
    schema = pa.schema([(column.name, _TYPES[column.kind]) for column in columns])
    count, waiting = 0, []
    with little_memory(), ParquetWriter(stream, schema) as writer:
        for page in filter(None, pages):
            waiting.append(pa.record_batch(_arrays(columns, page), schema=schema))
            count += len(page)
            if sum(batch.nbytes for batch in waiting) >= _ROW_GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema))
    return count
