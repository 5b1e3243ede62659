import io
from datetime import UTC, datetime

import pyarrow.parquet as pq

from console.runs.export.formats import Column, ColumnKind, write_parquet

COLUMNS = [Column("words"), Column("ok", ColumnKind.TRUTH), Column("at", ColumnKind.TIME)]


def table(pages):
    stream = io.BytesIO()
    count = write_parquet(COLUMNS, pages, stream)
    return count, pq.read_table(io.BytesIO(stream.getvalue()))


def test_rows_of_several_pages_come_back_typed():
    count, found = table([[("=1", 1, 0)], [], [("", None, None)]])
    assert count == 2
    assert found.to_pylist() == [
        {"words": "=1", "ok": True, "at": datetime(1970, 1, 1, tzinfo=UTC)},
        {"words": "", "ok": None, "at": None},
    ]


def test_without_rows_the_columns_are_there():
    count, found = table([])
    assert (count, found.column_names) == (0, ["words", "ok", "at"])


def test_big_pages_become_row_groups():
    stream = io.BytesIO()
    write_parquet(COLUMNS, [[("x" * 1_000_000, 1, 1)] * 5] * 4, stream)
    assert pq.ParquetFile(io.BytesIO(stream.getvalue())).num_row_groups == 2
