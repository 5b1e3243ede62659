"""Parquet, for people who load the data into a data frame; times and truths keep their types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import BinaryIO

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from console.runs.export.formats.arrow import TYPES, arrays, little_memory
from console.runs.export.formats.columns import Column, Page

_ROW_GROUP_BYTES = 8 * 2**20


def write(columns: Sequence[Column], pages: Iterable[Page], stream: BinaryIO) -> int:
    """Writes the rows in groups of about 8 MB; returns how many."""
    schema = pa.schema([(column.name, TYPES[column.kind]) for column in columns])
    count, waiting = 0, []
    with little_memory(), ParquetWriter(stream, schema) as writer:
        for page in filter(None, pages):
            waiting.append(pa.record_batch(arrays(columns, page), schema=schema))
            count += len(page)
            if sum(batch.nbytes for batch in waiting) >= _ROW_GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema))
    return count
