"""Logs with anything wrong in them: what comes back is a trajectory that can be stored, or one clear refusal."""

import copy
import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import UnreadableFile
from console.runs import ingest
from console.runs.importers import read_log
from console.runs.importers.records import Found
from console.trajectory import from_json
from tests.sweeps import sweep

REFLEXION = b"""
########################################
BEGIN TRIAL 1
Trial summary: Correct: 1, Incorrect: 0, Halted: 1
#######################################
------------- BEGIN CORRECT AGENTS -------------

Question: Which river?You have attempted to answer following question before and failed. A plan:
Reflections:
- Look twice.
Thought 1: I look.
Action 1: Finish[Mole]
Observation 1: Answer is CORRECT
Correct answer: Mole

------------- BEGIN HALTED AGENTS --------------

Question: Which town?
Thought 1: I look.
Action 1: Search[town]
Observation 1: Many.
Correct answer: Dorking

"""
WEBSHOP = b"""-----------------
0
Action: reset
Observation:
Webshop
Instruction:
a red cup
[Search]

Action: click[Buy Now]
Observation: Your score (min 0.0, max 1.0): 1.0

1 1.0 1.0 0.0
-------------
"""
CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"a": [1, "b"]}'}}
MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "seen"},
    {"role": "assistant", "content": 'Action: {"name": "look", "arguments": {}}', "tool_calls": None},
]
TASK = {"instruction": "Look.", "actions": [{"name": "look", "kwargs": {}}], "outputs": []}
JSON_LOGS = {
    "jsonl": [
        {
            "task_id": "t",
            "instruction": "i",
            "steps": [{"action": "look"}],
            "gold": {"label": "aligned"},
            "memory": ["m"],
        }
    ],
    "tau-bench": [{"task_id": 1, "reward": 1.0, "info": {"task": TASK}, "traj": MESSAGES, "trial": 0}],
    "openai-messages": [{"id": "a", "messages": MESSAGES, "score": 1, "success": True, "label": "aligned"}],
    "alfworld-expert": [
        {"expert_traj": [{"action": "look", "observation": "o"}], "env_name": 1, "gamefile": ["a/b/c/d"]}
    ],
    "inferact": [
        {
            "path": [{"type": "human", "data": {"content": "WebShop [SEP] Instruction: [SEP] cup [SEP] Search"}}] * 2
            + [{"type": "ai", "data": {"content": "Action: click[Buy Now]"}}],
            "trace_correct": 1,
            "is_halted": False,
            "reflection": ["r"],
        }
    ],
}
LOGS = {name: orjson.dumps(records) for name, records in JSON_LOGS.items()}
LOGS |= {"reflexion-react": REFLEXION, "webshop-react": WEBSHOP}

EXAMPLES = 40
junk = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False), st.text(max_size=3))
junk |= st.sampled_from([[], {}, [[]], [None], [{}], {"a": {}}, {"text": 5}, ["x", 1], "\\ud800", "\u2028"])


def read(path, format: str) -> int:
    """Reads all of it; how many trajectories there were, -1 where the file was refused."""
    try:
        found = [entry.trajectory for entry in read_log(path, format)[1] if isinstance(entry, Found)]
    except UnreadableFile:
        return -1
    for trajectory in found:
        stored = trajectory.to_json()
        assert from_json(stored).content_digest() == trajectory.content_digest()
        assert trajectory.label in (None, "aligned", "misaligned")
    return len(found)


def places(value, trail=()):
    """Every place in a JSON value."""
    yield trail
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*trail, key))


def replaced(value, trail, new):
    if not trail:
        return new
    changed = copy.copy(value)
    changed[trail[0]] = replaced(value[trail[0]], trail[1:], new)
    return changed


@pytest.mark.parametrize("format", JSON_LOGS)
def test_the_sound_log_is_read(tmp_path, format):
    path = tmp_path / "log"
    path.write_bytes(LOGS[format])
    assert read(path, "auto") == read(path, format) == 1


@sweep("format", JSON_LOGS, kept=2)
def test_anything_in_any_place_of_a_record(tmp_path, format):
    path = tmp_path / "log"

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.sampled_from(list(places(JSON_LOGS[format]))), junk)
    def check(trail, new):
        path.write_bytes(orjson.dumps(replaced(JSON_LOGS[format], trail, new)))
        read(path, format)
        read(path, "auto")

    check()


@sweep("format", LOGS)
def test_bytes_changed_anywhere(tmp_path, format):
    path = tmp_path / "log"
    log = LOGS[format]

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(
        st.integers(0, len(log)), st.integers(0, 12), st.binary(max_size=4) | st.sampled_from([b"\n", b'"', b"\\ud800"])
    )
    def check(at, gone, new):
        path.write_bytes(log[:at] + new + log[at + gone :])
        read(path, format)
        read(path, "auto")

    check()


@sweep("format", LOGS)
def test_a_cut_anywhere_is_refused(tmp_path, format):
    path = tmp_path / "log"
    log = LOGS[format].rstrip()
    last = {"webshop-react": b"\n\n1 1.0", "reflexion-react": b"Correct answer:"}
    end = log.rindex(last[format]) if format in last else len(log)
    for length in range(0, end, 2):
        path.write_bytes(log[:length])
        assert read(path, format) == -1, log[:length]


def test_a_rejection_is_a_sentence_that_ends_and_shows_endless_names_by_their_beginning():
    refused = UnreadableFile("log", f"not read: {'[' * 9_000} of the log", 3)
    assert refused.reason == f"not read: {'[' * 120}… of the log."


@pytest.mark.parametrize(
    "record",
    [
        {"type": ["text"], "part": {}, "sessionID": "s"},
        {"type": {}, "data": {}, "timestamp": 1},
        {"environment": ["shop"], "spans": [{"attributes": {"environment": []}}]},
    ],
)
def test_a_list_where_a_word_belongs_is_no_crash(tmp_path, record):
    path = tmp_path / "log"
    path.write_bytes(orjson.dumps(record))
    for format in ("auto", "opencode", "gemini-cli", "otel", "inspect"):
        assert read(path, format) <= 1


@pytest.mark.parametrize("score", ["1.0-", "1.0e", "+", "1.0.0", "1e999"])
def test_a_damaged_score_is_no_crash(tmp_path, score):
    path = tmp_path / "log"
    path.write_bytes(WEBSHOP.replace(b"max 1.0): 1.0", b"max 1.0): " + score.encode()))
    assert read(path, "webshop-react") == 1


def test_an_endless_number_beside_a_lone_surrogate_is_no_crash(tmp_path):
    path = tmp_path / "log"
    said = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "a\ud800"}, {"role": "tool", "n": "N"}]
    path.write_text(json.dumps({"messages": said}).replace('"N"', "9" * 5_000))
    assert read(path, "openai-messages") == 1


def test_a_lone_surrogate_in_a_name_can_be_printed(tmp_path):
    path = tmp_path / "log.jsonl"
    call = {"role": "assistant", "content": [{"type": "\ud800", "text": 5}, {"type": "text", "text": "a\ud800"}]}
    message = {"messages": [{"role": "user", "content": "Go"}, call], "\ud800": [{"\ud800": "\ud800"}]}
    path.write_text(json.dumps(message))
    report = ingest.import_files(path, "odd", "openai-messages", lambda _: None)[0]
    assert json.dumps(report.to_dict(), ensure_ascii=False).encode()
    assert [sentence.encode() for _, sentence in ingest.list_lines(report)]
