import csv as plain
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.runs.export.formats import Column, ColumnKind, read_csv, write_csv

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
