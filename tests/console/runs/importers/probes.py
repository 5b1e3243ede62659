"""Logs as the tools write them where they are odd: what was called in each, counted by hand, and what is left out."""
# ruff: noqa: E501 - a log is read more easily as it stands in its file, a record a line.

from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.console.runs.importers.samples import (
    PNG,
    batch,
    event,
    item,
    lines,
    observation,
    result,
    run,
    span,
    text,
    use,
)


@dataclass(frozen=True)
class Probe:
    """A log, the format that it is, and what must be read: the names called in each trajectory, `-` for an answer."""

    format: str
    content: bytes
    called: list[str]
    seen: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    pictures: int = 0
    decisions: int = 0


def asked(*more: Any, **fields: Any) -> dict:
    return {"messages": [{"role": "user", "content": "Go"}, *more], **fields}


def ai(*parts: Any, **more: Any) -> dict:
    return {"role": "assistant", "content": list(parts)} | more


def back(*parts: Any) -> dict:
    return {"role": "user", "content": list(parts)}


def function(name: Any, arguments: Any = "{}", call_id: Any = "c1", **more: Any) -> dict:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}} | more


def calls(*made: dict, **more: Any) -> dict:
    return {"role": "assistant", "content": None, "tool_calls": list(made)} | more


def tool(content: Any, call_id: Any = "c1", **more: Any) -> dict:
    return {"role": "tool", "tool_call_id": call_id, "content": content} | more


USER = item("message", role="user", content=[item("input_text", text="Go")])
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def told_in(span: dict, *events: tuple[str, dict]) -> dict:
    return span | {"events": [{"name": name, "attributes": told} for name, told in events]}


def items(*made: Any) -> bytes:
    return lines({"input": [USER], "output": list(made)})


def told(kind: str, **payload: Any) -> dict:
    return {"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": payload}


def rollout(*made: dict) -> bytes:
    return lines(told("session_meta", id="s-1"), *(told("response_item", **one) for one in (USER, *made)))


ANTHROPIC = {
    "anthropic: a request beside its response": Probe(
        "anthropic-messages",
        lines(
            {
                "request": {
                    "model": "m",
                    "system": [{"type": "text", "text": "P", "cache_control": {"type": "ephemeral"}}],
                    **asked(ai(use("t1", "read")), back(result("t1", "r"))),
                },
                "response": {"id": "m1", "type": "message", "role": "assistant", "content": [use("t2", "pay", n=1)]},
            }
        ),
        ["read pay"],
        ["r", ""],
    ),
    "anthropic: tools that the server runs": Probe(
        "anthropic-messages",
        lines(
            asked(
                ai(
                    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
                    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]},
                    {"type": "mcp_tool_use", "id": "m1", "name": "refund", "server_name": "shop", "input": {}},
                    {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [{"type": "text", "text": "done"}]},
                    {"type": "bash_code_execution_tool_result", "tool_use_id": "none", "content": {"stdout": "x"}},
                    {"type": "text", "text": "Refunded.", "citations": []},
                )
            )
        ),
        ["web_search refund -"],
        left_out={"result whose call is not in the log": 1},
    ),
    "anthropic: ids that start anew each turn": Probe(
        "anthropic-messages",
        lines(
            asked(
                ai(use("t1", "a"), use("t2", "b")),
                back(result("t1", "1"), result("t2", "2")),
                ai(use("t1", "c"), use("t2", "d")),
                back(result("t2", "4"), result("t1", "3")),
            )
        ),
        ["a b c d"],
        ["1", "2", "3", "4"],
    ),
    "anthropic: one id for two calls of a turn": Probe(
        "anthropic-messages",
        lines(asked(ai(use("t1", "a", n=1), use("t1", "a", n=2)), back(result("t1", "1"), result("t1", "2")))),
        ["a a"],
        ["1", "2"],
    ),
    "anthropic: input as text, as null, as a list, broken": Probe(
        "anthropic-messages",
        lines(
            asked(
                ai(
                    {"type": "tool_use", "id": "1", "name": "a", "input": '{"n": 1}'},
                    {"type": "tool_use", "id": "2", "name": "b", "input": None},
                    {"type": "tool_use", "id": "3", "name": "c", "input": [1]},
                    {"type": "tool_use", "id": "4", "name": "d", "input": '{"n": '},
                    {"type": "tool_use", "id": "5", "name": "e"},
                )
            )
        ),
        ["a b c d e"],
    ),
    "anthropic: screenshots, documents, a redacted thought": Probe(
        "anthropic-messages",
        lines(
            asked(
                ai({"type": "redacted_thinking", "data": "x"}, use("1", "computer", action="screenshot")),
                back(result("1", [IMAGE, {"type": "text", "text": "1280x800"}])),
                back({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "eA=="}}),
                ai(use("2", "computer", action="left_click", coordinate=[1, 2])),
                back(result("2", [IMAGE])),
            )
        ),
        ["computer computer"],
        left_out={"part of type document (application/pdf)": 1},
        pictures=2,
    ),
    "anthropic: results of a batch": Probe(
        "anthropic-messages",
        lines(
            {
                "custom_id": "b1",
                "result": {
                    "type": "succeeded",
                    "message": {"id": "m", "type": "message", "role": "assistant", "content": [use("t", "pay", n=1)]},
                },
            },
        ),
        ["pay"],
    ),
    "anthropic: a bare message a line": Probe(
        "anthropic-messages",
        lines({"id": "m", "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [{"type": "text", "text": "a"}, use("t", "pay")]}),
        ["pay"],
    ),
    "anthropic: a result without content": Probe(
        "anthropic-messages",
        lines(asked(ai(use("1", "a")), back({"type": "tool_result", "tool_use_id": "1"}), ai(use("2", "b")))),
        ["a b"],
        ["", ""],
    ),
    "bedrock: calls as the part's only field": Probe(
        "openai-messages",
        lines(
            asked(
                {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "So."}}}, {"toolUse": {"toolUseId": "1", "name": "pay", "input": {"n": 1}}}]},
                {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "status": "success", "content": [{"json": {"ok": 1}}]}}]},
            )
        ),
        ["pay"],
    ),
}  # fmt: skip

