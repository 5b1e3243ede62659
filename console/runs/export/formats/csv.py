"""CSV that a spreadsheet opens without running any cell, and that reads back as it was."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import CSVWriter, WriteOptions

from console.runs.export.formats.arrow import TYPES, arrays, little_memory
from console.runs.export.formats.columns import Column, ColumnKind, Page

_RISKY = r"^[=+\-@'\x00-\x1f\x7f-\x{9f}]"
_LONGEST_CELL = 2**31 - 1


def write(columns: Sequence[Column], pages: Iterable[Page], stream: BinaryIO) -> int:
    """Writes a header and the rows as UTF-8; returns how many rows.

    A text that starts with one of `= + - @ '` or a control character gets a `'` in front; numbers stay numbers.
    """
    stream.write((",".join(column.name for column in columns) + "\n").encode())
    schema = pa.schema([(column.name, _cell_type(column.kind)) for column in columns])
    with little_memory(), CSVWriter(stream, schema, write_options=WriteOptions(include_header=False)) as writer:
        return sum(map(partial(_write_page, writer, schema, columns), pages))


def read(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a file that `write` wrote, as texts, each protecting `'` taken off again."""
    csv.field_size_limit(_LONGEST_CELL)
    with path.open(encoding="utf-8", errors="surrogatepass", newline="") as stream:
        for row in csv.DictReader(stream):
            yield {name: cell.removeprefix("'") for name, cell in row.items()}


def _write_page(writer: CSVWriter, schema: pa.Schema, columns: Sequence[Column], page: Page) -> int:
    if page:
        cells = [_cells(column.kind, array) for column, array in zip(columns, arrays(columns, page), strict=True)]
        writer.write_batch(pa.record_batch(cells, schema=schema))
    return len(page)


def _cell_type(kind: ColumnKind) -> Any:
    return pa.string() if kind is ColumnKind.TIME else TYPES[kind]


def _cells(kind: ColumnKind, array: Any) -> Any:
    if kind is ColumnKind.TIME:
        moments = pc.binary_replace_slice(array.cast(pa.timestamp("ms")).cast(pa.string()), 10, 11, "T")
        return pc.binary_join_element_wise(moments, "Z", "")
    return _harmless(array) if TYPES[kind] == pa.string() else array


def _harmless(texts: Any) -> Any:
    # The first and last in order clear most columns; the expression on every cell would cost a tenth of an export.
    # Their bytes are compared, because half of a surrogate pair has no text.
    ends = pc.min_max(texts.cast(pa.binary()))
    first, last = ends["min"].as_py(), ends["max"].as_py()
    if first is None or (first >= b"A" and last < b"\x7f"):
        return texts
    risky = pc.match_substring_regex(texts, _RISKY)
    return pc.if_else(risky, pc.binary_join_element_wise("'", texts, ""), texts)
