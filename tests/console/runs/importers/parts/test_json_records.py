"""Records of a JSON document, whatever stands in them and wherever a block of the file ends."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import UnreadableFile
from console.runs.importers.parts.json_records import Record, base_of, elements, group_records, outline

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab{}[]\\",\n', max_size=4), inner, max_size=3),
    max_leaves=8,
)
records = st.lists(st.dictionaries(st.text('ab{}[]\\",\n', max_size=4), values, max_size=4), max_size=5)


@given(records, st.booleans(), st.sampled_from(["[]", "", ".results[]"]))
def test_any_records_come_back(tmp_path_factory, wanted, pretty, base):
    option = orjson.OPT_INDENT_2 if pretty else 0
    whole = wanted if base == "[]" else {"first": [wanted], "results": wanted, "last": "]"}
    raw = orjson.dumps(whole, option=option) if base else b"\n".join(orjson.dumps(r, option=option) for r in wanted)
    path = tmp_path_factory.mktemp("json") / "log"
    path.write_bytes(raw)
    found = list(elements(path, base))
    assert [orjson.loads(value) for _, value in found] == wanted
    lines = raw.split(b"\n")
    assert all(value.split(b"\n", 1)[0] in lines[line - 1] for line, value in found)


@pytest.mark.parametrize("length", [2**18 - 20, 2**18 - 8, 2**18, 2**18 + 9, 3 * 2**18])
def test_a_text_across_the_end_of_a_block(write_list, length):
    wanted = [{"a": 'x"\\' * (length // 3)}, {"b": "y" * length}, {"c": "]"}]
    assert [orjson.loads(value) for _, value in elements(write_list(wanted), "[]")] == wanted


@pytest.fixture
def write_list(tmp_path):
    def write(wanted):
        path = tmp_path / "log"
        path.write_bytes(orjson.dumps(wanted))
        return path

    return write


def test_memory_holds_one_record_not_the_file(write_list):
    import tracemalloc

    path = write_list([{"text": "word " * 2000}] * 3000)
    tracemalloc.start()
    count = sum(1 for _ in elements(path, "[]"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 3000
    assert path.stat().st_size > 25_000_000
    assert peak < 3_000_000


@pytest.mark.parametrize(
    ("head", "paths"),
    [
        (b'{"a": 1, "b": [{"c": null}, []], "d": {}}\n{"e": 2}', {".a", ".b", ".b[].c", ".d"}),
        (b'[[1, "two"], {"k\\u00e9y": {"x": -1.5e3}}]', {"[][]", "[].k\u00e9y", "[].k\u00e9y.x"}),
        (b'{"a": {"b": "cut off in the mid', {".a", ".a.b"}),
        (b'{"a": 1, b: 2, "c": 3}', {".a"}),
        (b'{"half": "\\ud83d", "bytes": "\xff", "next": 1}', {".half", ".bytes", ".next"}),
        (b'{"a":{"b":{"c":{"d":{"e":{"f":{"g":1}}}}}}}', {".a.b.c.d.e.f"[: 2 * n] for n in range(1, 7)}),
        (b"Trial 1: [1, 2]", set()),
        (b"{'task_id': 1}", set()),
        (b"", set()),
    ],
)
def test_the_outline_names_the_fields_of_the_first_value_up_to_where_the_json_breaks(head, paths):
    assert outline(head) == paths


@given(records)
def test_the_outline_of_a_list_has_the_fields_of_all_records(wanted):
    paths = outline(orjson.dumps(wanted))
    assert {f"[].{key}" for record in wanted for key in record} <= paths
    assert base_of(paths, ("[].no such field",)) is None


def test_records_that_stand_apart_are_put_together():
    records = [("b", 1, 1), ("a", 2, [2]), ("b", 3, None)]
    assert [*group_records(records, Path("log.jsonl"))] == [
        ("b", [Record(1, 1), Record(3, None)]),
        ("a", [Record(2, [2])]),
    ]


def test_a_group_longer_than_memory_should_hold_is_refused_with_its_line():
    quarter = "x" * 2**25
    with pytest.raises(UnreadableFile, match="longer than 128 MB") as refused:
        list(group_records((("a", line, quarter) for line in range(5, 9)), Path("log.jsonl")))
    assert refused.value.line == 5
