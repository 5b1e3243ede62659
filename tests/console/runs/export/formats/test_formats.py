import csv as plain
import io
import json
import tempfile
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import Unknown
from console.runs.export import formats
from console.runs.export.formats import Column, ColumnKind, read_csv, write_csv, write_json_lines, write_parquet


def test_the_suffix_names_the_format_in_any_case():
    assert formats.format_of(Path("a.CSV")) is formats.FORMATS["csv"]


@pytest.mark.parametrize("name", ["a", "a.xlsx", ".csv"])
def test_another_suffix_is_refused_with_the_formats_there_are(name):
    with pytest.raises(Unknown, match="csv, jsonl, parquet"):
        formats.format_of(Path(name))


def test_every_writer_is_listed():
    modules = formats, *(import_module(f"{formats.__name__}.{one.name}") for one in iter_modules(formats.__path__))
    written = {value for module in modules for name, value in vars(module).items() if name.startswith("write")}
    assert written == {format.write for format in formats.FORMATS.values()}


TEXTS = st.text(st.characters(codec=None), max_size=12)
RISKY_STARTS = [*"=+-@'", "\t", "\r", "\n", "\x00", "\x1f", "\x7f", "\x9f"]
TEXT = [Column("words")]


def there_and_back(columns, rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.csv"
        with path.open("wb") as stream:
            assert write_csv(columns, [rows], stream) == len(rows)
        return path.read_bytes(), list(read_csv(path))


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_any_text_reads_back_as_it_was(rows):
    _, found = there_and_back([Column("a"), Column("b")], rows)
    assert [(row["a"], row["b"]) for row in found] == rows


@pytest.mark.parametrize("start", RISKY_STARTS)
def test_no_text_cell_starts_so_that_a_spreadsheet_runs_it(start):
    written, found = there_and_back(TEXT, [(f"{start}1+1",)])
    (_, (cell,)) = plain.reader(io.StringIO(written.decode(), newline=""))
    assert cell.startswith("'")
    assert found == [{"words": f"{start}1+1"}]


@pytest.mark.parametrize("words", ["plain", "ätsch", "1 - 1", " =1", "«=»", "\u00a0x", "", "a'b"])
def test_harmless_text_is_left_alone(words):
    written, _ = there_and_back(TEXT, [(words,)])
    assert written.decode() == f'words\n"{words}"\n'


def test_numbers_times_and_truths_keep_their_form():
    kinds = {
        "n": ColumnKind.INTEGER,
        "x": ColumnKind.NUMBER,
        "ok": ColumnKind.TRUTH,
        "at": ColumnKind.TIME,
        "more": ColumnKind.JSON,
    }
    columns = [Column(name, kind) for name, kind in kinds.items()]
    rows = [(-5, -0.1, 1, 1_767_268_800_007, "[-1]"), (None, None, None, None, None), (2**60, 1 / 3, False, 0, "{}")]
    written, _ = there_and_back(columns, rows)
    assert written.decode().splitlines() == [
        "n,x,ok,at,more",
        '-5,-0.1,true,"2026-01-01T12:00:00.007Z","[-1]"',
        ",,,,",
        '1152921504606846976,0.3333333333333333,false,"1970-01-01T00:00:00.000Z","{}"',
    ]


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_reads_back_exactly(value):
    _, found = there_and_back([Column("x", ColumnKind.NUMBER)], [(value,)])
    assert float(found[0]["x"]) == value


def test_a_cell_of_a_megabyte_reads_back():
    words = "=" + "long " * 200_000
    _, found = there_and_back(TEXT, [(words,)])
    assert found[0]["words"] == words


def test_without_rows_there_is_a_header():
    written, found = there_and_back(TEXT, [])
    assert (written, found) == (b"words\n", [])


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


def lines(columns, rows):
    stream = io.BytesIO()
    assert write_json_lines(columns, [rows], stream) == len(rows)
    return stream.getvalue().splitlines()


def test_values_keep_their_types_and_json_is_nested():
    kinds = {
        "n": ColumnKind.INTEGER,
        "ok": ColumnKind.TRUTH,
        "at": ColumnKind.TIME,
        "more": ColumnKind.JSON,
        "none": ColumnKind.TEXT,
    }
    columns = [Column(name, kind) for name, kind in kinds.items()]
    (line,) = lines(columns, [(1, 0, 1_767_268_800_007, '{"a":[1]}', None, "not a column")])
    assert json.loads(line) == {"n": 1, "ok": False, "at": "2026-01-01T12:00:00.007Z", "more": {"a": [1]}, "none": None}


def test_a_record_is_the_line():
    assert lines([Column("id"), Column("all", ColumnKind.RECORD)], [(1, '{"task_id":"x"}')]) == [b'{"task_id":"x"}']


@settings(deadline=None)
@given(st.text(st.characters(codec=None)))
def test_any_text_reads_back_as_it_was_from_json_lines(words):
    (line,) = lines([Column("words"), Column("more", ColumnKind.JSON)], [(words, '{"a":1}')])
    assert json.loads(line) == {"words": words, "more": {"a": 1}}
