"""Steps of a coding agent's transcript that comes with a check."""

import json

from console.gate.transcript import read_steps

CALL = {"name": "Bash", "arguments": {"command": "rm a.txt"}}


def line(number, role, content, **more):
    message = {"role": role, "content": content} | ({"id": f"m{number}"} if role == "assistant" else {})
    known = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s1"}
    return json.dumps({"type": role, "message": message, "timestamp": "2026-11-02T10:00:00Z"} | known | more)


def transcript():
    used = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    pending = {"type": "tool_use", "id": "t2", "name": "Bash", "input": CALL["arguments"]}
    return "\n".join(
        (
            line(0, "user", "Remove the file a.txt."),
            line(1, "assistant", [used]),
            line(2, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt b.txt"}]),
            line(3, "assistant", [pending]),
        )
    )


def test_steps_of_the_transcript_come_before_the_pending_call():
    (step,) = read_steps("claude-code", transcript(), CALL)
    assert ("ls" in step.action, step.observation) == (True, "a.txt b.txt")
    assert read_steps("auto", transcript(), CALL) == [step]


def test_transcript_that_cannot_be_read_is_named_and_keeps_two_calls_apart():
    first, second = (read_steps("codex", text, CALL) for text in ("neither JSON", "neither JSON nor text"))
    assert "could not be read" in first[0].observation
    assert first != second
    assert "no importer named 'other'" in read_steps("other", "{}", CALL)[0].observation


def test_transcript_without_a_request_of_the_user_is_named():
    result = line(0, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}])
    (step,) = read_steps("claude-code", result, CALL)
    assert "has no request of the user. Send the transcript from its first message." in step.observation