CLAUDE_CODE = {
    "claude code: many lines of bookkeeping first": Probe(
        "claude-code",
        lines(
            *({"type": "summary", "summary": f"s{n}", "leafUuid": f"l{n}"} for n in range(150)),
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "Bash", command="ls")], id="m1"),
        ),
        ["Bash"],
    ),
    "claude code: one list of events": Probe(
        "claude-code",
        orjson.dumps(
            [
                {"type": "system", "subtype": "init", "session_id": "s"},
                {
                    "type": "assistant",
                    "session_id": "s",
                    "parent_tool_use_id": None,
                    "message": ai(use("t1", "Bash", command="rm x"), id="m"),
                },
                {"type": "result", "session_id": "s", "result": "ok"},
            ]
        ),
        ["Bash"],
    ),
    "claude code: a subagent told as progress": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "Task", prompt="Count")], id="m1"),
            *(
                {
                    "type": "progress",
                    "uuid": f"p{n}",
                    "parentUuid": "a1",
                    "sessionId": "s-1",
                    "isSidechain": False,
                    "toolUseID": "agent_1",
                    "parentToolUseID": "t1",
                    "data": {"type": "agent_progress", "agentId": "b7", "message": told, "normalizedMessages": []},
                }
                for n, told in enumerate(
                    [
                        {"type": "user", "uuid": "k1", "message": {"role": "user", "content": [{"type": "text", "text": "Count"}]}},
                        {"type": "assistant", "uuid": "k2", "message": ai(use("t9", "Bash", command="rm -r x"), id="m9")},
                        {"type": "user", "uuid": "k3", "message": back(result("t9", "3"))},
                    ]
                )
            ),
            {"type": "progress", "uuid": "p9", "sessionId": "s-1", "data": {"type": "bash_progress", "output": ""}},
            event("user", "r1", "a1", [result("t1", "three")]),
        ),
        ["Task", "Bash"],
        ["three", "3"],
    ),
    "claude code: a compaction in the middle": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "Read")], id="m1"),
            event("user", "r1", "a1", [result("t1", "1")]),
            {"type": "system", "subtype": "compact_boundary", "uuid": "cb", "parentUuid": None, "logicalParentUuid": "r1", "sessionId": "s-1", "isSidechain": False},
            event("user", "cs", "cb", "This session is being continued.", isCompactSummary=True),
            event("assistant", "a2", "cs", [use("t2", "Write")], id="m2"),
            event("user", "r2", "a2", [result("t2", "2")]),
        ),
        ["Read Write"],
        ["1", "2"],
    ),
    "claude code: a result marked as meta": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "Skill", skill="pdf")], id="m1"),
            event("user", "r1", "a1", [result("t1", "launched")], isMeta=True),
            event("user", "x1", "r1", [{"type": "text", "text": "Base directory"}], isMeta=True),
        ),
        ["Skill"],
        ["launched"],
    ),
    "claude code: a message whose calls share an id": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "Bash", command="ls")], id="m1"),
            event("assistant", "a2", "a1", [use("t1", "Bash", command="rm")], id="m1"),
            event("assistant", "a3", "a2", [use("t1", "Bash", command="rm")], id="m1"),
        ),
        ["Bash Bash"],
    ),
    "claude code: tools run while the message streams": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "A")], id="m1"),
            event("user", "r1", "a1", [result("t1", "1")]),
            event("assistant", "a2", "r1", [use("t2", "B")], id="m1"),
            event("user", "r2", "a2", [result("t2", [IMAGE])]),
        ),
        ["A B"],
        pictures=1,
    ),
    "claude code: a subagent's own file": Probe(
        "claude-code",
        lines(
            event("user", "k1", None, "Count", isSidechain=True, agentId="b7"),
            event("assistant", "k2", "k1", [use("t9", "Grep")], isSidechain=True, agentId="b7", id="m1"),
            event("user", "k3", "k2", [result("t9", "3")], isSidechain=True, agentId="b7"),
        ),
        ["Grep"],
        ["3"],
    ),
    "claude code: words queued while it works": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "A")], id="m1"),
            {"type": "queue-operation", "operation": "enqueue", "content": "Stop", "sessionId": "s-1", "timestamp": "t"},
            {"type": "attachment", "uuid": "q1", "parentUuid": "a1", "sessionId": "s-1", "isSidechain": False, "attachment": {"type": "queued_command", "prompt": "Stop"}},
            event("user", "r1", "q1", [result("t1", "1")]),
            event("assistant", "a2", "r1", [use("t2", "B")], id="m2"),
        ),
        ["A", "B"],
    ),
    "claude code: words of the queue in an older version, notices of a task, a list of skills": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "A")], id="m1"),
            {"type": "queue-operation", "operation": "remove", "content": "Stop", "sessionId": "s-1"},
            event("user", "r1", "a1", [result("t1", "1")]),
            {"type": "attachment", "uuid": "q1", "parentUuid": "r1", "sessionId": "s-1", "attachment": {"type": "queued_command", "prompt": "done", "commandMode": "task-notification"}},
            {"type": "attachment", "uuid": "q2", "parentUuid": "q1", "sessionId": "s-1", "attachment": {"type": "skill_listing", "content": "A skill for each day of the week. " * 90}},
            event("assistant", "a2", "q2", [use("t2", "B")], id="m2"),
        ),
        ["A", "B"],
        left_out={"attachment of type skill_listing": 1},
    ),
    "claude code: a rewound prompt with calls of its own": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", "Ready", id="m1"),
            event("user", "b1", "a1", "First"),
            event("assistant", "b2", "b1", [use("t1", "Bash", command="rm")], id="m2"),
            event("user", "c1", "a1", "Second"),
            event("assistant", "c2", "c1", [use("t2", "Read")], id="m3"),
        ),
        ["-", "Read", "Bash"],
    ),
}  # fmt: skip

OPENAI = {
    "openai: a completion of several choices": Probe(
        "openai-messages",
        lines({"messages": [{"role": "user", "content": "Go"}], "choices": [{"index": n, "message": calls(function(f"f{n}"))} for n in range(2)]}),
        ["f0"],
        left_out={"choice beside the first": 1},
    ),
    "openai: the output of a batch": Probe(
        "openai-messages",
        lines({"id": "b", "custom_id": "r1", "response": {"status_code": 200, "body": {"choices": [{"index": 0, "message": calls(function("pay"))}]}}, "error": None}),
        ["pay"],
    ),
    "openai: a custom tool": Probe(
        "openai-messages",
        lines(asked(calls({"id": "c1", "type": "custom", "custom": {"name": "code_exec", "input": "print(1)"}}), tool("1"))),
        ["code_exec"],
        ["1"],
    ),
    "openai: arguments as object, text, broken, empty, null": Probe(
        "openai-messages",
        lines(asked(calls(*(function(f"f{n}", given, f"c{n}") for n, given in enumerate([{"n": 1}, '{"n":1}', '{"n": ', "", None, []]))))),
        ["f0 f1 f2 f3 f4 f5"],
    ),
    "openai: ids that are empty, null or repeated": Probe(
        "openai-messages",
        lines(
            asked(
                calls(function("a", "{}", ""), function("b", "{}", "")),
                tool("1", ""),
                tool("2", ""),
                calls(function("c", "{}", None)),
                tool("3", None),
                calls(function("d", "{}", "call_0")),
                tool("4", "call_0"),
                calls(function("e", "{}", "call_0")),
                tool("5", "call_0"),
            )
        ),
        ["a b c d e"],
        ["1", "2", "3", "4", "5"],
    ),
    "openai: an older call beside newer ones": Probe(
        "openai-messages",
        lines(asked(calls(function("a"), function_call={"name": "b", "arguments": "{}"}))),
        ["a b"],
    ),
    "openai: spoken answers and refusals": Probe(
        "openai-messages",
        lines(
            asked(
                {"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Hello", "data": "x"}},
                {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}}]},
                {"role": "assistant", "content": None, "refusal": "No."},
                {"role": "developer", "content": "Be brief."},
                {"role": "assistant", "content": [{"type": "refusal", "refusal": "Never."}]},
            )
        ),
        ["- - -"],
        left_out={"part of type input_audio": 1},
    ),
    "openai: a transcript is what was said": Probe(
        "openai-messages",
        lines(asked({"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Paid it"}})),
        ["-"],
    ),
    "openai: chunks of a stream": Probe(
        "openai-messages",
        lines(
            *(
                {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
                for delta in (
                    {"role": "assistant", "content": None},
                    {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "pay", "arguments": ""}}]},
                    {"tool_calls": [{"index": 0, "function": {"arguments": '{"n":1}'}}]},
                )
            )
        ),
        [],
    ),
    "openai: calls written into the text, as Hermes and Qwen do": Probe(
        "openai-messages",
        lines(
            asked(
                {"role": "assistant", "content": 'So.\n<tool_call>\n{"name": "pay", "arguments": {"n": 1}}\n</tool_call>\n<tool_call>{"name": "send", "arguments": {}}</tool_call>'},
                {"role": "tool", "content": "<tool_response>paid</tool_response>"},
                {"role": "assistant", "content": "<tool_call>{broken</tool_call>"},
            )
        ),
        ["pay send -"],
        left_out={"call written in a text that cannot be read": 1},
    ),
    "openai: calls written into the text, as ReAct does": Probe(
        "openai-messages",
        lines(
            asked(
                {"role": "assistant", "content": 'Thought: I pay.\nAction: pay\nAction Input: {"n": 1}'},
                {"role": "user", "content": "Observation: paid"},
                {"role": "assistant", "content": "Thought: Done.\nFinal Answer: Paid."},
            )
        ),
        ["pay -"],
    ),
    "ai sdk: parts of tools": Probe(
        "openai-messages",
        lines(
            {
                "messages": [
                    {"role": "user", "parts": [{"type": "text", "text": "Go"}]},
                    {
                        "role": "assistant",
                        "parts": [
                            {"type": "step-start"},
                            {"type": "tool-pay", "toolCallId": "1", "state": "output-available", "input": {"n": 1}, "output": {"ok": True}},
                            {"type": "dynamic-tool", "toolName": "send", "toolCallId": "2", "state": "output-error", "input": {}, "errorText": "no"},
                            {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "3", "toolName": "mail", "args": {}, "result": "sent"}},
                        ],
                    },
                ]
            }
        ),
        ["pay send mail"],
        ['{"ok": true}', "no", "sent"],
        left_out={"part of type step-start": 1},
    ),
    "ai sdk: invocations beside the content": Probe(
        "openai-messages",
        lines(asked({"role": "assistant", "content": "", "toolInvocations": [{"state": "result", "toolCallId": "3", "toolName": "mail", "args": {"to": "x"}, "result": "sent"}]})),
        ["mail"],
        ["sent"],
    ),
    "ai sdk: core messages": Probe(
        "openai-messages",
        lines(
            asked(
                ai({"type": "tool-call", "toolCallId": "1", "toolName": "pay", "input": {"n": 1}}),
                {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "1", "toolName": "pay", "output": {"type": "json", "value": {"ok": 1}}}]},
            )
        ),
        ["pay"],
    ),
    "openai: a field of calls that nobody knows": Probe(
        "openai-messages",
        lines(asked({"role": "assistant", "content": "I pay.", "planned_calls": [{"tool": "pay"}]})),
        ["-"],
        left_out={"field planned_calls of a message": 1},
    ),
    "openai: a result without its call, a call without a result": Probe(
        "openai-messages",
        lines(asked(tool("lost", "c0"), calls(function("a")), calls(function("b", "{}", "c2")), tool("2", "c2"))),
        ["a b"],
        ["", "2"],
        left_out={"result whose call is not in the log": 1},
    ),
}  # fmt: skip

