"""What every format has in common: recognition, damaged files, the wrong files."""

import codecs
import struct
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import orjson
import pytest

import console.runs.importers as importers
from console.errors import Unknown, UnreadableFile
from console.runs.importers import BUILT_IN, IMPORTERS, read_log
from console.runs.importers.records import Importer
from tests.sweeps import sweep

RECORD = {
    "task_id": "t1",
    "instruction": "buy a red cup",
    "steps": [{"thought": "", "action": "look", "observation": "ok"}],
}
LINE = orjson.dumps(RECORD) + b"\n"
REFLEXION = """
------------- BEGIN CORRECT AGENTS -------------

Question: Which river runs through the town?
Thought 1: I look the town up.
Action 1: Finish[Mole]
Observation 1: Answer is CORRECT
Correct answer: Mole

Question: Who wrote the second song?
Thought 1: I guess, Zoë.
Action 1: Finish[Zoë]
Observation 1: Answer is CORRECT
Correct answer: Zoë

"""
WEBSHOP = """-----------------
7
Action: reset
Observation:
Webshop
Instruction:
a crème cup, and price lower than 10.00 dollars
[Search]

Action: click[Buy Now]
Observation: Your score (min 0.0, max 1.0): 0.5

1 0.5 0.0 0.0
-------------
"""
TAU = orjson.dumps(
    [
        {
            "task_id": number,
            "reward": 1.0,
            "info": {"task": {"instruction": "say é", "actions": [], "outputs": []}},
            "traj": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello é"}],
            "trial": 0,
        }
        for number in range(3)
    ],
    option=orjson.OPT_INDENT_2,
)
AIDER = """
# aider chat started at 2025-03-01 10:00:00

> Model: small with diff edit format  

#### crème, please  

I ask.

> Tokens: 2 sent  
"""
LOGS = {
    "jsonl": LINE * 2,
    "aider": AIDER.encode(),
    "reflexion-react": REFLEXION.encode(),
    "webshop-react": WEBSHOP.encode(),
    "tau-bench": TAU,
}


def refusal(path: Path, format: str = "auto") -> UnreadableFile:
    with pytest.raises(UnreadableFile) as refused:
        list(read_log(path, format)[1])
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
    return refused.value


def test_every_importer_has_one_line_in_the_dict_under_its_own_name():
    modules = [import_module(f"{importers.__name__}.{one.name}") for one in iter_modules(importers.__path__)]
    written = [value for module in modules for value in vars(module).values() if isinstance(value, Importer)]
    assert {importer.name: importer for importer in written} == BUILT_IN
    assert len(written) == len(BUILT_IN)


@pytest.mark.parametrize("format", LOGS)
def test_recognised_by_content_whatever_the_file_is_called(write, entries, format):
    assert read_log(write("something.dat", LOGS[format]))[0] == format
    assert entries(write("something.dat", LOGS[format])) == entries(write("something.dat", LOGS[format]), format)


@pytest.mark.parametrize("format", LOGS)
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(write, trajectories, format):
    plain = trajectories(write("log", LOGS[format]))
    marked = trajectories(write("log", codecs.BOM_UTF8 + LOGS[format].replace(b"\n", b"\r\n")))
    assert marked == plain


