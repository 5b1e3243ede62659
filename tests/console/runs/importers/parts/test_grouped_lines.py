"""Records put together by a key: each group whole, in the order of its first record, and never too long."""

from pathlib import Path

import pytest

from console.errors import UnreadableFile
from console.runs.importers.parts.grouped_lines import GroupedRecord, grouped

LOG = Path("log.jsonl")


def test_records_that_stand_apart_are_put_together():
    records = [("b", 1, 1), ("a", 2, [2]), ("b", 3, None)]
    assert [*grouped(records, LOG)] == [
        ("b", [GroupedRecord(1, 1), GroupedRecord(3, None)]),
        ("a", [GroupedRecord(2, [2])]),
    ]


def test_a_group_longer_than_memory_should_hold_is_refused_with_its_line():
    quarter = "x" * 2**25
    with pytest.raises(UnreadableFile, match="longer than 128 MB") as refused:
        list(grouped((("a", line, quarter) for line in range(5, 9)), LOG))
    assert refused.value.line == 5