RESPONSES = {
    "responses: every tool that the provider runs": Probe(
        "openai-responses",
        items(
            item("web_search_call", id="1", status="completed", action={"type": "search", "query": "q"}),
            item("file_search_call", id="2", queries=["q"], results=[{"text": "found"}]),
            item("computer_call", id="3", call_id="k3", action={"type": "click", "x": 1}, pending_safety_checks=[]),
            item("computer_call_output", call_id="k3", output={"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"}),
            item("code_interpreter_call", id="4", code="print(1)", container_id="c", outputs=[{"type": "logs", "logs": "1"}]),
            item("image_generation_call", id="5", status="completed", result=PNG),
            item("local_shell_call", id="6", call_id="k6", action={"type": "exec", "command": ["rm", "x"]}),
            item("local_shell_call_output", id="k6", output="gone"),
            item("shell_call", call_id="k7", action={"commands": ["ls"]}),
            item("shell_call_output", call_id="k7", output=[{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]),
            item("apply_patch_call", call_id="k8", operation={"type": "delete_file", "path": "a"}),
            item("apply_patch_call_output", call_id="k8", status="completed", output="Done"),
            item("mcp_list_tools", id="9", server_label="shop", tools=[]),
            item("mcp_call", id="10", server_label="shop", name="refund", arguments='{"n":1}', output="ok", error=None),
        ),
        ["web_search file_search computer code_interpreter image_generation local_shell shell apply_patch refund"],
        left_out={"item of type mcp_list_tools": 1},
        pictures=2,
    ),
    "responses: an approval that was refused, and one that was given": Probe(
        "openai-responses",
        lines(
            [
                USER,
                item("mcp_approval_request", id="a1", server_label="shop", name="refund", arguments='{"n":1}'),
                item("mcp_approval_response", approval_request_id="a1", approve=False, reason="Too much."),
                item("mcp_approval_request", id="a2", server_label="shop", name="refund", arguments='{"n":2}'),
                item("mcp_approval_response", approval_request_id="a2", approve=True),
                item("mcp_call", id="x", approval_request_id="a2", server_label="shop", name="refund", arguments='{"n":2}', output="ok"),
            ]
        ),
        ["refund refund"],
        decisions=2,
    ),
    "responses: broken, empty and missing arguments": Probe(
        "openai-responses",
        items(
            item("function_call", name="a", arguments='{"n": ', call_id="1"),
            item("function_call", name="b", arguments="", call_id="2"),
            item("function_call", name="c", call_id="3"),
            item("function_call", name="d", arguments={"n": 1}, call_id="4"),
            item("function_call_output", call_id="4", output=[item("input_image", image_url=f"data:image/png;base64,{PNG}")]),
        ),
        ["a b c d"],
        pictures=1,
    ),
    "responses: calls without ids": Probe(
        "openai-responses",
        items(
            item("function_call", name="a", arguments="{}"),
            item("function_call_output", output="1"),
            item("function_call", name="b", arguments="{}"),
            item("function_call_output", output="2"),
        ),
        ["a b"],
        ["1", "2"],
    ),
    "responses: the end of a stream": Probe(
        "openai-responses",
        lines(
            {"type": "response.output_item.done", "item": item("function_call", name="pay", arguments="{}", call_id="1")},
            {"type": "response.completed", "response": {"id": "r", "output": [item("function_call", name="pay", arguments="{}", call_id="1")]}},
        ),
        [],
    ),
    "responses: a hosted tool whose name stands apart": Probe(
        "openai-responses",
        items(item("custom_tool_call", name="sql", input="DROP TABLE x", call_id="1"), item("custom_tool_call_output", call_id="1", output="gone"), item("item_reference", id="z")),
        ["sql"],
        ["gone"],
        left_out={"item of type item_reference": 1},
    ),
}  # fmt: skip

CODEX = {
    "codex: a rollout of the first versions": Probe(
        "codex",
        lines(
            {"id": "5973b6c0-94b8-487b-a530-2aeb6098ae0e", "timestamp": "2025-05-07T17:24:21Z", "instructions": None, "git": {}},
            {"record_type": "state"},
            USER,
            item("reasoning", id="r", summary=[item("summary_text", text="I look.")]),
            item("function_call", name="shell", arguments='{"command":["rm","x"]}', call_id="k1"),
            {"record_type": "state"},
            item("function_call_output", call_id="k1", output='{"output":"gone","metadata":{"exit_code":0}}'),
            item("local_shell_call", call_id="k2", status="completed", action={"type": "exec", "command": ["ls"]}),
            item("function_call_output", call_id="k2", output="a"),
        ),
        ["shell local_shell"],
    ),
    "codex: the kinds of a new rollout": Probe(
        "codex",
        lines(
            told("session_meta", id="s-1", cwd="/srv"),
            told("event_msg", type="user_message", message="Go"),
            told("response_item", **item("function_call", name="shell", arguments='{"command":["ls"]}', call_id="1")),
            told("event_msg", type="exec_command_begin", call_id="1", command=["ls"]),
            told("event_msg", type="exec_command_end", call_id="1", stdout="a"),
            told("response_item", **item("function_call_output", call_id="1", output="a")),
            told("response_item", **item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="2", status="completed")),
            told("response_item", **item("custom_tool_call_output", call_id="2", output='{"output":"ok"}')),
            told("response_item", **item("web_search_call", status="completed", action={"type": "search", "query": "q"})),
            told("response_item", **item("ghost_snapshot", ghost_commit={})),
            told("compacted", message="short", replacement_history=[item("function_call", name="shell", arguments="{}", call_id="1")]),
            told("event_msg", type="token_count", info=None),
            told("response_item", **item("function_call", name="shell", arguments='{"command":["rm"]}', call_id="3")),
        ),
        ["shell apply_patch web_search shell"],
        left_out={"item of type ghost_snapshot": 1, "line of type compacted": 1},
    ),
    "codex: item numbers that start anew": Probe(
        "codex",
        lines(
            {"type": "thread.started", "thread_id": "t"},
            *(
                line
                for command in ("ls", "rm x")
                for line in (
                    {"type": "turn.started"},
                    {"type": "item.started", "item": {"id": "item_0", "type": "command_execution", "command": command}},
                    {"type": "item.completed", "item": {"id": "item_0", "type": "command_execution", "command": command, "aggregated_output": command, "exit_code": 0, "status": "completed"}},
                    {"type": "turn.completed"},
                )
            ),
        ),
        ["command_execution command_execution"],
        ["ls", "rm x"],
    ),
    "codex: items of older streams": Probe(
        "codex",
        lines(
            {"type": "thread.started", "thread_id": "t"},
            {"type": "item.completed", "item": {"id": "item_0", "item_type": "command_execution", "command": "ls", "aggregated_output": "a", "exit_code": 0}},
            {"type": "item.completed", "item": {"id": "item_1", "item_type": "assistant_message", "text": "Done."}},
            {"type": "item.completed", "item": {"id": "item_2", "type": "file_change", "changes": [{"path": "a", "kind": "delete"}], "status": "completed"}},
            {"type": "item.completed", "item": {"id": "item_3", "type": "todo_list", "items": []}},
        ),
        ["command_execution - file_change"],
        left_out={"item of type todo_list": 1},
    ),
    "codex: calls that nothing names": Probe(
        "codex",
        rollout(item("function_call", name="a", arguments="{}", call_id="1"), item("function_call", name="b", arguments="{}", call_id="1"), item("function_call_output", call_id="1", output="x")),
        ["a b"],
    ),
}  # fmt: skip

