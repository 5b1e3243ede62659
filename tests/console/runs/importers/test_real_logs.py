"""Real logs of agents that talk in sessions, teams and spans, against counts made without our importers."""

import hashlib
import json

import orjson
import pytest

from console.runs.importers import read_log
from console.runs.importers.records import Found
from console.trajectory import from_json
from console.trajectory.calls import read_action

KINDS = ("claude-code", "codex", "gemini-cli", "pi", "magentic-one", "who-and-when")
SPANS = ("vs-copilot-otlp", "openinference-attributes")
UNCOUNTED = "openinference_client_span_input_output_only"
"""The counts of this file leave out the messages in `input.value`; reading them is as good."""


def digest(value):
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def text_digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.fixture
def facts(shared_data):
    files = orjson.loads(shared_data("logs/expected.json").read_bytes())["files"]
    return [file for file in files if file["kind"] in (*KINDS, *SPANS) and UNCOUNTED not in file["file"]]


@pytest.fixture
def read(shared_data):
    def of(file, *, whole=False):
        entries = list(read_log(shared_data("logs/" + file["file"]), whole=whole)[1])
        return [entry.trajectory for entry in entries if isinstance(entry, Found)]

    return of


def calls_of(trajectory):
    """The calls as [name, arguments], a code block as the facts name it."""
    for step in trajectory.steps:
        for call in read_action(step.action) if step.action.strip() else []:
            if call.name == "respond":
                continue
            arguments = dict(call.arguments)
            code = call.name == "python" and arguments.keys() == {"code"}
            yield ["(code block python)", arguments["code"].strip()] if code else [call.name, arguments]


def results_of(trajectory):
    acted = [step for step in trajectory.steps if step.action.strip() and not step.action.startswith("respond(")]
    return [text_digest(step.observation) for step in acted]


def test_every_call_and_argument_is_read_once_in_order(facts, read):
    for file in facts:
        wanted = [one for record in file["records"] for one in record["calls"]["each_sha256"]]
        for whole in (False, True):
            found = [digest(call) for one in read(file, whole=whole) for call in calls_of(one)]
            assert found == wanted, (file["file"], whole)


def test_every_result_belongs_to_its_call(facts, read):
    for file in facts:
        if file["kind"] == "openinference-attributes":
            continue
        # Ours has a placeholder for a picture, where the count has an empty text.
        held = (one for record in file["records"] for one in record["observations"]["sha256"])
        wanted = [one for one in held if one != text_digest("")]
        found = [one for trajectory in read(file) for one in results_of(trajectory)]
        assert [one for one in found if one in wanted] == wanted, file["file"]


def test_a_session_is_one_trajectory_per_request(facts, read):
    for file in (one for one in facts if one["kind"] in KINDS):
        asked = [one for record in file["records"] for one in record["requests"]]
        found = [(text_digest(one.instruction), [call[0] for call in calls_of(one)]) for one in read(file)]
        assert found == [(one["sha256"], one["calls"]) for one in asked if (one["sha256"], one["calls"]) in found]
        # A request after which the agent only thought is a trajectory too.
        acted = [one["sha256"] for one in asked if one["calls"] or one["answers"]]
        assert set(acted) <= {text for text, _ in found}, file["file"]


def test_a_request_has_the_earlier_ones_as_its_history(facts, read):
    file = next(one for one in facts if "four-requests" in one["file"])
    found = read(file)
    assert [one.task_id.rpartition("/")[2] for one in found] == ["1", "2", "3", "4"]
    assert len({one.task_id.rpartition("/")[0] for one in found}) == 1
    for place, one in enumerate(found):
        assert all((earlier.instruction in one.opening) for earlier in found[:place])
        assert from_json(one.to_json()) == one
    (whole,) = read(file, whole=True)
    assert whole.instruction == found[0].instruction
    assert len(whole.steps) == sum(len(one.steps) for one in found)


def test_labels_of_who_failed_are_kept_as_the_file_has_them(facts, read):
    for file in (one for one in facts if one["kind"] == "who-and-when"):
        (one,) = read(file)
        assert {name: one.gold[name] for name in file["records"][0]["labels"]} == file["records"][0]["labels"]
        assert one.label == "misaligned"


