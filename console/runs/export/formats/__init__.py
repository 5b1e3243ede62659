"""Formats of exported tables. To add a format, write a file here and a line in FORMATS."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import CSVWriter, WriteOptions
from pyarrow.parquet import ParquetWriter

from console.errors import Unknown
from console.language import iso

Row = Sequence[Any]
"""A row: one value per column, None for an empty cell; writers ignore values past the last column."""

Page = Sequence[Row]
"""A page: rows that fit in memory."""

_RISKY = r"^[=+\-@'\x00-\x1f\x7f-\x{9f}]"
_LONGEST_CELL = 2**31 - 1
_ROW_GROUP_BYTES = 8 * 2**20


class ColumnKind(StrEnum):
    """The kind of value in a column's cells.

    `time`: whole milliseconds since 1970 UTC; `json`: JSON text; `record`: JSON text, the whole line in JSON Lines.
    """

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    TRUTH = "truth"
    TIME = "time"
    JSON = "json"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class Column:
    """A named column and the kind of its cells."""

    name: str
    kind: ColumnKind = ColumnKind.TEXT


_CELLS: dict[ColumnKind, Callable[[Any], Any]] = {
    ColumnKind.TRUTH: bool,
    ColumnKind.TIME: iso,
    ColumnKind.JSON: orjson.Fragment,
}


def write_json_lines(columns: Sequence[Column], pages: Iterable[Page], stream: BinaryIO) -> int:
    """Write one JSON object per line as UTF-8, or the cell of kind `record` instead; return the number of rows."""
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
        return orjson.dumps(_json_cells(columns, row, _CELLS))
    except orjson.JSONEncodeError:
        # Half of a surrogate pair, which orjson refuses and json escapes.
        return json.dumps(_json_cells(columns, row, {**_CELLS, ColumnKind.JSON: json.loads})).encode()


def _json_cells(columns: Sequence[Column], row: Row, cells: dict[ColumnKind, Callable[[Any], Any]]) -> dict[str, Any]:
    return {
        column.name: cells[column.kind](value) if value is not None and column.kind in cells else value
        for column, value in zip(columns, row, strict=False)
    }


_TYPES = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.INTEGER: pa.int64(),
    ColumnKind.NUMBER: pa.float64(),
    ColumnKind.TRUTH: pa.bool_(),
    ColumnKind.TIME: pa.timestamp("ms", tz="UTC"),
    ColumnKind.JSON: pa.string(),
    ColumnKind.RECORD: pa.string(),
}


def write_csv(columns: Sequence[Column], pages: Iterable[Page], stream: BinaryIO) -> int:
    """Write a header and the rows as UTF-8; return the number of rows.

    Put a `'` in front of a text that starts with one of `= + - @ '` or a control character; leave numbers unchanged.
    """
    stream.write((",".join(column.name for column in columns) + "\n").encode())
    types = [pa.string() if column.kind is ColumnKind.TIME else _TYPES[column.kind] for column in columns]
    schema = pa.schema(zip([column.name for column in columns], types, strict=True))

    def write_page(page: Page) -> int:
        cells = [_cells(column.kind, array) for column, array in zip(columns, _arrays(columns, page), strict=True)]
        writer.write_batch(pa.record_batch(cells, schema=schema))
        return len(page)

    with _little_memory(), CSVWriter(stream, schema, write_options=WriteOptions(include_header=False)) as writer:
        # A loop would hold a page and its arrays while the next page is read.
        return sum(map(write_page, filter(None, pages)))


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file written by `write_csv`, as strings without the escaping `'`."""
    csv.field_size_limit(_LONGEST_CELL)
    with path.open(encoding="utf-8", errors="surrogatepass", newline="") as stream:
        for row in csv.DictReader(stream):
            yield {name: cell.removeprefix("'") for name, cell in row.items()}


def write_parquet(columns: Sequence[Column], pages: Iterable[Page], stream: BinaryIO) -> int:
    """Write the rows as a Parquet file; return the number of rows."""
    schema = pa.schema([(column.name, _TYPES[column.kind]) for column in columns])
    return store_row_groups(schema, (_arrays(columns, page) for page in pages if page), stream)


def store_row_groups(schema: pa.Schema, batches: Iterable[Sequence[pa.Array]], target: BinaryIO | Path) -> int:
    """Write batches of one array per column in row groups of about 8 MB; return the number of rows."""
    count, waiting = 0, []
    with _little_memory(), ParquetWriter(target, schema) as writer:
        for arrays in batches:
            waiting.append(pa.record_batch(arrays, schema=schema))
            count += len(waiting[-1])
            if sum(batch.nbytes for batch in waiting) >= _ROW_GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema))
    return count


def array_of(values: Sequence[Any], kind: Any) -> Any:
    """Return the values as an Arrow array of this Arrow type."""
    # pyarrow.array would import pandas (46 MB) just to ask whether a list is a Series; a list scalar does not.
    return pa.scalar(values, pa.list_(kind)).values


def _arrays(columns: Sequence[Column], page: Page) -> list[Any]:
    return [
        _column_array(column.kind, values) for column, values in zip(columns, zip(*page, strict=True), strict=False)
    ]


def _column_array(kind: ColumnKind, values: Sequence[Any]) -> Any:
    """Return the values as one Arrow array; preserve the bytes of lone surrogates."""
    if kind is ColumnKind.TRUTH:
        values = [None if value is None else bool(value) for value in values]
    try:
        return array_of(values, _TYPES[kind])
    except UnicodeEncodeError:
        coded = [None if value is None else value.encode("utf-8", "surrogatepass") for value in values]
        return array_of(coded, pa.binary()).cast(pa.string(), safe=False)


@contextmanager
def _little_memory() -> Iterator[None]:
    """Make Arrow allocate memory from the system, because its own allocator keeps megabytes more than a page needs."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


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
    columns = [Column(str(name), _KINDS.get(frame[name].dtype.kind, ColumnKind.TEXT)) for name in frame.columns]
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    stream = BytesIO()
    FORMATS["csv"].write(columns, [list(rows)], stream)
    return stream.getvalue()


_KINDS = {"b": ColumnKind.TRUTH, "i": ColumnKind.INTEGER, "u": ColumnKind.INTEGER, "f": ColumnKind.NUMBER}