CHAT = {"gen_ai__operation__name": "chat"}
RUN = {"gen_ai__operation__name": "execute_tool"}


def spoke(*parts: Any) -> str:
    return text([{"role": "assistant", "parts": list(parts)}])


def wrote(name: str, call_id: str, **given: Any) -> dict:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": given}


def noted(name: str, **attributes: Any) -> dict:
    return {"name": name, "timeUnixNano": "1", "attributes": [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()]}  # fmt: skip


OTEL = {
    "otel: messages as events of the span": Probe(
        "otel",
        lines(
            batch(
                span("t", "chat", 1, **CHAT)
                | {
                    "events": [
                        noted("gen_ai.system.message", content="Be exact."),
                        noted("gen_ai.user.message", content="Go"),
                        noted("gen_ai.assistant.message", tool_calls=text([function("look", '{"n":1}', "c0")])),
                        noted("gen_ai.tool.message", id="c0", content="seen"),
                        noted("gen_ai.choice", index="0", finish_reason="tool_calls", message=text({"role": "assistant", "tool_calls": [function("pay", '{"n":1}')]})),
                    ]
                }
            )
        ),
        ["look pay"],
        ["seen", ""],
    ),
    "otel: messages as events that hold JSON": Probe(
        "otel",
        lines(
            batch(
                span("t", "chat", 1, **CHAT)
                | {
                    "events": [
                        noted("gen_ai.user.message", gen_ai__event__content=text({"role": "user", "content": "Go"})),
                        noted("gen_ai.choice", gen_ai__event__content=text({"index": 0, "message": {"role": "assistant", "tool_calls": [function("pay")]}})),
                    ]
                }
            )
        ),
        ["pay"],
    ),
    "otel: two tools run under one id": Probe(
        "otel",
        lines(
            batch(
                span("t", "chat", 1, **CHAT, gen_ai__output__messages=spoke(wrote("a", "call_0", n=1))),
                span("t", "execute_tool a", 2, **RUN, gen_ai__tool__name="a", gen_ai__tool__call__id="call_0", gen_ai__tool__call__result="1"),
                span("t", "chat", 3, **CHAT),
                span("t", "execute_tool pay", 4, **RUN, gen_ai__tool__name="pay", gen_ai__tool__call__id="call_0", gen_ai__tool__call__result="2"),
                span("t", "chat", 5, **CHAT, gen_ai__output__messages=spoke(wrote("a", "call_0", n=3))),
                span("t", "execute_tool a", 6, **RUN, gen_ai__tool__name="a", gen_ai__tool__call__id="call_0", gen_ai__tool__call__result="3"),
            )
        ),
        ["a pay a"],
        ["1", "2", "3"],
    ),
    "otel: the same call twice": Probe(
        "otel",
        lines(
            batch(
                span("t", "chat", 1, **CHAT, gen_ai__output__messages=spoke(wrote("a", "", n=1), wrote("a", "", n=1))),
                *(span("t", "a", n, **RUN, gen_ai__tool__name="a", gen_ai__tool__call__arguments='{"n":1}', gen_ai__tool__call__result=str(n)) for n in (2, 3)),
            )
        ),
        ["a a"],
        ["2", "3"],
    ),
    "otel: nothing but names": Probe(
        "otel",
        lines(batch(span("t", "execute_tool pay", 1, **RUN), span("t", "embed", 2, gen_ai__operation__name="embeddings"))),
        ["pay"],
        left_out={"span of kind embeddings": 1},
    ),
    "otel: logs in the place of spans": Probe("otel", lines({"resourceLogs": [{"scopeLogs": [{"logRecords": []}]}]}), []),
    "openinference: several calls, ids, results in the prompt": Probe(
        "otel",
        lines(
            batch(
                span(
                    "t",
                    "llm",
                    1,
                    openinference__span__kind="LLM",
                    **{
                        "llm__output_messages__0__message__role": "assistant",
                        **{f"llm__output_messages__0__message__tool_calls__{n}__tool_call__{key}": value for n in range(2) for key, value in {"id": f"c{n}", "function__name": f"f{n}", "function__arguments": "{}"}.items()},
                    },
                ),
                span("t", "llm", 2, openinference__span__kind="LLM", **{"llm__input_messages__0__message__role": "tool", "llm__input_messages__0__message__tool_call_id": "c1", "llm__input_messages__0__message__content": "1"}),
            )
        ),
        ["f0 f1"],
        ["", "1"],
    ),
    "openinference: calls of all messages numbered in one series": Probe(
        "otel",
        lines(
            batch(
                span(
                    "t",
                    "llm",
                    1,
                    openinference__span__kind="LLM",
                    **{
                        "llm__output_messages__0__message__role": "assistant",
                        **{f"llm__output_messages__0__message__tool_calls__2__tool_call__{key}": value for key, value in {"id": "c2", "function__name": "f2", "function__arguments": "{}"}.items()},
                    },
                ),
            )
        ),
        ["f2"],
        [""],
    ),
}  # fmt: skip


LANGFUSE = {
    "langfuse: a trace as the API gives it": Probe(
        "langfuse",
        lines({"id": "t", "projectId": "p", "input": {"messages": [{"role": "user", "content": "Go"}]}, "output": None, "scores": [], "observations": [observation("GENERATION", 1, output=calls(function("pay"))), observation("EVENT", 2)]}),
        ["pay"],
        left_out={"observation of type EVENT": 1},
    ),
    "langfuse: observations as its page exports them": Probe(
        "langfuse",
        lines(
            observation("GENERATION", 1, traceId="t1", input=text([{"role": "user", "content": "Go"}]), output=text(calls(function("pay")))),
            observation("TOOL", 2, "pay", traceId="t1", input="{}", output='"paid"'),
            observation("TOOL", 1, "send", traceId="t2", input="{}", output='"sent"'),
        ),
        ["pay", "send"],
        ["paid", "sent"],
    ),
    "langfuse: a list of observations of the API": Probe(
        "langfuse",
        orjson.dumps({"data": [observation("TOOL", 1, "send", traceId="t2", input={}, output="sent")], "meta": {"page": 1}}),
        ["send"],
        ["sent"],
    ),
    "langfuse: tools that were logged as plain spans": Probe(
        "langfuse",
        lines({"trace": {"id": "t"}, "observations": [observation("SPAN", 0, "agent"), observation("SPAN", 1, "refund", input={"n": 1}, output="done"), observation("GENERATION", 2, output="Done.")]}),
        ["-"],
        left_out={"observation of type SPAN that holds no other": 1},
    ),
}  # fmt: skip


def sample(*messages: Any, **more: Any) -> bytes:
    one = {"id": "s", "epoch": 1, "input": "Go", "messages": [{"role": "user", "content": "Go"}, *messages]} | more
    return orjson.dumps({"status": "success", "eval": {"task": "t"}, "samples": [one]})


