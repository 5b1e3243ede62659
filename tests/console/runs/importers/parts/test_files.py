"""Where broken JSON is said to be broken; what a folder or an archive holds."""

import zipfile

import orjson
import pytest

from console.errors import UnreadableFile
from console.runs.importers import read_log
from console.runs.importers.parts.files import plain_files

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


EVENTS = [
    {"kind": "MessageEvent", "source": "user", "timestamp": "t", "llm_message": {"role": "user", "content": "List"}},
    {"kind": "ActionEvent", "source": "agent", "timestamp": "t", "tool_name": "ls", "tool_call_id": "c", "action": {}},
]


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_file_for_each_event_of_a_conversation_is_one_log(tmp_path, is_packed):
    events = tmp_path / "c-1/events"
    events.mkdir(parents=True)
    for number, event in enumerate(EVENTS):
        (events / f"event-{number:05}-x.json").write_bytes(orjson.dumps(event, option=orjson.OPT_INDENT_2))
    place = events
    if is_packed:
        place = tmp_path / "c.zip"
        with zipfile.ZipFile(place, "w") as packed:
            for one in events.iterdir():
                packed.write(one, one.relative_to(tmp_path))
            packed.writestr("c-1/base_state.json", "{}")
            packed.writestr("c-1/screen.png", b"\x89PNG")
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    ((_, log),) = plain_files(place, unpacked)
    format, entries = read_log(log)
    (entry,) = entries
    assert (format, entry.trajectory.task_id, entry.trajectory.steps[0].action) == ("openhands", "c-1", "ls({})")
