"""Exports of tracing tools, output of Cursor's agent, and calls in tags; see `probes`."""

from __future__ import annotations

from typing import Any

import orjson

from tests.console.runs.importers.probes import Probe, calls, function, tool
from tests.console.runs.importers.samples import lines, use

SEEN = "Forty shelves and a ladder stand in the store room."
ASKED = {"role": "user", "content": "Please count the shelves of the store room"}
SAID = {"role": "assistant", "content": "There are forty shelves."}
CALLED = calls(function("count_shelves", '{"room": "store"}'))
GIVEN, SHOWN = {"room": "store"}, f'{{"shelves": 40, "note": "{SEEN}"}}'
MODELS = (
    ("chat", {"messages": [ASKED]}, {"choices": [{"message": CALLED}]}),
    ("chat", {"messages": [ASKED, CALLED, tool(SHOWN)]}, {"choices": [{"message": SAID}]}),
)
"""What the model was asked and gave, before and after the tool ran."""


def weave(number: int, name: str, given: Any, shown: Any, **more: Any) -> dict:
    about = {"id": f"w{number}", "trace_id": "t", "parent_id": "w0" if number else None, "attributes": {}}
    told = {"op_name": f"weave:///a/b/op/{name}:x1", "inputs": given, "output": shown, "started_at": f"2026-0{number}"}
    return about | told | {"exception": None} | more


def braintrust(number: int, name: str, kind: str, given: Any, shown: Any, **more: Any) -> dict:
    about = {"id": f"row-{number}", "span_id": f"b{number}", "root_span_id": "b0", "metrics": {"start": number}}
    parents = ["b0"] if number else None
    told = {"span_attributes": {"name": name, "type": kind}, "input": given, "output": shown, "span_parents": parents}
    return about | told | more


def opik(number: int, name: str, kind: str, given: Any, shown: Any) -> dict:
    about = {"id": f"o{number}", "trace_id": "t", "parent_span_id": None, "start_time": f"2026-0{number}"}
    return about | {"name": name, "type": kind, "input": given, "output": shown}


OPIK = [opik(1, "chat", "llm", *MODELS[0][1:]), opik(2, "count_shelves", "tool", GIVEN, SHOWN)]
OPIK += [opik(3, "chat", "llm", *MODELS[1][1:])]
BRAINTRUST = [
    braintrust(0, "agent", "task", "Count", "40", scores={"Correctness": 1}),
    braintrust(1, "chat", "llm", [ASKED], [{"message": CALLED}]),
    braintrust(2, "count_shelves", "function", GIVEN, SHOWN),
    braintrust(3, "chat", "llm", [ASKED, CALLED, tool(SHOWN)], [{"message": SAID}]),
]


def cursor(kind: str, subtype: str = "", **more: Any) -> dict:
    return {"type": kind, "session_id": "c-1"} | ({"subtype": subtype} if subtype else {}) | more


def ran(number: int, tool_field: str, result: dict | None = None, **given: Any) -> dict:
    held = {"args": given} | ({"result": result} if result else {})
    subtype = "completed" if result else "started"
    return cursor("tool_call", subtype, call_id=f"k{number}\nfc", tool_call={tool_field: held})


def wrote(role: str, *parts: dict) -> dict:
    return {"role": role, "message": {"content": list(parts)}}


def words(text: str) -> dict:
    return {"type": "text", "text": text}