INSPECT = {
    "inspect: tools of the provider": Probe(
        "inspect",
        sample(ai({"type": "tool_use", "tool_type": "web_search", "id": "w", "name": "web_search", "arguments": '{"q":1}', "result": "found", "error": None}, {"type": "text", "text": "Found."})),
        ["web_search -"],
        ["found", ""],
    ),
    "inspect: calls that only the events hold": Probe(
        "inspect",
        sample(
            {"role": "assistant", "content": "Done."},
            events=[
                {"event": "model", "input": [{"role": "user", "content": "Go"}], "output": {"choices": [{"message": calls({"id": "c1", "function": "bash", "arguments": {"cmd": "rm"}})}]}},
                {"event": "tool", "id": "c1", "function": "bash", "arguments": {"cmd": "rm"}, "result": "gone"},
            ],
        ),
        ["bash"],
        ["gone"],
    ),
    "inspect: calls in the events of a subtask": Probe(
        "inspect",
        sample(
            {"role": "assistant", "content": "Done."},
            events=[{"event": "subtask", "name": "sub", "events": [{"event": "tool", "id": "c9", "function": "pay", "arguments": {"n": 1}, "result": "paid"}]}],
        ),
        ["pay"],
        ["paid"],
    ),
    "inspect: a call that the model wrote incorrectly": Probe(
        "inspect",
        sample({"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": "bash", "arguments": {"bash": "{rm"}, "parse_error": "Error parsing"}]}, {"role": "tool", "tool_call_id": "c", "function": "bash", "content": "", "error": {"type": "parsing", "message": "Error parsing"}}),
        ["bash"],
        ["Error parsing"],
    ),
    "inspect: approvals of every kind": Probe(
        "inspect",
        sample(
            {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{n}", "function": "bash", "arguments": {"n": n}} for n in range(4)]},
            events=[
                {"event": "approval", "approver": "human", "decision": decision, "call": {"id": f"c{n}", "function": "bash", "arguments": {}}}
                for n, decision in enumerate(["approve", "modify", "terminate", "escalate"])
            ],
        ),
        ["bash bash bash bash"],
        decisions=3,
    ),
}  # fmt: skip


def lc(name: str, **kwargs: Any) -> dict:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


LANGCHAIN = {
    "langchain: chunks with their calls": Probe(
        "langchain-messages",
        lines([{"type": "human", "content": "Go"}, {"type": "AIMessageChunk", "content": "", "tool_calls": [{"name": "pay", "args": {}, "id": "1"}], "tool_call_chunks": [{"name": "pay", "args": "{}", "id": "1", "index": 0}], "invalid_tool_calls": []}]),
        ["pay"],
    ),
    "langchain: calls among the further arguments": Probe(
        "langchain-messages",
        lines([{"type": "human", "data": {"content": "Go"}}, {"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": [function("pay")]}, "tool_calls": []}}, {"type": "tool", "data": {"content": "paid", "tool_call_id": "c1", "status": "success", "artifact": None}}]),
        ["pay"],
        ["paid"],
    ),
    "langchain: blocks of its first version": Probe(
        "langchain-messages",
        lines([lc("HumanMessage", content="Go"), lc("AIMessage", content=[{"type": "reasoning", "reasoning": "So."}, {"type": "tool_call", "name": "pay", "args": {"n": 1}, "id": "1"}, {"type": "server_tool_call", "name": "web_search", "args": {}, "id": "2"}, {"type": "server_tool_result", "tool_call_id": "2", "status": "success", "output": "found"}], tool_calls=[{"name": "pay", "args": {"n": 1}, "id": "1", "type": "tool_call"}])]),
        ["pay web_search"],
        ["", "found"],
    ),
    "langchain: the state of a graph": Probe(
        "langchain-messages",
        lines({"values": {"messages": [{"type": "human", "content": "Go"}, {"type": "ai", "content": "", "tool_calls": [{"name": "pay", "args": {}, "id": "1"}]}]}, "next": []}),
        ["pay"],
    ),
    "langchain: the updates of a graph": Probe(
        "langchain-messages",
        lines({"agent": {"messages": [{"type": "ai", "content": "", "tool_calls": [{"name": "pay", "args": {}, "id": "1"}]}]}}),
        [],
    ),
}  # fmt: skip

LANGSMITH = {
    "langsmith: older calls, a tool that failed, one run twice": Probe(
        "langsmith",
        lines(
            run("llm", 1, "t", inputs={"messages": [[lc("HumanMessage", content="Go")]]}, outputs={"generations": [[{"text": "", "message": lc("AIMessage", content="", additional_kwargs={"tool_calls": [function("pay", '{"n":1}')]})}]]}),
            run("tool", 2, "t", "pay", inputs={"input": "{'n': 1}"}, outputs=None, error="ValueError: no money"),
            run("tool", 3, "t", "pay", inputs={"input": "{'n': 1}"}, outputs={"output": "paid"}),
        ),
        ["pay pay"],
        ["ValueError: no money", "paid"],
    ),
    "langsmith: the output is a message of a tool": Probe(
        "langsmith",
        lines(
            run("llm", 1, "t", outputs={"generations": [[{"message": lc("AIMessage", content="", tool_calls=[{"name": name, "args": {}, "id": name} for name in ("a", "b")])}]]}),
            run("tool", 2, "t", "b", inputs={"input": "{}"}, outputs={"output": {"content": "2", "type": "tool", "tool_call_id": "b"}}),
            run("tool", 3, "t", "a", inputs={"input": "{}"}, outputs={"output": lc("ToolMessage", content="1", tool_call_id="a")}),
        ),
        ["a b"],
        ["1", "2"],
    ),
}  # fmt: skip


def traj(**more: Any) -> dict:
    return {
        "trajectory": [
            {"action": "ls", "observation": "a", "thought": "", "response": "", "state": {}},
            {"action": "", "observation": "Your output was not formatted", "thought": "", "response": "Hm"},
        ],
        "history": [{"role": "user", "content": "Fix"}],
        "info": {"exit_status": "submitted"},
    } | more


HISTORY = [
    {"role": "system", "content": "Use commands.", "agent": "main", "message_type": "system_prompt"},
    {"role": "user", "content": "A demonstration", "agent": "main", "is_demo": True, "message_type": "demonstration"},
    {"role": "user", "content": "Fix a.py", "agent": "main", "message_type": "observation"},
    {"role": "assistant", "content": "I look.", "thought": "I look.", "action": "ls\n", "agent": "main", "tool_calls": [function("bash", '{"command":"ls"}', "1")], "message_type": "action"},
    {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["1"], "message_type": "observation"},
    {"role": "assistant", "content": "", "thought": "", "action": "submit", "agent": "main", "message_type": "action"},
]  # fmt: skip

SOFTWARE = {
    "swe-agent: attempts beside the chosen one": Probe(
        "swe-agent",
        lines(traj(attempts=[traj(), traj()])),
        ["bash"],
        left_out={"attempt that was not chosen": 1},
    ),
    "swe-agent: a history whose messages hold the actions too": Probe(
        "swe-agent",
        lines(traj(environment="swe_main", instance_id="i-1", trajectory=[{"action": "ls\n", "observation": "a.py", "response": "I look.", "thought": "I look.", "state": "{}"}, {"action": "submit", "observation": "", "response": "", "thought": "", "state": "{}"}], history=HISTORY)),
        ["bash bash"],
        ["a.py", ""],
    ),
    "swe-agent: a demonstration that is its history alone": Probe(
        "swe-agent",
        orjson.dumps({"history": HISTORY}, option=orjson.OPT_INDENT_2),
        ["bash bash"],
        ["a.py", ""],
    ),
    "mini-swe-agent: responses kept whole as messages": Probe(
        "mini-swe-agent",
        lines(
            {
                "trajectory_format": "mini-swe-agent-1.1",
                "info": {},
                "messages": [
                    {"role": "user", "content": "Fix", "type": "message"},
                    {"object": "response", "output": [item("reasoning", summary=[]), item("function_call", name="bash", arguments='{"command":"ls"}', call_id="1")], "extra": {"actions": [{"command": "ls", "tool_call_id": "1"}]}},
                    {"type": "function_call_output", "call_id": "1", "output": "a"},
                    {"role": "exit", "content": "", "type": "exit"},
                ],
            }
        ),
        ["bash"],
    ),
    "mini-swe-agent: several calls in a message": Probe(
        "mini-swe-agent",
        lines({"trajectory_format": "mini-swe-agent-1.1", "messages": [{"role": "user", "content": "Fix"}, calls(function("bash", '{"command":"a"}', "1"), function("bash", '{"command":"b"}', "2")), tool("2", "2"), tool("1", "1")]}),
        ["bash bash"],
        ["1", "2"],
    ),
}  # fmt: skip


