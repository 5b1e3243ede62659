import io
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from console.runs.export.formats import Column, ColumnKind, write_json_lines


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
def test_any_text_reads_back_as_it_was(words):
    (line,) = lines([Column("words"), Column("more", ColumnKind.JSON)], [(words, '{"a":1}')])
    assert json.loads(line) == {"words": words, "more": {"a": 1}}