STREAM = lines(
    cursor("system", "init", apiKeySource="login"),
    cursor("user", message={"role": "user", "content": [words("Count the shelves")]}),
    *(cursor("thinking", "delta", text=one) for one in ("First ", "look.")),
    cursor("thinking", "completed"),
    *(
        cursor("assistant", message={"role": "assistant", "content": [words(one)]})
        for one in ("I ", "look.", "I look.")
    ),
    ran(1, "lsToolCall", path="/w", toolCallId="k1\nfc"),
    ran(2, "mcpToolCall", toolName="rooms", args={"floor": 2}),
    ran(2, "mcpToolCall", {"success": {"content": SEEN}}, toolName="rooms", args={"floor": 2}),
    ran(1, "lsToolCall", {"success": {"files": ["room.txt"]}}, path="/w", toolCallId="k1\nfc"),
    ran(3, "shellToolCall", {"rejected": {"reason": "no"}}, command="rm -r /w"),
    ran(4, "shellToolCall", {"success": {"stdout": "x", "exitCode": 2}}, command="ls /v"),
    cursor("assistant", message={"role": "assistant", "content": [words("Forty.")]}),
    cursor("result", "success", result="I look.Forty."),
)
IN_TAGS = (
    "I look.\n\n<function=execute_bash>\n<parameter=command>\nwc -l room.txt\n</parameter>\n"
    "<parameter=timeout>5</parameter>\n</function>"
)
EXPORTS = {
    "weave: a tool that is a plain function": Probe(
        "weave",
        lines(
            weave(0, "Agent.run", {"self": "weave:///a/b/object/Agent:1", "question": "Count"}, "Forty."),
            weave(1, "openai.chat.completions.create", *MODELS[0][1:]),
            weave(2, "count_shelves", {"self": "weave:///x", **GIVEN}, SHOWN),
            weave(3, "openai.chat.completions.create", *MODELS[1][1:]),
        ),
        ["count_shelves -"],
        [SHOWN, ""],
    ),
    "braintrust: one span a line": Probe("braintrust", lines(*BRAINTRUST), ["count_shelves -"], [SHOWN, ""]),
    "braintrust: a page of the API": Probe(
        "braintrust", orjson.dumps({"events": BRAINTRUST, "cursor": None}), ["count_shelves -"], [SHOWN, ""]
    ),
    "opik: a trace with its spans": Probe(
        "opik",
        orjson.dumps({"trace": {"id": "t", "name": "agent", "input": {}, "output": {}}, "spans": OPIK}),
        ["count_shelves -"],
        [SHOWN, ""],
    ),
    "opik: one span a line": Probe("opik", lines(*OPIK), ["count_shelves -"], [SHOWN, ""]),
    "cursor: streamed pieces, parallel calls, a refusal": Probe(
        "cursor",
        STREAM,
        ["- ls rooms shell shell -"],
        ["", '{"files": ["room.txt"]}', SEEN, "rejected\nno", "x\nexit code 2", ""],
        decisions=1,
    ),
    "cursor: other forms of calls and results": Probe(
        "cursor",
        lines(
            cursor("tool_call", "started", call_id="a", tool_call={"readToolCall": {"path": "/w/room.txt"}}),
            cursor("tool_call", "completed", call_id="a", result={"success": {"content": SEEN}}),
            cursor("tool_call", "started", call_id="b", tool_call={"shellToolCall": {"args": {"command": "ls"}}}),
            cursor(
                "tool_call",
                "completed",
                call_id="b",
                tool_call={"shellToolCall": {"result": {"exit_code": 1, "output": "no"}}},
            ),
            cursor(
                "tool_call",
                "completed",
                call_id="c",
                tool_call={
                    "function": {"name": "lock", "arguments": '{"door": 3}'},
                    "result": {"error": {"message": "x"}},
                },
            ),
        ),
        ["read shell lock"],
        [SEEN, "no\nexit code 1", "error\nx"],
        left_out={"call without its field args (its other fields were taken)": 1},
    ),
    "cursor: a transcript": Probe(
        "cursor",
        lines(
            wrote("user", words("<user_query>\nCount the shelves\n</user_query>")),
            wrote("assistant", words("I look."), use(None, "Read", path="/w/room.txt")),
            {"type": "turn_ended", "status": "success"},
            wrote("user", words("<user_query>\nNow delete the old file\n</user_query>")),
            wrote("assistant", use(None, "Delete", path="/w/old.txt")),
        ),
        ["Read", "Delete"],
    ),
    "openai: calls in tags with parameters": Probe(
        "openai-messages",
        lines(
            {
                "messages": [
                    ASKED,
                    {"role": "assistant", "content": IN_TAGS},
                    {"role": "user", "content": f"EXECUTION RESULT of [execute_bash]:\n{SEEN}"},
                    {"role": "assistant", "content": f"<tool_call>\n{IN_TAGS[9:]}\n</tool_call>"},
                    {"role": "user", "content": f"OBSERVATION:\n{SEEN}"},
                    {"role": "assistant", "content": "<function=finish>\n</function>"},
                ]
            }
        ),
        ["execute_bash execute_bash finish"],
        [SEEN, SEEN, ""],
    ),
    "qwen code: results on lines of their own": Probe(
        "claude-code",
        lines(
            *(
                {"uuid": f"q{number}", "parentUuid": f"q{number - 1}", "sessionId": "s", "type": kind}
                | {"message": {"role": role, "parts": parts}}
                for number, (kind, role, parts) in enumerate(
                    (
                        ("user", "user", [{"text": "Count the shelves"}]),
                        ("assistant", "model", [{"functionCall": {"id": "f1", "name": "ls", "args": {"path": "/w"}}}]),
                        ("tool_result", "user", [{"functionResponse": {"id": "f1", "response": {"output": SEEN}}}]),
                    )
                )
            )
        ),
        ["ls"],
        [f'{{"output": "{SEEN}"}}'],
    ),
    "openai: a call with its result": Probe(
        "openai-messages",
        lines(
            {
                "messages": [
                    ASKED,
                    {"role": "assistant", "tool_calls": [{"tool": "ls", "input": GIVEN, "output": SEEN}]},
                    SAID,
                ]
            }
        ),
        ["ls -"],
        [SEEN, ""],
    ),
    "codex: messages that only the events hold": Probe(
        "codex",
        lines(
            {"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}},
            {"type": "event_msg", "payload": {"type": "user_message", "message": "Count the shelves"}},
            {
                "type": "response_item",
                "payload": {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"},
            },
            {"type": "event_msg", "payload": {"type": "user_message", "message": "Now count the ladders"}},
            {"type": "event_msg", "payload": {"type": "agent_message", "message": "One ladder."}},
        ),
        ["ls", "-"],
    ),
    "codex: items of a stream without ids and output": Probe(
        "codex",
        lines(
            {"type": "thread.started", "thread_id": "t"},
            {"type": "item.completed", "item": {"type": "command_execution", "command": "ls", "status": "completed"}},
        ),
        ["command_execution"],
        left_out={"item without its id": 1, "call without its result": 1},
    ),
    "a tool's screen steps are not taken for another format": Probe(
        "", lines({"step_num": 1, "action": "pyautogui.click(10, 20)", "response": "I click.", "done": False}), []
    ),
}