def act(number: int, action: str, **args: Any) -> dict:
    return {"id": number, "source": "agent", "action": action, "args": args}


def seen(number: int, kind: str, cause: int, content: Any, **extras: Any) -> dict:
    return {"id": number, "source": "agent", "observation": kind, "cause": cause, "content": content, "extras": extras}


OPENHANDS = {
    "openhands: an event a line": Probe(
        "openhands",
        lines({"id": 0, "source": "user", "action": "message", "args": {"content": "Go"}}, act(1, "run", command="rm x"), seen(2, "run", 1, "gone"), act(3, "call_tool_mcp", name="pay", arguments={"n": 1}), seen(4, "mcp", 3, "paid"), act(5, "finish", final_thought="Done", outputs={})),
        ["run pay -"],
        ["gone", "paid", ""],
    ),
    "openhands: its own housekeeping is no call": Probe(
        "openhands",
        lines({"instance_id": "i", "history": [act(1, "run", command="ls"), seen(2, "run", 1, "a"), act(3, "condensation", forgotten_event_ids=[1]), {"id": 4, "source": "user", "action": "recall", "args": {"query": "q"}}, act(5, "think", thought="Hm")]}),
        ["run think"],
    ),
    "openhands: arguments beside the action, without a source": Probe(
        "openhands",
        lines({"issue": {"number": 5}, "instruction": "Fix it", "history": [{"content": "Fix it", "action": "message", "action_risk": None}, {"command": "touch a", "thought": "So.", "action": "run", "is_confirmed": "confirmed", "action_risk": None}, {"content": "done", "command_id": -1, "command": "touch a", "exit_code": 0, "observation": "run"}], "success": True}),
        ["run"],
        ["done"],
    ),
    "openhands: newer events, a failure, a refusal": Probe(
        "openhands",
        orjson.dumps(
            [
                {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"type": "text", "text": "P"}, "tools": []},
                {"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": [item("text", text="Go")]}},
                *({"kind": "ActionEvent", "source": "agent", "id": f"e{n}", "tool_name": "terminal", "tool_call_id": f"c{n}", "tool_call": {"id": f"c{n}", "name": "terminal", "arguments": '{"command":"ls"}'}, "thought": [], "security_risk": "LOW"} for n in range(3)),
                {"kind": "ObservationEvent", "source": "environment", "action_id": "e0", "tool_call_id": "c0", "observation": {"kind": "TerminalObservation", "content": [item("text", text="a")], "is_error": False}},
                {"kind": "AgentErrorEvent", "source": "agent", "tool_call_id": "c1", "tool_name": "terminal", "error": "broken"},
                {"kind": "UserRejectObservation", "source": "environment", "tool_call_id": "c2", "action_id": "e2", "rejection_reason": "No."},
                {"kind": "ConversationStateUpdateEvent", "source": "environment", "key": "k", "value": 1},
            ]
        ),
        ["terminal terminal terminal"],
        ["a", "broken", "No."],
        left_out={"event of kind ConversationStateUpdateEvent": 1},
        decisions=1,
    ),
}  # fmt: skip


OTHERS = {
    "tau2: one simulation a file": Probe(
        "tau-bench",
        lines({"id": "x", "task_id": "1", "trial": 0, "reward_info": None, "messages": [{"role": "user", "content": "Go"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "name": "pay", "arguments": {"n": 1}, "requestor": "assistant"}]}, {"role": "tool", "id": "1", "content": "paid", "requestor": "assistant"}]}),
        ["pay"],
        ["paid"],
    ),
    "agentdojo: calls without ids, arguments that hold calls": Probe(
        "agentdojo",
        lines(
            {
                "suite_name": "banking",
                "messages": [
                    {"role": "user", "content": "Go"},
                    {"role": "assistant", "content": None, "tool_calls": [{"function": "a", "args": {"x": {"function": "b", "args": {}}}, "id": None}, {"function": "c", "args": {}, "id": None}]},
                    {"role": "tool", "content": "1", "tool_call_id": None, "tool_call": {"function": "a", "args": {}}, "error": None},
                    {"role": "tool", "content": "2", "tool_call_id": None, "tool_call": {"function": "c", "args": {}}, "error": None},
                ],
            }
        ),
        ["a c"],
        ["1", "2"],
    ),
    "atif: a call of a step that is not the agent's, pictures at a path": Probe(
        "atif",
        lines(
            {
                "schema_version": "ATIF-v1.6",
                "session_id": "s",
                "agent": {"name": "a"},
                "steps": [
                    {"step_id": 1, "source": "user", "message": [{"type": "text", "text": "Go"}, {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}]},
                    {"step_id": 2, "source": "system", "message": "", "tool_calls": [{"tool_call_id": "1", "function_name": "reset", "arguments": {}}], "observation": {"results": [{"source_call_id": "1", "content": "ok"}]}},
                    {"step_id": 3, "source": "agent", "message": "", "tool_calls": [{"tool_call_id": "1", "function_name": "pay", "arguments": '{"n":1}'}, {"tool_call_id": "2", "function_name": "send", "arguments": None}], "observation": {"results": [{"content": "both"}]}},
                ],
            }
        ),
        ["reset pay send"],
        ["ok", "", "both"],
        left_out={"picture that cannot be shown (no type)": 1},
    ),
    "jsonl: steps whose calls stand under a strange name": Probe(
        "jsonl",
        lines({"task_id": "t", "instruction": "Go", "steps": [{"thought": "So.", "actions": [{"name": "pay", "arguments": {}}]}]}),
        [],
    ),
    "agents sdk: a response with hosted tools": Probe(
        "openai-agents",
        lines(
            {"object": "trace", "id": "tr", "workflow_name": "w"},
            {"object": "trace.span", "trace_id": "tr", "id": "s1", "started_at": "1", "span_data": {"type": "response", "response_id": "r", "input": [USER], "response": {"output": [item("web_search_call", id="1", action={"query": "q"}), item("function_call", name="pay", arguments="{}", call_id="1")]}}},
            {"object": "trace.span", "trace_id": "tr", "id": "s2", "started_at": "2", "span_data": {"type": "function", "name": "pay", "input": "{}", "output": "paid"}},
            {"object": "trace.span", "trace_id": "tr", "id": "s3", "started_at": "3", "error": {"message": "boom", "data": None}, "span_data": {"type": "function", "name": "pay", "input": "{}", "output": None}},
        ),
        ["web_search pay pay"],
        ["", "paid", "boom"],
    ),
    "reflexion: an action over several lines": Probe(
        "reflexion-react",
        b"BEGIN TRIAL 1\nTrial summary: Correct: 1, Incorrect: 0, Halted: 0\n------------- BEGIN CORRECT AGENTS -------------\n\nQuestion: Which river?\nThought 1: I look.\nAction 1: Search[a\nb]\nObservation 1: Action 2: Finish[x]\nThought 2: So.\nAction 2: Finish[Mole]\nObservation 2: Answer is CORRECT\nCorrect answer: Mole\n\n",
        ["Search Finish"],
    ),
}  # fmt: skip

