"""Where broken JSON is said to be broken."""

import pytest

from console.errors import UnreadableFile
from console.runs.importers import read_log

GOOD = '{"task_id": "t", "instruction": "buy a cup", "steps": []}'
HALF = '{"task_id": "t", "steps": ['


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ([GOOD, GOOD, HALF, GOOD], 3),
        ([GOOD, HALF, ""], 2),
        ([GOOD, GOOD, "hello", GOOD], 3),
        ([GOOD, HALF], 2),
    ],
)
def test_a_line_that_ends_too_early_is_named_itself_and_not_the_line_after_it(tmp_path, lines, line):
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(lines))
    with pytest.raises(UnreadableFile) as refusal:
        list(read_log(log)[1])
    assert refusal.value.line == line
