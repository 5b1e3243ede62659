"""Every format's own log: each call, result, label, picture and decision is read, what is not understood is named."""

import codecs
from collections import Counter

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import UnreadableFile
from console.runs.importers import read_log
from console.runs.importers.records import DECIDED, Found
from console.trajectory import from_json
from tests.console.runs.importers.samples import SAMPLES, lines, say, use
from tests.console.runs.importers.test_damage import places, replaced

JUNK = [None, True, 0, -1, 3.5, "", "x", [], {}, [[]], [None], [{}], {"a": {}}, {"text": 5}, {"type": None}, 10**18]


@pytest.fixture(params=SAMPLES)
def name(request):
    return request.param


def found(entries):
    assert all(isinstance(entry, Found) for entry in entries), entries
    return [entry.trajectory for entry in entries]


def test_every_call_and_answer_is_read(write, entries, name):
    sample = SAMPLES[name]
    path = write("something.dat", sample.content)
    assert read_log(path)[0] == name
    read = found(entries(path))
    assert [[step.action for step in one.steps] for one in read] == sample.actions
    assert [one.label for one in read] == sample.labels
    assert {step.speaker for one in read for step in one.steps} - {""} == sample.speakers


def test_what_is_not_understood_is_counted_and_named(write, entries, name):
    sample = SAMPLES[name]
    read = entries(write("log", sample.content))
    told = Counter()
    for entry in read:
        told.update({what: one.count for what, one in entry.left_out.items()})
    assert told == sample.left_out


def test_pictures_and_decisions_are_kept(write, entries, name):
    sample = SAMPLES[name]
    read = entries(write("log", sample.content))
    shown = [picture for one in found(read) for step in one.steps for picture in step.pictures]
    shown += [picture for one in found(read) for picture in one.pictures]
    assert len(shown) == sample.pictures
    assert {picture.digest for picture in shown} == {digest for entry in read for digest in entry.pictures}
    assert sum(DECIDED in step.extra for one in found(read) for step in one.steps) == sample.decisions


def test_a_damaged_twin_is_refused_with_its_line_and_the_reason(write, entries, name):
    sample = SAMPLES[name]
    with pytest.raises(UnreadableFile) as refused:
        entries(write("log", sample.damaged), name)
    assert refused.value.line == sample.line
    assert sample.reason in refused.value.reason


def test_a_mark_and_windows_line_ends_change_nothing(write, trajectories, name):
    plain = trajectories(write("log", SAMPLES[name].content))
    marked = trajectories(write("log", codecs.BOM_UTF8 + SAMPLES[name].content.replace(b"\n", b"\r\n")))
    assert marked == plain


def test_canonical_and_back(write, trajectories, name):
    for one in trajectories(write("log", SAMPLES[name].content)):
        assert from_json(one.to_json()) == one


def test_a_log_cut_in_its_last_record_is_refused(write, entries, name):
    with pytest.raises(UnreadableFile, match="cut off"):
        entries(write("log", SAMPLES[name].content.rstrip()[:-2]), name)


def test_anything_in_any_place_is_read_or_refused(tmp_path, name):
    path = tmp_path / "log"
    content = SAMPLES[name].content
    try:
        records = [orjson.loads(content)]
    except orjson.JSONDecodeError:
        records = [orjson.loads(line) for line in content.splitlines()]

    @settings(max_examples=25, deadline=None)
    @given(st.sampled_from(list(places(records))[1:]), st.sampled_from(JUNK))
    def check(trail, new):
        path.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in replaced(records, trail, new)))
        try:
            read = [entry.trajectory for entry in read_log(path, name)[1] if isinstance(entry, Found)]
        except UnreadableFile:
            return
        assert [from_json(one.to_json()).content_digest() for one in read] == [one.content_digest() for one in read]

    check()


def test_the_printed_stream_of_claude_code_is_read_too(write, trajectories):
    def line(kind, content, parent=None):
        return {
            "type": kind,
            "session_id": "s",
            "parent_tool_use_id": parent,
            "message": {"role": kind, "content": content},
        }

    events = [
        {"type": "system", "subtype": "init", "session_id": "s"},
        line("assistant", [use("t1", "Task", prompt="Count")]),
        line("assistant", [use("t2", "Bash", command="ls")], "t1"),
        line("user", [{"type": "tool_result", "tool_use_id": "t2", "content": "3"}], "t1"),
        line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "three"}]),
        {"type": "result", "session_id": "s"},
    ]
    main, agent = trajectories(write("log", lines(*events)))
    assert [(step.action, step.observation) for step in main.steps] == [('Task({"prompt":"Count"})', "three")]
    assert [(step.action, step.observation, step.speaker) for step in agent.steps] == [
        ('Bash({"command":"ls"})', "3", "t1")
    ]


def test_a_conversation_of_unknown_roles_is_skipped_with_their_names(write, entries):
    (skipped,) = entries(write("log", lines({"messages": [{"role": "narrator", "content": "Hi"}]})))
    assert "left out: 1 x message of role narrator" in skipped.reason


def test_calls_of_a_prompt_stand_once_however_often_they_are_repeated(write, trajectories):
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "", "function": {"name": "pay", "arguments": "{}"}}],
    }
    asked = [{"role": "user", "content": "Pay"}, call, {"role": "tool", "content": "paid"}]
    spans = [
        {"type": "GENERATION", "startTime": str(n), "input": asked, "output": {"role": "assistant", "content": f"{n}"}}
        for n in range(3)
    ]
    (found_once,) = trajectories(write("log", lines({"trace": {"id": "t"}, "observations": spans})))
    assert [step.action for step in found_once.steps] == ["pay({})", *(say(str(n)) for n in range(3))]
    assert found_once.steps[0].observation == "paid"