MORE = {
    "claude code: an interrupted call, a denied rule, a person's no with words": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "Bash", command="rm -rf /")], id="m1"),
            event("user", "r1", "a1", [result("t1", "Permission to use Bash with command rm -rf / has been denied.", is_error=True)]),
            event("assistant", "a2", "r1", [use("t2", "Edit", file_path="a")], id="m2"),
            event("user", "r2", "a2", [result("t2", "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing.", is_error=True)]),
            event("user", "r3", "r2", [{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        ),
        ["Bash Edit"],
        decisions=1,
    ),
    "claude code: two sessions and a bare snapshot in a file": Probe(
        "claude-code",
        lines(
            event("user", "u1", None, "Go"),
            event("assistant", "a1", "u1", [use("t1", "A")], id="m1"),
            {**event("user", "v1", None, "Other"), "sessionId": "s-2"},
            {**event("assistant", "v2", "v1", [use("t1", "B")], id="m2"), "sessionId": "s-2"},
        ),
        ["A", "B"],
    ),
    "openai: names that are null": Probe("openai-messages", lines(asked(calls(function(None)))), []),
    "openai: a call whose function is missing": Probe("openai-messages", lines(asked(calls({"id": "c", "type": "function"}))), []),
    "openai: calls that are no list": Probe("openai-messages", lines(asked({"role": "assistant", "tool_calls": {"id": "c", "function": {"name": "pay"}}})), []),
    "openai: one message a line": Probe("openai-messages", lines({"role": "user", "content": "Go"}, calls(function("pay")), tool("paid")), ["pay"], ["paid"]),
    "openai: the function of another time": Probe(
        "openai-messages",
        lines(asked({"role": "assistant", "content": "", "function_call": {"name": "pay", "arguments": '{"n":1}'}}, {"role": "function", "name": "pay", "content": "paid"})),
        ["pay"],
        ["paid"],
    ),
    "openai: cached and predicted parts, files": Probe(
        "openai-messages",
        lines(asked({"role": "user", "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,eA=="}}, {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}, calls(function("pay"), annotations=[], audio=None, refusal=None))),
        ["pay"],
        left_out={"part of type file (application/pdf)": 1},
    ),
    "gemini: contents with function calls": Probe(
        "openai-messages",
        lines({"contents": [{"role": "user", "parts": [{"text": "Go"}]}, {"role": "model", "parts": [{"functionCall": {"name": "pay", "args": {"n": 1}}}]}, {"role": "user", "parts": [{"functionResponse": {"name": "pay", "response": {"ok": True}}}]}]}),
        ["pay"],
    ),
    "autogen: events of a team": Probe(
        "openai-messages",
        lines({"messages": [{"source": "user", "type": "TextMessage", "content": "Go"}, {"source": "clerk", "type": "ToolCallRequestEvent", "content": [{"id": "c1", "name": "pay", "arguments": "{}"}]}, {"source": "clerk", "type": "ToolCallExecutionEvent", "content": [{"call_id": "c1", "name": "pay", "content": "paid", "is_error": False}]}]}),
        ["pay"],
        ["paid"],
    ),
    "openai: several exchanges whose response stands apart": Probe(
        "openai-messages",
        lines({"request": asked(model="m"), "response": {"id": "r", "object": "chat.completion", "choices": [{"index": 0, "message": calls(function("pay")), "finish_reason": "tool_calls"}]}, "cost": 1}),
        ["pay"],
    ),
    "responses: several outputs of reasoning, a refusal, annotations": Probe(
        "openai-responses",
        items(item("reasoning", summary=[], content=[item("reasoning_text", text="So.")]), item("function_call", name="a", arguments="{}", call_id="1", status="incomplete"), item("message", role="assistant", content=[item("refusal", refusal="No.")]), item("compaction", encrypted_content="x")),
        ["a -"],
        left_out={"item of type compaction": 1},
    ),
    "codex: a fork quotes the session it comes from": Probe(
        "codex",
        lines(
            told("session_meta", id="s-2", forked_from_id="s-1"),
            told("session_meta", id="s-1"),
            told("response_item", **item("function_call", name="shell", arguments="{}", call_id="1")),
            told("response_item", **item("function_call", name="apply", arguments="{}", call_id="2")),
        ),
        ["shell apply"],
    ),
    "codex: two sessions in a file": Probe(
        "codex",
        lines(told("session_meta", id="s-1"), told("response_item", **item("function_call", name="a", arguments="{}", call_id="1")), told("session_meta", id="s-2"), told("response_item", **item("function_call", name="b", arguments="{}", call_id="1"))),
        ["a", "b"],
    ),
    "otel: what Google's ADK calls requests and responses": Probe(
        "otel",
        lines(
            batch(
                span(
                    "t", "call_llm", 1, gen_ai__system="gcp.vertex.agent",
                    gcp__vertex__agent__llm_request=text({"contents": [{"role": "user", "parts": [{"text": "Go"}]}]}),
                    gcp__vertex__agent__llm_response=text({"content": {"role": "model", "parts": [
                        {"function_call": {"id": "c1", "name": "pay", "args": {"n": 1}}},
                        {"function_call": {"id": "c2", "name": "tell", "args": {}}}]}}),
                ),
                span(
                    "t", "execute_tool pay", 2, gen_ai__operation__name="execute_tool", gen_ai__tool__name="pay",
                    gen_ai__tool__call__id="c1", gcp__vertex__agent__tool_call_args=text({"n": 1}),
                    gcp__vertex__agent__tool_response=text({"result": 0}),
                ),
            )
        ),
        ["pay tell"],
        ['{"result":0}', ""],
    ),
    "otel: MLflow's inputs and outputs": Probe(
        "otel",
        lines(
            batch(
                span("t", "agent", 1, "", mlflow__spanType='"AGENT"'),
                span(
                    "t", "model", 2, mlflow__spanType='"CHAT_MODEL"', mlflow__spanInputs=text(asked()),
                    mlflow__spanOutputs=text({"choices": [{"message": calls(function("pay"), function("tell", call_id="c2"))}]}),
                ),
                span("t", "pay", 3, mlflow__spanType='"TOOL"', mlflow__spanInputs="{}", mlflow__spanOutputs="false"),
                span("t", "find", 4, mlflow__spanType='"RETRIEVER"', mlflow__spanInputs="{}"),
            )
        ),
        ["pay tell"],
        ["false", ""],
        {"span of kind RETRIEVER": 1},
    ),
    "otel: a conversation that only the agent's span holds": Probe(
        "otel",
        lines(
            batch(
                span(
                    "t", "agent run", 1, "", gen_ai__operation__name="invoke_agent",
                    pydantic_ai__all_messages=text([
                        {"role": "user", "parts": [{"type": "text", "content": "Go"}]},
                        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {}}]},
                        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "name": "pay", "result": "ok"}]},
                        {"role": "assistant", "parts": [{"type": "text", "content": "Paid."}]}]),
                )
            )
        ),
        ["pay -"],
        ["ok", ""],
    ),
    "otel: what Strands writes into events": Probe(
        "otel",
        lines(
            batch(
                told_in(
                    span("t", "chat", 1, gen_ai__operation__name="chat"),
                    ("gen_ai.user.message", {"content": text([{"text": "Go"}])}),
                    ("gen_ai.choice", {"message": text([{"toolUse": {"toolUseId": "c1", "name": "pay", "input": {"n": 1}}}])}),
                ),
                told_in(
                    span("t", "execute_tool", 2, gen_ai__operation__name="execute_tool", gen_ai__tool__name="pay", gen_ai__tool__call__id="c1"),
                    ("gen_ai.tool.message", {"content": text({"n": 1}), "id": "c1"}),
                    ("gen_ai.choice", {"message": text([{"text": "paid"}]), "id": "c1"}),
                ),
                told_in(
                    span("t", "execute_tool", 3, gen_ai__operation__name="execute_tool", gen_ai__tool__name="tell"),
                    ("gen_ai.tool.message", {"content": text({"to": "all"})}),
                ),
            )
        ),
        ["pay tell"],
        ["paid", ""],
    ),
    "otel: arrays, snake case, one span a line": Probe(
        "otel",
        lines(
            {**span("t", "chat", 1, **CHAT), "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}, {"key": "gen_ai.output.messages", "value": {"arrayValue": {"values": [{"kvlistValue": {"values": [{"key": "role", "value": {"stringValue": "assistant"}}, {"key": "parts", "value": {"arrayValue": {"values": [{"kvlistValue": {"values": [{"key": "type", "value": {"stringValue": "tool_call"}}, {"key": "name", "value": {"stringValue": "pay"}}, {"key": "id", "value": {"stringValue": "c"}}]}}]}}}]}}]}}}]},
            span("t", "execute_tool pay", 2, **RUN, gen_ai__tool__name="pay", gen_ai__tool__call__id="c", gen_ai__tool__call__result="paid"),
        ),
        ["pay"],
        ["paid"],
    ),
    "otel: a tool that ran twice for one call": Probe(
        "otel",
        lines(
            batch(
                span("t", "chat", 1, **CHAT, gen_ai__output__messages=spoke(wrote("pay", "c", n=1))),
                span("t", "execute_tool pay", 2, **RUN, gen_ai__tool__name="pay", gen_ai__tool__call__id="c", gen_ai__tool__call__result="timeout"),
                span("t", "execute_tool pay", 3, **RUN, gen_ai__tool__name="pay", gen_ai__tool__call__id="c", gen_ai__tool__call__result="paid"),
            )
        ),
        ["pay pay"],
        ["timeout", "paid"],
    ),
    "langfuse: calls of anthropic and of langchain in generations": Probe(
        "langfuse",
        lines({"trace": {"id": "t"}, "observations": [observation("GENERATION", 1, output={"content": [{"type": "text", "text": "a"}, use("1", "pay")], "role": "assistant"}), observation("GENERATION", 2, output={"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [function("send", "{}", "2")]}})]}),
        ["pay send"],
    ),
    "langsmith: two generations, a child that failed": Probe(
        "langsmith",
        lines(run("chain", 0, "t", child_runs=[run("llm", 1, "t", outputs={"generations": [[{"message": lc("AIMessage", content="", tool_calls=[{"name": "a", "args": {}, "id": "1"}])}, {"message": lc("AIMessage", content="", tool_calls=[{"name": "b", "args": {}, "id": "2"}])}]]}), run("chain", 2, "t", child_runs=[run("tool", 3, "t", "a", inputs={"x": 1}, error="boom")])])),
        ["a b"],
    ),
    "inspect: epochs, and a tool that failed": Probe(
        "inspect",
        orjson.dumps({"status": "error", "eval": {"task": "t"}, "samples": [{"id": 1, "epoch": n, "input": [{"role": "user", "content": "Go"}], "messages": [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": "bash", "arguments": {}}]}, {"role": "tool", "tool_call_id": "c", "content": "", "error": {"type": "timeout", "message": "late"}}]} for n in (1, 2)]}),
        ["bash", "bash"],
        ["late", "late"],
    ),
    "langchain: a call that the model wrote incorrectly, among blocks": Probe(
        "langchain-messages",
        lines([{"type": "human", "content": "Go"}, {"type": "ai", "content": [{"type": "tool_call", "name": "pay", "args": {}, "id": "1"}], "tool_calls": [], "invalid_tool_calls": [{"name": "rm", "args": "{", "id": "2", "error": "bad"}]}]),
        ["pay"],
        left_out={"call of rm that the model wrote incorrectly": 1},
    ),
    "swe-agent: calls beside the action": Probe(
        "swe-agent",
        lines({"trajectory": [{"action": "rm x", "observation": "gone", "thought": "So.", "response": "r", "tool_calls": [function("bash", '{"command":"rm x"}')], "messages": []}], "history": [{"role": "user", "content": [{"type": "text", "text": "Fix"}]}], "info": {}}),
        ["bash"],
        ["gone"],
    ),
    "openhands: calls that its agent wrote as messages, and a delegate": Probe(
        "openhands",
        lines({"instance_id": "i", "history": [act(1, "delegate", agent="BrowsingAgent", inputs={"task": "x"}), seen(2, "delegate", 1, "done"), act(3, "run_ipython", code="pay()"), {"id": 4, "source": "agent", "observation": "run_ipython", "content": "lost", "extras": {}}, act(5, "browse_interactive", browser_actions="click(1)")]}),
        ["delegate run_ipython browse_interactive"],
    ),
    "tau2: calls of both sides, a message with several": Probe(
        "tau-bench",
        lines({"task_id": "1", "reward_info": {"reward": 0}, "messages": [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "So.", "tool_calls": [{"id": "1", "name": "a", "arguments": {}, "requestor": "assistant"}, {"id": "1", "name": "b", "arguments": {}, "requestor": "assistant"}]}, {"role": "tool", "tool_messages": [{"id": "1", "role": "tool", "content": "1"}, {"id": "1", "role": "tool", "content": "2"}]}, {"role": "user", "content": None, "tool_calls": [{"id": "9", "name": "toggle", "arguments": {}, "requestor": "user"}]}, {"role": "tool", "id": "9", "content": "on", "requestor": "user"}]}),
        ["a b"],
    ),
    "agentdojo: a call with an error, an assistant of several parts": Probe(
        "agentdojo",
        lines({"suite_name": "s", "user_task_id": "u", "messages": [{"role": "user", "content": "Go"}, {"role": "assistant", "content": [{"type": "text", "content": "a"}, {"type": "thinking", "content": "b", "id": None}], "tool_calls": [{"function": "pay", "args": {}, "id": "1"}]}, {"role": "tool", "content": [{"type": "text", "content": "no"}], "tool_call_id": "1", "tool_call": {"function": "pay", "args": {}}, "error": None}]}),
        ["pay"],
        ["no"],
    ),
    "atif: results that name other trajectories": Probe(
        "atif",
        lines({"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "a"}, "steps": [{"step_id": 1, "source": "agent", "message": "x", "tool_calls": [{"tool_call_id": "1", "function_name": "delegate", "arguments": {}}], "observation": {"results": [{"source_call_id": "1", "subagent_trajectory_ref": [{"session_id": "y"}]}]}}]}),
        ["delegate"],
        left_out={"result that is another trajectory": 1},
    ),
    "sharegpt: calls among the words": Probe(
        "sharegpt",
        lines({"conversations": [{"from": "human", "value": "Go"}, {"from": "gpt", "value": 'Thought: So.\nAction: pay\nAction Input: {"n": 1}'}, {"from": "human", "value": "Observation: paid"}, {"from": "gpt", "value": '<function=send>{"to": "x"}</function>'}]}),
        ["pay send"],
        ["paid", ""],
    ),
    "toolbench: only a chain": Probe(
        "toolbench",
        lines({"win": False, "answer_generation": {"query": "Go", "train_messages": [], "chain": [{"node_type": "Action", "description": "pay", "children": []}, {"node_type": "Action Input", "description": "{}", "observation": "paid"}]}}),
        ["pay"],
    ),
    "bfcl: a call that is no Python": Probe(
        "bfcl",
        lines({"id": "a_1", "result": '[cat file_name="x"]', "latency": 1}, {"id": "a_2", "result": "[f(a=1)], [g()]", "latency": 1}),
        ["-", "f g"],
        left_out={"answer that looks like calls and cannot be read": 1},
    ),
    "webshop: a page that quotes an action": Probe(
        "webshop-react",
        b"-----------------\n0\nAction: reset\nObservation:\nInstruction:\na cup\n[Search]\n\nAction: search[cup]\nObservation: A book: Action! and more\n\nAction: click[Buy Now]\nObservation: Your score (min 0.0, max 1.0): 1.0\n\n1 1.0 1.0 0.0\n-------------\n",
        ["search click"],
    ),
    "inferact: a purchase": Probe(
        "inferact",
        lines({"path": [{"type": "human", "data": {"content": "WebShop [SEP] Instruction: [SEP] cup [SEP] Search"}}, {"type": "ai", "data": {"content": "Action: search[cup]"}}, {"type": "human", "data": {"content": "Results"}}, {"type": "ai", "data": {"content": "Action: click[Buy Now]"}}], "trace_correct": 1, "is_halted": False}),
        ["search click"],
    ),
    "alfworld: an action that is missing": Probe("alfworld-expert", orjson.dumps([{"expert_traj": [{"act": "go"}], "gamefile": ["a/b/c"]}]), []),
}  # fmt: skip

PROBES = {
    **ANTHROPIC,
    **CLAUDE_CODE,
    **OPENAI,
    **RESPONSES,
    **CODEX,
    **OTEL,
    **LANGFUSE,
    **INSPECT,
    **LANGCHAIN,
    **LANGSMITH,
    **SOFTWARE,
    **OPENHANDS,
    **OTHERS,
    **MORE,
}