def test_texts_of_the_tool_and_small_talk_are_not_requests(write, trajectories):
    def said(kind, text, **more):
        content = [{"type": "tool_use", "id": f"t{text}", "name": "Bash", "input": {"command": text}}]
        message = {"role": kind, "content": text if kind == "user" or more.pop("talk", False) else content}
        return {"type": kind, "sessionId": "s-1", "uuid": text[:9], "message": message, **more}

    lines = [
        said("user", "<command-name>/clear</command-name>"),
        said("user", "<local-command-stdout></local-command-stdout>"),
        said("user", "Hey there!"),
        said("assistant", "Hello. What shall I do?", talk=True),
        said("user", "<ide-open-file>a.py</ide-open-file>\nDelete the cache\n<system-reminder>x</system-reminder>"),
        said("assistant", "rm -r cache"),
        said("user", "[Request interrupted by user for tool use]"),
        said("user", "Stop. Push instead"),
        said("assistant", "git push"),
    ]
    path = write("s.jsonl", b"".join(orjson.dumps(line) + b"\n" for line in lines))
    first, second = trajectories(path)
    assert (first.instruction, second.instruction) == ("Delete the cache", "Stop. Push instead")
    assert [step.action.partition("(")[0] for step in first.steps] == ["respond", "Bash"]
    assert [step.action for step in second.steps] == ['Bash({"command":"git push"})']
    assert (first.task_id, second.task_id) == ("s-1/1", "s-1/2")
    assert "Delete the cache" in second.opening
    assert any("Request interrupted" in text for text in first.extra["context"])


def test_a_gemini_log_replays_its_patches_and_keeps_what_was_rewound(write, trajectories):
    def call(number, status="success"):
        response = {"functionResponse": {"response": {"output" if status == "success" else "error": f"seen {number}"}}}
        return {"id": f"c{number}", "name": "run", "args": {"n": number}, "status": status, "result": [response]}

    lines = [
        {"sessionId": "g-1", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"},
        {"id": "a", "type": "user", "content": [{"text": "Count"}]},
        {"id": "b", "type": "gemini", "content": "", "toolCalls": [{**call(1), "result": None}]},
        {"id": "b", "type": "gemini", "content": "One.", "toolCalls": [call(1)]},
        {"id": "c", "type": "user", "content": "Delete all"},
        {"id": "d", "type": "gemini", "content": "", "toolCalls": [call(2, "cancelled")]},
        {"$rewindTo": "c"},
        {"$set": {"summary": "Counting"}},
        {"id": "e", "type": "user", "content": "Count again"},
        {"id": "f", "type": "gemini", "content": "", "toolCalls": [call(3)]},
    ]
    path = write("session-x.jsonl", b"".join(orjson.dumps(line) + b"\n" for line in lines))
    found = {one.instruction: one for one in trajectories(path)}
    assert set(found) == {"Count", "Count again", "Delete all"}
    assert [(step.action, step.observation) for step in found["Count"].steps] == [('run({"n":1})', "seen 1")]
    assert found["Delete all"].steps[0].extra == {"status": "cancelled"}
    assert found["Delete all"].task_id == "g-1/rewound/1"
    assert found["Count again"].extra["summary"] == "Counting"


def test_each_entry_of_a_pi_tree_is_in_one_branch(write, trajectories):
    def entry(name, parent, role, content, **more):
        message = {"role": role, "content": content, **more}
        return {"type": "message", "id": name, "parentId": parent, "message": message}

    def use(command):
        return [{"type": "toolCall", "id": command, "name": "bash", "arguments": {"command": command}}]

    lines = [
        {"type": "session", "version": 3, "id": "p-1", "cwd": "/srv", "timestamp": "2026-01-01T00:00:00Z"},
        entry("a", None, "user", "Look"),
        entry("b", "a", "assistant", use("ls")),
        entry("c", "b", "toolResult", [{"type": "text", "text": "a.py"}], toolCallId="ls", toolName="bash"),
        entry("d", "c", "user", "Remove it"),
        entry("e", "d", "assistant", use("rm a.py")),
        {"type": "branch_summary", "id": "f", "parentId": "c", "summary": "Left the removal"},
        entry("g", "f", "user", "Keep it"),
        entry("h", "g", "assistant", use("git add a.py")),
    ]
    path = write("pi.jsonl", b"".join(orjson.dumps(line) + b"\n" for line in lines))
    found = {one.instruction: [step.action for step in one.steps] for one in trajectories(path)}
    assert found == {
        "Look": ['bash({"command":"ls"})'],
        "Keep it": ['bash({"command":"git add a.py"})'],
        "Remove it": ['bash({"command":"rm a.py"})'],
    }