@pytest.mark.parametrize("format", LOGS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_named(write, format, encoding):
    refused = refusal(write("log", LOGS[format].decode().encode(encoding)))
    assert "Save the file as UTF-8" in str(refused)
    assert refused.line == 1


@pytest.mark.parametrize("format", ["reflexion-react", "webshop-react", "tau-bench", "aider"])
def test_latin1_is_named_with_its_line(write, format):
    raw = LOGS[format].decode().encode("latin-1")
    refused = refusal(write("log", raw))
    broken_line = next(number for number, line in enumerate(raw.split(b"\n"), 1) if any(byte > 127 for byte in line))
    assert refused.line == broken_line
    assert "Save the file as UTF-8" in str(refused)


def test_latin1_in_a_json_line(write):
    refused = refusal(write("log", LINE + LINE.replace(b"cup", b"cup\xe9")))
    assert refused.line == 2
    assert "UTF-8" in str(refused)


@pytest.mark.parametrize("format", LOGS)
def test_a_nul_byte_is_named_with_its_line(write, format):
    raw = LOGS[format]
    middle = raw.index(b"\n", len(raw) // 2) + 3
    refused = refusal(write("log", raw[:middle] + b"\0" + raw[middle:]))
    assert "NUL" in str(refused)
    assert refused.line == raw[:middle].count(b"\n") + 1


@pytest.mark.parametrize("format", LOGS)
def test_a_log_cut_in_its_last_record_is_refused(write, format):
    refused = refusal(write("log", LOGS[format].rstrip()[: -len(LOGS[format]) // 4]), format)
    assert "cut off" in str(refused)
    assert refused.line is not None


def test_broken_json_in_the_middle_is_named_with_its_line(write):
    refused = refusal(write("log", LINE + b'{"task_id": "t2", "instruction": nonsense}\n' + LINE))
    assert refused.line == 2
    assert "not valid JSON" in str(refused)


def test_a_bracket_missing_in_the_middle_of_a_list_is_not_called_a_cut(write):
    refused = refusal(write("log", TAU.replace(b'"trial": 0\n  },', b'"trial": 0\n  ,', 1)))
    assert "not valid JSON" in str(refused)
    assert refused.line == TAU[: TAU.index(b'"trial": 0')].count(b"\n") + 3


@pytest.mark.parametrize("middle", [b"", b",,", b", 5,", b", null ,"])
def test_records_of_a_list_without_exactly_one_comma_between_are_refused(write, middle):
    first = orjson.dumps(orjson.loads(TAU)[0])
    refused = refusal(write("log", b"[" + first + middle + first + b"]"))
    assert "one comma" in str(refused)


def test_something_after_the_list_is_refused(write):
    assert "not valid JSON" in str(refusal(write("log", TAU + b"\n[]")))
    assert "not valid JSON" in str(refusal(write("log", TAU + b"\nand more")))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"  \n\n", "empty"),
        (codecs.BOM_UTF8, "empty"),
        (b"id,score,label\n1,0.4,aligned\n", "no known log format"),
        (b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s", 13, b"IHDR") + bytes(40), "not a text file"),
        (bytes(range(256)) * 8 + bytes(2000), "not a text file"),
        (b'{"name": "settings", "theme": "dark"}', "no known log format"),
        (b"[]", "no known log format"),
        (b"[1, 2, 3]", "list of texts"),
        (b"Just a letter to somebody.\nAction: none\n", "no known log format"),
    ],
)
def test_the_wrong_file_is_refused(write, content, words):
    assert words in str(refusal(write("log", content)))


@sweep("format", IMPORTERS, kept=4)
@pytest.mark.parametrize(
    "content", [b"id,score\n1,2\n", b'{"name": "settings"}', b"[]", b"3", b'"text"', b"[[[", b"{}\n{}\n"]
)
def test_the_wrong_file_is_refused_also_by_a_format_that_was_named(write, format, content):
    refusal(write("log", content), format)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    assert "folder" in str(refusal(tmp_path))
    assert "does not exist" in str(refusal(tmp_path / "nothing"))


def test_an_unknown_format_names_the_known_ones(write):
    with pytest.raises(Unknown, match=r"reflexion-react.*tau-bench"):
        read_log(write("log", LINE), "parchment")


def test_a_companion_is_refused_also_when_a_format_is_named(write):
    path = write("log", b'[{"name": "env_0", "memory": [], "is_success": true}]')
    assert "no actions" in str(refusal(path, "tau-bench"))


@pytest.mark.parametrize("format", LOGS)
def test_progress_is_told_in_bytes_up_to_the_whole_file(write, format):
    path = write("log", LOGS[format])
    told: list[int] = []
    list(read_log(path, "auto", told.append)[1])
    assert told == sorted(told)
    assert told[-1] == len(LOGS[format])


@sweep("content", [b"[" * 100_000, b'{"a":' * 100_000, b'{"messages": ' + b"[" * 50_000], kept=1)
def test_deep_nesting_is_refused(write, content):
    refusal(write("log", content))
    refusal(write("log", content), "openai-messages")


def test_deep_nesting_inside_a_record_is_refused_with_its_line(write):
    deep = b'{"task_id": "t", "instruction": "", "steps": [], "extra": {"x": ' + b"[" * 2000 + b"]" * 2000 + b"}}\n"
    assert refusal(write("log", LINE + deep)).line == 2
    assert refusal(write("log", LINE + deep.replace(b'"t"', b'"\\ud800"'))).line == 2


def test_the_handbook_counts_the_formats():
    readme = Path(__file__).resolve().parents[4] / "console/web/handbook/researcher.md"
    assert f"\nThe console recognises {len(IMPORTERS)} formats by their content" in readme.read_text()


def test_an_empty_log_of_a_known_format_is_not_said_to_have_another_format(write):
    empty = write("log.json", '{"sessionId": "s", "projectHash": "h", "messages": []}')
    with pytest.raises(UnreadableFile) as refused:
        [*read_log(empty)[1]]
    assert "no record of the format gemini-cli" in refused.value.reason
    assert "--format" not in refused.value.reason
    with pytest.raises(UnreadableFile, match="choose the --format of that tool"):
        [*read_log(empty, "pi")[1]]
