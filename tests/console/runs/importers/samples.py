"""One log of each format, made after its schema with its quirks, what must be read from it, and a damaged twin."""

import base64
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import orjson


def png(width: int = 1) -> bytes:
    """A grey picture, one row high."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" + b"\x80" * width)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


PNG = base64.b64encode(png()).decode()


@dataclass(frozen=True)
class Sample:
    """A log and what is read from it: the actions of each trajectory, and the other figures."""

    content: bytes
    actions: list[list[str]]
    labels: list[str | None]
    damaged: bytes
    line: int
    reason: str
    left_out: dict[str, int] = field(default_factory=dict)
    pictures: int = 0
    decisions: int = 0
    speakers: set[str] = field(default_factory=set)


def lines(*records: Any) -> bytes:
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def say(text: str) -> str:
    return f"respond({orjson.dumps({'content': text}).decode()})"


def use(call_id: str | None, name: str | None, **given: Any) -> dict:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id: str, content: Any, **more: Any) -> dict:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | more


_ANTHROPIC = {
    "id": "a-1",
    "system": "Be exact.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Pay the bill"}, {"type": "input_audio", "data": "x"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "The bill first.", "signature": "s"},
                {"type": "text", "text": "I look."},
                use("t1", "read_bill", n=1),
                use("t2", "read_bill", n=2),
            ],
        },
        {
            "role": "user",
            "content": [
                result("t2", "second"),
                result(
                    "t1",
                    [
                        {"type": "text", "text": "first"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    ],
                ),
                {"type": "text", "text": "Go on."},
            ],
        },
        {"role": "assistant", "content": [use("t3", "pay", amount=5)]},
        {"role": "user", "content": [result("t3", "no money", is_error=True)]},
        {"role": "assistant", "content": "It failed."},
    ],
}


def _anthropic() -> Sample:
    broken = {"messages": [*_ANTHROPIC["messages"], {"role": "assistant", "content": [use("t4", None, to="x")]}]}
    return Sample(
        lines(_ANTHROPIC),
        [['read_bill({"n":1})', 'read_bill({"n":2})', 'pay({"amount":5})', say("It failed.")]],
        [None],
        lines(_ANTHROPIC, broken),
        2,
        "A call has no name",
        {"part of type input_audio": 1},
        pictures=1,
    )


def event(kind: str, uuid: str, parent: str | None, content: Any, **more: Any) -> dict:
    message = {"role": kind, "content": content} | ({"id": more.pop("id")} if "id" in more else {})
    shared = {"sessionId": "s-1", "isSidechain": False, "cwd": "/srv/shop", "version": "2.1.0", "userType": "external"}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, **shared, "message": message} | more


_REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, "
    "the user said:\nAsk me first."
)


def _claude_code() -> Sample:
    events = [
        {"type": "summary", "summary": "Shop", "leafUuid": "a9"},
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        event("user", "u0", None, "<caveat>", isMeta=True),
        event("user", "u1", "u0", "Fix the shop"),
        event("assistant", "a1", "u1", [{"type": "thinking", "thinking": "Look."}], id="m1"),
        event("assistant", "a2", "a1", [{"type": "text", "text": "I look."}], id="m1"),
        event("assistant", "a3", "a2", [use("t1", "Read", file_path="a.py")], id="m1"),
        event("assistant", "a4", "a3", [use("t2", "Task", prompt="Count the shelves")], id="m1"),
        event("user", "r1", "a3", [result("t1", "print(1)")]),
        event("user", "k1", None, "Count the shelves", isSidechain=True, agentId="b7"),
        event("assistant", "k2", "k1", [use("t9", "Grep", pattern="shelf")], isSidechain=True, agentId="b7"),
        event("user", "k3", "k2", [result("t9", "3")], isSidechain=True, agentId="b7"),
        event("user", "r2", "a4", [result("t2", [{"type": "text", "text": "3 shelves"}])]),
        event("assistant", "a5", "r2", [use("t3", "Bash", command="git push --force")], id="m2"),
        event("user", "r3", "a5", [result("t3", _REFUSED, is_error=True)], toolUseResult="User rejected tool use"),
        event("user", "u2", "r3", "Write a test"),
        event("assistant", "a6", "u2", [use("t4", "Write", file_path="t.py")], id="m3"),
        event("user", "r4", "a6", [result("t4", "ok")]),
        event("user", "u3", "r3", "Leave it"),
        event("assistant", "a7", "u3", "Left.", id="m4"),
        {"type": "later-kind", "sessionId": "s-1"},
    ]
    nameless = event("assistant", "a8", "a7", [use("t5", "", command="ls")])
    return Sample(
        lines(*events),
        [
            [
                'Read({"file_path":"a.py"})',
                'Task({"prompt":"Count the shelves"})',
                'Bash({"command":"git push --force"})',
            ],
            [say("Left.")],
            ['Grep({"pattern":"shelf"})'],
            ['Write({"file_path":"t.py"})'],
        ],
        [None, None, None, None],
        lines(*events, nameless),
        22,
        "A call has no name",
        {"line of type later-kind": 1},
        decisions=1,
        speakers={"b7"},
    )


def item(kind: str, **given: Any) -> dict:
    return {"type": kind} | given


_ITEMS = [
    item("message", role="user", content=[item("input_text", text="List the files")]),
    item("reasoning", summary=[item("summary_text", text="I list them.")], encrypted_content="x"),
    item("function_call", name="exec", arguments='{"cmd":"ls"}', call_id="c1", id="f1"),
    item("function_call", name="exec", arguments='{"cmd":"pwd"}', call_id="c2", id="f2"),
    item("function_call_output", call_id="c2", output="/srv"),
    item("function_call_output", call_id="c1", output=[item("output_text", text="a.txt")]),
    item("custom_tool_call", name="apply_patch", input="*** Begin Patch\n+x", call_id="c3"),
    item("custom_tool_call_output", call_id="c3", output="Done!"),
    item("web_search_call", id="w1", status="completed", action={"type": "search", "query": "files"}),
    item("message", role="assistant", content=[item("output_text", text="There is a.txt.")]),
]
_ITEM_ACTIONS = [
    'exec({"cmd":"ls"})',
    'exec({"cmd":"pwd"})',
    'apply_patch({"input":"*** Begin Patch\\n+x"})',
    'web_search({"type":"search","query":"files"})',
    say("There is a.txt."),
]
_NAMELESS = item("function_call", arguments="{}", call_id="c9")


def _responses() -> Sample:
    asked = {"id": "r-1", "instructions": "Be exact.", "input": _ITEMS[:3], "output": [*_ITEMS[3:], item("odd")]}
    return Sample(
        lines(asked, _ITEMS),
        [_ITEM_ACTIONS] * 2,
        [None] * 2,
        lines(asked, [*_ITEMS, _NAMELESS]),
        2,
        "A call has no name",
        {"item of type odd": 1},
    )


def _codex() -> Sample:
    def told(kind: str, payload: dict) -> dict:
        return {"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": payload}

    rollout = [
        told("session_meta", {"id": "s-1", "cwd": "/srv", "originator": "codex_cli_rs", "cli_version": "0.1"}),
        told("turn_context", {"approval_policy": "on-request"}),
        told("event_msg", {"type": "user_message", "message": "List the files"}),
        *(told("response_item", one) for one in _ITEMS),
        told("event_msg", {"type": "agent_message", "message": "There is a.txt."}),
        told("later_kind", {}),
    ]
    stream = [
        {"type": "thread.started", "thread_id": "t-1"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "I delete."}},
        {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "command": "rm -r x"}},
        {
            "type": "item.completed",
            "item": {
                "id": "item_1",
                "type": "command_execution",
                "command": "rm -r x",
                "aggregated_output": "denied",
                "exit_code": 1,
                "status": "failed",
            },
        },
        {
            "type": "item.completed",
            "item": {"id": "item_2", "type": "mcp_tool_call", "server": "shop", "tool": "pay", "arguments": {"n": 1}},
        },
        {"type": "item.started", "item": {"id": "item_3", "type": "command_execution", "command": "git push"}},
        {"type": "item.completed", "item": {"id": "item_4", "type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {}},
    ]
    acted = [
        'command_execution({"command":"rm -r x"})',
        'mcp__shop__pay({"n":1})',
        'command_execution({"command":"git push"})',
        say("Done."),
    ]
    return Sample(
        lines(*rollout, *stream),
        [_ITEM_ACTIONS, acted],
        [None, None],
        lines(*rollout, told("response_item", _NAMELESS)),
        len(rollout) + 1,
        "A call has no name",
        {"line of type later_kind": 1},
    )


def attribute(key: str, value: Any) -> dict:
    kind = {bool: "boolValue", int: "intValue", float: "doubleValue"}.get(type(value), "stringValue")
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def span(trace: str, name: str, start: int, parent: str = "p", **attributes: Any) -> dict:
    told = [attribute(key.replace("__", "."), value) for key, value in attributes.items()]
    return {
        "traceId": trace,
        "spanId": f"{trace}-{start}",
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(start),
        "attributes": told,
    }


def batch(*spans: dict) -> dict:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _otel() -> Sample:
    asked = {"role": "user", "parts": [{"type": "text", "content": "Pay"}]}
    call = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"n": 1}}
    wrote = {"role": "assistant", "parts": [{"type": "text", "content": "I pay."}, call], "finish_reason": "tool_call"}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "paid"}]}
    done = {"role": "assistant", "parts": [{"type": "text", "content": "Paid."}]}
    chat = {"gen_ai__operation__name": "chat"}
    first = span(
        "t1",
        "chat",
        10,
        **chat,
        gen_ai__input__messages=text([asked]),
        gen_ai__output__messages=text([wrote]),
        gen_ai__agent__name="clerk",
    )
    ran = span(
        "t1",
        "execute_tool pay",
        20,
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name="pay",
        gen_ai__tool__call__id="c1",
        gen_ai__tool__call__arguments=text({"n": 1}),
        gen_ai__tool__call__result="paid",
    )
    last = span(
        "t1",
        "chat",
        30,
        **chat,
        gen_ai__input__messages=text([asked, wrote, back]),
        gen_ai__output__messages=text([done]),
    )
    root = span("t1", "invoke_agent clerk", 5, parent="", gen_ai__operation__name="invoke_agent")
    inference = [
        span(
            "t2",
            "llm",
            10,
            openinference__span__kind="LLM",
            **{
                "llm__input_messages__0__message__role": "user",
                "llm__input_messages__0__message__content": "Send it",
                "llm__output_messages__0__message__role": "assistant",
                "llm__output_messages__0__message__tool_calls__0__tool_call__function__name": "send",
                "llm__output_messages__0__message__tool_calls__0__tool_call__function__arguments": '{"to":"x"}',
            },
        ),
        span("t2", "send", 20, openinference__span__kind="TOOL", input__value='{"to":"x"}', output__value="sent"),
        span("t2", "audit", 30, openinference__span__kind="TOOL", input__value="{}", output__value="kept"),
    ]
    nameless = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c2", "arguments": {}}]}
    bad = span("t3", "chat", 1, **chat, gen_ai__output__messages=text([nameless]))
    return Sample(
        lines(batch(last, inference[0]), batch(root, ran, first, *inference[1:])),
        [['pay({"n":1})', say("Paid.")], ['send({"to":"x"})', "audit({})"]],
        [None, None],
        lines(batch(first), batch(bad)),
        2,
        "A call has no name",
        speakers={"clerk"},
    )


def observation(kind: str, number: int, name: str = "", **given: Any) -> dict:
    return {
        "id": f"o{number}",
        "type": kind,
        "name": name,
        "startTime": f"2026-01-01T00:00:{number:02}Z",
        "parentObservationId": "o0" if number else None,
    } | given


def _langfuse() -> Sample:
    asked = {"role": "user", "content": "Weather?"}
    openai = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}],
    }
    anthropic = {"role": "assistant", "content": [use("c2", "book", seat=4)]}
    answered = {"role": "user", "content": [result("c2", "booked")]}
    responses = {
        "object": "response",
        "output": [item("function_call", name="mail", arguments='{"to":"x"}', call_id="c3")],
    }
    first = {
        "trace": {
            "id": "t1",
            "name": "n",
            "scores": [{"name": "correctness", "value": 0}, {"name": "tone", "value": 0.4}],
        },
        "observations": [
            observation("TOOL", 2, "weather", input='{"city":"Oslo"}', output='"sunny"'),
            observation("AGENT", 0, "guide"),
            observation("GENERATION", 1, input=text({"messages": [asked]}), output=text(openai)),
            observation("GENERATION", 3, input=text([asked, openai]), output=text(anthropic)),
            observation("GENERATION", 4, input=text([asked, openai, anthropic, answered]), output=text(responses)),
            observation("RETRIEVER", 5, "docs"),
        ],
    }
    nameless = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"arguments": "{}"}}]}
    return Sample(
        lines(first),
        [['weather({"city":"Oslo"})', 'book({"seat":4})', 'mail({"to":"x"})']],
        ["misaligned"],
        lines(first, {"trace": {"id": "t2"}, "observations": [observation("GENERATION", 1, output=text(nameless))]}),
        2,
        "A call has no name",
        {"observation of type RETRIEVER": 1},
        speakers={"guide"},
    )


def _inspect() -> Sample:
    call = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
    sample = {
        "id": "s1",
        "epoch": 2,
        "input": "List the files",
        "target": "a",
        "messages": [
            {"id": "m0", "role": "system", "content": "Be exact."},
            {"id": "m1", "role": "user", "content": "List the files"},
            {
                "id": "m2",
                "role": "assistant",
                "content": [{"type": "reasoning", "reasoning": "I list."}, {"type": "text", "text": "So:"}],
                "tool_calls": [call, {**call, "id": "c2", "arguments": {"cmd": "rm a"}}],
            },
            {"id": "m3", "role": "tool", "tool_call_id": "c1", "function": "bash", "content": "attachment://h1"},
            {
                "id": "m4",
                "role": "tool",
                "tool_call_id": "c2",
                "function": "bash",
                "content": "",
                "error": {"type": "approval", "message": "Not that."},
            },
            {
                "id": "m5",
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Listed."},
                    {"type": "image", "image": f"data:image/png;base64,{PNG}"},
                ],
            },
        ],
        "attachments": {"h1": "a.txt"},
        "scores": {"match": {"value": "C", "answer": "a"}},
        "events": [
            {"event": "tool", "id": "c1", "function": "bash", "arguments": {}, "result": "a.txt"},
            {
                "event": "approval",
                "approver": "human",
                "decision": "reject",
                "explanation": "Not that.",
                "call": {"id": "c2", "function": "bash", "arguments": {"cmd": "rm a"}},
            },
        ],
    }
    limited = {
        **sample,
        "id": 2,
        "epoch": 1,
        "scores": {"match": {"value": "I"}},
        "limit": {"type": "token", "limit": 5},
        "events": [],
    }
    log = {"version": 2, "status": "success", "eval": {"task": "files", "model": "m"}, "samples": [sample, limited]}
    broken = orjson.dumps({**log, "samples": [sample, {"id": 3, "messages": "none"}]}).replace(
        b',{"id":3', b',\n{"id":3'
    )
    actions = ['bash({"cmd":"ls"})', 'bash({"cmd":"rm a"})', say("Listed.\n[image, 1 kB, png]")]
    return Sample(
        orjson.dumps(log, option=orjson.OPT_INDENT_2),
        [actions, actions],
        ["aligned", "misaligned"],
        broken,
        2,
        '"messages" is missing',
        pictures=2,
        decisions=1,
    )


def _langchain() -> Sample:
    call = {"name": "pay", "args": {"n": 1}, "id": "c1", "type": "tool_call"}
    plain = {
        "thread_id": "th-1",
        "messages": [
            {"type": "system", "content": "Be exact."},
            {"type": "human", "content": [{"type": "text", "text": "Pay"}]},
            {
                "type": "ai",
                "name": "clerk",
                "content": [{"type": "text", "text": "I pay."}, use("c1", "pay", n=1)],
                "tool_calls": [call],
                "invalid_tool_calls": [{"name": "send", "args": "{", "id": "c8"}],
            },
            {"type": "tool", "name": "pay", "tool_call_id": "c1", "content": "paid"},
            {"type": "ai", "content": "Paid.", "tool_calls": []},
        ],
    }
    serialised = [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", name], "kwargs": kwargs}
        for name, kwargs in (
            ("HumanMessage", {"content": "Pay", "type": "human"}),
            ("AIMessage", {"content": "", "tool_calls": [call], "type": "ai"}),
            ("ToolMessage", {"content": "paid", "tool_call_id": "c1"}),
        )
    ]
    nameless = [plain["messages"][1], {"type": "ai", "content": "", "tool_calls": [{"args": {}, "id": "c"}]}]
    return Sample(
        lines(plain, serialised),
        [['pay({"n":1})', say("Paid.")], ['pay({"n":1})']],
        [None, None],
        lines(plain, nameless),
        2,
        "A call has no name",
        {"call of send that the model wrote incorrectly": 1},
        speakers={"clerk"},
    )


def run(kind: str, number: int, trace: str, name: str = "", **given: Any) -> dict:
    return {
        "id": f"{trace}-{number}",
        "trace_id": trace,
        "parent_run_id": None if not number else f"{trace}-0",
        "run_type": kind,
        "name": name or kind,
        "start_time": f"2026-01-01T00:00:{number:02}",
    } | given


def _langsmith() -> Sample:
    made = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {"content": "", "tool_calls": [{"name": "pay", "args": {"n": 1}, "id": "c1"}]},
    }
    asked = {**made, "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": "Pay"}}
    runs = [
        run("chain", 0, "t1", "agent", feedback_stats={"correctness": {"n": 1, "avg": 1.0}}),
        run(
            "llm",
            1,
            "t1",
            "ChatModel",
            inputs={"messages": [[asked]]},
            outputs={"generations": [[{"text": "", "type": "ChatGeneration", "message": made}]]},
        ),
        run("tool", 2, "t1", "pay", inputs={"input": "{'n': 1}"}, outputs={"output": "paid"}),
        run("retriever", 3, "t1", "docs"),
        run(
            "llm",
            4,
            "t1",
            "ChatModel",
            inputs={},
            outputs={"choices": [{"message": {"role": "assistant", "content": "Paid."}}]},
        ),
    ]
    tree = run(
        "chain", 0, "t2", child_runs=[run("tool", 1, "t2", "send", inputs={"to": "x"}, outputs={"output": "ok"})]
    )
    return Sample(
        lines(*reversed(runs), tree),
        [['pay({"n":1})', say("Paid.")], ['send({"to":"x"})']],
        ["aligned", None],
        lines(*runs, {"id": "x", "trace_id": "t3", "name": "send"}),
        6,
        'no "run_type"',
        {"run of type retriever": 1},
    )


def _agents() -> Sample:
    def spanned(number: int, kind: str, **data: Any) -> dict:
        parent = "s1" if number > 1 else None
        shared = {"object": "trace.span", "trace_id": "tr-1", "id": f"s{number}", "parent_id": parent, "error": None}
        return shared | {"started_at": f"2026-01-01T00:00:0{number}", "span_data": {"type": kind} | data}

    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"n":1}'}}
    trace = [
        {"object": "trace", "id": "tr-1", "workflow_name": "desk", "group_id": None},
        spanned(1, "agent", name="triage"),
        spanned(
            2,
            "generation",
            input=[{"role": "user", "content": "Refund me"}],
            output=[{"role": "assistant", "content": None, "tool_calls": [call]}],
        ),
        spanned(3, "function", name="refund", input='{"n":1}', output="done"),
        spanned(4, "handoff", from_agent="triage", to_agent="desk"),
        spanned(5, "guardrail", name="tone", triggered=False),
    ]
    return Sample(
        lines(*trace),
        [['refund({"n":1})']],
        [None],
        lines(*trace, {"object": "other"}),
        7,
        "neither a trace nor a span",
        {"span of type guardrail": 1},
        speakers={"triage"},
    )


def _swe_agent() -> Sample:
    record = {
        "environment": "main",
        "trajectory": [
            {
                "action": "ls\n",
                "observation": "a.py",
                "thought": "I look.",
                "response": "I look.\n```ls```",
                "state": {},
            },
            {"action": "edit 1:1\nx\nend_of_edit", "observation": "", "thought": "", "response": "", "state": {}},
            {"action": "", "observation": "Exit due to cost", "thought": "", "response": "Hm", "state": {}},
        ],
        "history": [
            {"role": "system", "content": "Use commands."},
            {"role": "user", "content": "A demonstration", "is_demo": True},
            {"role": "user", "content": [{"type": "text", "text": "Fix a.py"}]},
            {"role": "assistant", "content": "I look."},
        ],
        "info": {"exit_status": "exit_cost", "submission": None},
    }
    broken = {**record, "trajectory": [*record["trajectory"], {"observation": "x"}]}
    return Sample(
        orjson.dumps(record, option=orjson.OPT_INDENT_2),
        [['bash({"command":"ls"})', 'bash({"command":"edit 1:1\\nx\\nend_of_edit"})', ""]],
        [None],
        orjson.dumps(broken),
        1,
        "Entry 4 of the trajectory",
    )


def _mini() -> Sample:
    fence = "THOUGHT: I look.\n\n```bash\nls -la\n```"
    two = "```bash\na\n```\nor\n```bash\nb\n```"
    submit = "```mswea_bash_command\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"
    tool = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "git push"}'}}
    record = {
        "instance_id": "i-1",
        "trajectory_format": "mini-swe-agent-1",
        "info": {"exit_status": "Submitted", "submission": "diff"},
        "messages": [
            {"role": "system", "content": "One command."},
            {"role": "user", "content": "Fix it"},
            {"role": "assistant", "content": fence},
            {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
            {"role": "assistant", "content": two},
            {"role": "user", "content": "Exactly one block, please."},
            {"role": "assistant", "content": "So.", "tool_calls": [tool]},
            {"role": "tool", "tool_call_id": "c1", "content": "pushed"},
            {"role": "assistant", "content": submit},
            {"role": "exit", "content": "Submitted"},
        ],
    }
    nameless = {"role": "assistant", "tool_calls": [{"id": "c2", "function": {"arguments": "{}"}}]}
    return Sample(
        orjson.dumps(record),
        [
            [
                'bash({"command":"ls -la"})',
                say(two),
                'bash({"command":"git push"})',
                'bash({"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})',
            ]
        ],
        [None],
        orjson.dumps({**record, "messages": [*record["messages"], nameless]}),
        1,
        "A call has no name",
    )


def _openhands() -> Sample:
    events = [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Fix it"}},
        {"id": 1, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}},
        {
            "id": 2,
            "source": "agent",
            "action": "run",
            "args": {
                "command": "rm x",
                "thought": "I remove it.",
                "confirmation_state": "confirmed",
                "security_risk": 2,
            },
        },
        {"id": 3, "source": "agent", "action": "edit", "args": {"path": "/a.py", "content": "x", "thought": ""}},
        {
            "id": 4,
            "source": "agent",
            "observation": "run",
            "cause": 2,
            "content": "does not exist",
            "extras": {"metadata": {"exit_code": 1}},
        },
        {"id": 5, "source": "user", "observation": "user_rejected", "cause": 3, "content": "Not there.", "extras": {}},
        {"id": 6, "source": "agent", "action": "browse", "args": {"url": "http://x", "thought": ""}},
        {
            "id": 7,
            "source": "agent",
            "observation": "browse",
            "cause": 6,
            "content": "page",
            "extras": {"screenshot": f"data:image/png;base64,{PNG}"},
        },
        {"id": 8, "source": "agent", "action": "message", "args": {"content": "Done."}},
    ]
    first = {"instance_id": "i-1", "instruction": "Fix it", "history": events, "test_result": {"resolved": True}}
    pairs = {
        "instance_id": "i-2",
        "instruction": "Run it",
        "error": "Agent reached maximum iteration",
        "history": [
            [
                {"source": "agent", "action": "run", "args": {"command": "ls", "thought": ""}},
                {"source": "agent", "observation": "run", "content": "a", "extras": {"exit_code": 0}},
            ],
        ],
        "report": {"resolved": False},
    }
    newer = {
        "instance_id": "i-3",
        "history": [
            {
                "kind": "MessageEvent",
                "source": "user",
                "llm_message": {"role": "user", "content": [item("text", text="Go")]},
            },
            {
                "kind": "ActionEvent",
                "source": "agent",
                "tool_name": "terminal",
                "tool_call_id": "c1",
                "tool_call": {"id": "c1", "name": "terminal", "arguments": '{"command":"ls"}'},
                "thought": [item("text", text="I look.")],
            },
            {
                "kind": "ObservationEvent",
                "tool_call_id": "c1",
                "observation": {"kind": "TerminalObservation", "content": [item("text", text="a")]},
            },
            {"kind": "Condensation", "summary": "s"},
        ],
    }
    broken = {"instance_id": "i-4", "history": [{"kind": "ActionEvent", "tool_call_id": "c"}]}
    return Sample(
        lines(first, pairs, newer),
        [
            [
                'run({"command":"rm x"})',
                'edit({"path":"/a.py","content":"x"})',
                'browse({"url":"http://x"})',
                say("Done."),
            ],
            ['run({"command":"ls"})'],
            ['terminal({"command":"ls"})'],
        ],
        ["aligned", "misaligned", None],
        lines(first, broken),
        2,
        "has no name",
        {"event of kind Condensation": 1},
        pictures=1,
        decisions=1,
    )


def _tau2() -> Sample:
    def wants(call_id: str, name: str, who: str = "assistant", **given: Any) -> dict:
        return {"id": call_id, "name": name, "arguments": given, "requestor": who}

    simulation = {
        "id": "x",
        "task_id": "7",
        "trial": 1,
        "termination_reason": "user_stop",
        "reward_info": {
            "reward": 1.0,
            "action_checks": [
                {"action": {"name": "resume_line"}, "tool_type": "write"},
                {"action": {"name": "get_line"}, "tool_type": "read"},
            ],
        },
        "messages": [
            {"role": "assistant", "content": "Hi!"},
            {"role": "user", "content": "My line is dead."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [wants("a", "get_line", n=1), wants("b", "get_bill", n=1)],
            },
            {
                "role": "tool",
                "tool_messages": [
                    {"id": "a", "role": "tool", "content": "dead", "requestor": "assistant", "error": False},
                    {"id": "b", "role": "tool", "content": "paid", "requestor": "assistant", "error": False},
                ],
            },
            {"role": "assistant", "content": "Toggle it."},
            {"role": "user", "content": None, "tool_calls": [wants("c", "toggle_airplane_mode", "user")]},
            {"role": "tool", "id": "c", "content": "on", "requestor": "user", "error": False},
            {"role": "user", "content": "Done."},
            {"role": "assistant", "content": None, "tool_calls": [wants("d", "resume_line", n=1)]},
            {"role": "tool", "id": "d", "content": "ok", "requestor": "assistant", "error": False},
        ],
    }
    told = {"domain": "telecom", "reason_for_call": "The line is dead.", "task_instructions": "Be short."}
    log = {
        "timestamp": "t",
        "info": {"environment_info": {"domain_name": "telecom"}},
        "tasks": [{"id": "7", "user_scenario": {"persona": None, "instructions": told}}],
        "simulations": [simulation],
    }
    voice = {**log, "simulations": [simulation, {"task_id": "8", "reward_info": {"reward": 1}, "ticks": [{}]}]}
    return Sample(
        orjson.dumps(log),
        [[say("Hi!"), 'get_line({"n":1})\nget_bill({"n":1})', say("Toggle it."), 'resume_line({"n":1})']],
        ["aligned"],
        orjson.dumps(voice).replace(b',{"task_id":"8"', b',\n{"task_id":"8"'),
        2,
        "voice run in ticks",
    )


def _agentdojo() -> Sample:
    call = {"function": "send_money", "args": {"to": "x", "amount": 5}, "id": "c1", "placeholder_args": None}
    official = {
        "suite_name": "banking",
        "pipeline_name": "m",
        "user_task_id": "user_task_0",
        "injection_task_id": "injection_task_1",
        "attack_type": "important",
        "injections": {"a": "Send money"},
        "messages": [
            {"role": "system", "content": "Help."},
            {"role": "user", "content": [{"type": "text", "content": "Pay the bill"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "", "tool_call_id": "c1", "tool_call": call, "error": "ValueError: no money"},
            {"role": "assistant", "content": [{"type": "text", "content": "Failed."}], "tool_calls": None},
        ],
        "error": None,
        "utility": True,
        "security": True,
    }
    calm = {**official, "injection_task_id": None, "injections": {}, "attack_type": None}
    fork = {
        **{name: value for name, value in official.items() if name not in ("utility", "security", "injections")},
        "evaluation": {"utility": True, "security": True, "outcome": "task_success_safe"},
    }
    nameless = {**official, "messages": [*official["messages"], {"role": "assistant", "tool_calls": [{"args": {}}]}]}
    actions = ['send_money({"to":"x","amount":5})', say("Failed.")]
    return Sample(
        lines(official, calm, fork),
        [actions] * 3,
        ["misaligned", "aligned", "aligned"],
        lines(official, nameless),
        2,
        "A call has no name",
    )


def _atif() -> Sample:
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"keystrokes": "ls\n"}}
    record = {
        "schema_version": "ATIF-v1.6",
        "session_id": "s-1",
        "agent": {"name": "terminus", "version": "2", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "List the files"},
            {
                "step_id": 2,
                "source": "agent",
                "message": "I list.",
                "reasoning_content": "Files.",
                "tool_calls": [call, {**call, "tool_call_id": "c2", "function_name": "done", "arguments": {}}],
                "observation": {
                    "results": [{"source_call_id": "c2", "content": "ok"}, {"source_call_id": "c1", "content": "a"}]
                },
            },
            {"step_id": 3, "source": "agent", "message": "Old.", "is_copied_context": True},
            {"step_id": 4, "source": "agent", "message": "Listed."},
        ],
        "final_metrics": {"total_steps": 3},
    }
    bad = {**record, "steps": [*record["steps"], {"step_id": 5, "source": "agent", "tool_calls": [{"arguments": {}}]}]}
    return Sample(
        orjson.dumps(record, option=orjson.OPT_INDENT_2),
        [['bash({"keystrokes":"ls\\n"})', "done({})", say("Listed.")]],
        [None],
        orjson.dumps(record) + b"\n" + orjson.dumps(bad),
        2,
        "A call has no name",
        {"step that is copied from another trajectory": 1},
    )


def _pydantic_ai() -> Sample:
    asked = ["Pay", {"kind": "binary", "data": PNG, "media_type": "image/png"}, {"kind": "cache-point"}]
    call = {"part_kind": "tool-call", "tool_name": "pay", "args": '{"n": 1}', "tool_call_id": "c1", "tool_kind": None}
    back = {"part_kind": "tool-return", "tool_name": "pay", "tool_call_id": "c2", "content": "Not today."}
    retry = {"part_kind": "retry-prompt", "tool_name": "pay", "tool_call_id": "c1", "content": "n is too small"}
    told = {"kind": "request", "conversation_id": "p-1", "instructions": "Be exact."}
    record = [
        {**told, "parts": [{"part_kind": "user-prompt", "content": asked}]},
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": "Twice."},
                {"part_kind": "text", "content": "I pay."},
                call,
                {**call, "args": {"n": 2}, "tool_call_id": "c2"},
                {"part_kind": "speech", "transcript": "Paid"},
            ],
        },
        {**told, "parts": [retry, {**back, "outcome": "denied"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "Not paid."}]},
    ]
    nameless = [record[0], {"kind": "response", "parts": [{"part_kind": "tool-call", "args": "{}"}]}]
    return Sample(
        lines(record),
        [['pay({"n":1})', 'pay({"n":2})', say("Not paid.")]],
        [None],
        lines(record, nameless),
        2,
        "A call has no name",
        {"part of type cache-point": 1, "part of type speech": 1},
        pictures=1,
        decisions=1,
    )


def _browser_use() -> Sample:
    page = {"url": "https://shop.example", "title": "Shop", "tabs": [], "interacted_element": [None]}
    goals = {"evaluation_previous_goal": "Unknown", "memory": "", "next_goal": "Buy"}
    clicks = [{"input": {"index": 2, "text": "tea"}, "interacted_element": None}, {"click": {"index": 3}}]
    end = {"is_done": True, "success": True, "extracted_content": "Bought."}
    record = {
        "history": [
            {
                "model_output": {"current_state": goals, "action": clicks},
                "result": [{"extracted_content": "typed", "include_in_memory": True}, {"error": "no such element"}],
                "state": {**page, "screenshot": PNG},
                "metadata": {"step_number": 1},
            },
            {"model_output": None, "result": [{"error": "rate limit"}], "state": page, "metadata": None},
            {
                "model_output": {"thinking": "Ready.", "action": [{"done": {"text": "Bought.", "success": True}}]},
                "result": [end],
                "state": page,
            },
        ]
    }
    return Sample(
        orjson.dumps(record, option=orjson.OPT_INDENT_2),
        [['input({"index":2,"text":"tea"})', 'click({"index":3})', say("Bought.")]],
        [None],
        orjson.dumps(record) + b'\n{"history": {}}',
        2,
        '"history" is missing or is not a list',
        {"task (a history of browser-use does not contain it)": 1},
        pictures=1,
    )


def _bedrock_agents() -> Sample:
    def part(**step: Any) -> dict:
        known = {"agentId": "A1", "agentAliasId": "L1", "sessionId": "b-1", "agentVersion": "1", "callerChain": []}
        return {**known, "trace": {"orchestrationTrace": step}}

    def prompt(*messages: dict) -> dict:
        told = {"system": "Be exact.", "messages": messages}
        return {"traceId": "t-0", "type": "ORCHESTRATION", "text": orjson.dumps(told).decode()}

    def parameter(name: str, kind: str, value: str) -> dict:
        return {"name": name, "type": kind, "value": value}

    asked = {"role": "user", "content": "[{text=Pay 5 to Ada, type=text}]"}
    seen = {"role": "user", "content": "[{toolUseId=t1, type=tool_result, content=[{text=paid}]}]"}
    pay = {"actionGroupName": "bank", "function": "pay", "parameters": [parameter("amount", "integer", "5")]}
    body = {"content": {"application/json": [parameter("to", "string", "5"), parameter("tags", "array", '["a"]')]}}
    post = {"actionGroupName": "bank", "verb": "POST", "apiPath": "/notes/{id}", "requestBody": body}
    found = {"knowledgeBaseLookupOutput": {"retrievedReferences": [{"content": {"text": "Rule 1"}}]}}
    records = [
        {"sessionId": "b-1", "trace": {"preProcessingTrace": {"modelInvocationInput": {"text": "?"}}}},
        part(modelInvocationInput=prompt(asked)),
        part(rationale={"traceId": "t-0", "text": "I pay."}),
        part(invocationInput={"invocationType": "ACTION_GROUP", "actionGroupInvocationInput": pay}),
        part(observation={"type": "ACTION_GROUP", "actionGroupInvocationOutput": {"text": "paid"}}),
        part(modelInvocationInput=prompt(asked, {"role": "assistant", "content": "..."}, seen)),
        part(invocationInput={"actionGroupInvocationInput": post}),
        part(invocationInput={"knowledgeBaseLookupInput": {"text": "rules", "knowledgeBaseId": "K1"}}),
        part(observation={"type": "KNOWLEDGE_BASE", **found}),
        part(observation={"type": "FINISH", "finalResponse": {"text": "Paid."}}),
        {"chunk": {"bytes": "Paid."}},
    ]
    return Sample(
        lines(*records),
        [
            [
                'pay({"amount":5})',
                'post/notes/id({"to":"5","tags":["a"]})',
                'knowledge_base({"text":"rules","knowledgeBaseId":"K1"})',
                say("Paid."),
            ]
        ],
        [None],
        lines(*records) + b'["no part"]\n',
        12,
        "not a JSON object",
        {"step of type preProcessingTrace": 1},
    )


def _smolagents() -> Sample:
    def used(number: int, *calls: dict, **more: Any) -> dict:
        known = {"step_number": number, "timing": {"start_time": 1.0}, "tool_calls": list(calls), "error": None}
        return (
            known | {"model_output": "", "observations": None, "action_output": None, "is_final_answer": False} | more
        )

    def call(name: str, given: Any) -> dict:
        return {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": given}}

    prompt = [
        {"role": "system", "content": [{"type": "text", "text": "Be exact."}]},
        {"role": "user", "content": "Pay"},
    ]
    error = {"type": "AgentExecutionError", "message": "No money"}
    steps = [
        {"task": "Pay", "task_images": None},
        {"plan": "1. Pay", "model_input_messages": prompt},
        used(1, call("pay", {"n": 1}), call("note", "paid"), model_output="Both.", observations="paid\nnoted"),
        used(2, call("python_interpreter", "pay(2)"), error=error),
        {"task": "And now?", "task_images": [PNG]},
        used(3, call("final_answer", {"answer": "Paid."}), action_output="Paid.", is_final_answer=True),
        {"output": "Paid."},
    ]
    nameless = [steps[0], used(1, {"function": {"arguments": {}}})]
    return Sample(
        lines(steps),
        [["", 'pay({"n":1})', "note(paid)", 'python_interpreter({"input":"pay(2)"})', say("Paid.")]],
        [None],
        lines(steps, nameless),
        2,
        "A call has no name",
        {"list task_images of pictures": 1},
    )


def _openai() -> Sample:
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    remote = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    record = {
        "id": "o-1",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Pay"}, picture, remote]},
            {"role": "assistant", "name": "clerk", "content": "I pay.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "paid"},
            {"role": "observer", "content": "Something"},
            {"content": "Nobody says this"},
            {"role": "assistant", "content": "Paid."},
        ],
        "label": "aligned",
    }
    nameless = {"messages": [record["messages"][0], {"role": "assistant", "tool_calls": [{"id": "c", "function": {}}]}]}
    return Sample(
        lines(record),
        [['pay({"n":1})', say("Paid.")]],
        ["aligned"],
        lines(record, nameless),
        2,
        "A call has no name",
        {
            "picture at an address, which is not fetched": 1,
            "message of role observer": 1,
            "message without a role": 1,
        },
        pictures=1,
        speakers={"clerk"},
    )


def _canonical() -> Sample:
    def record(*steps: dict) -> dict:
        return {"task_id": "t", "instruction": "Pay", "steps": list(steps)}

    return Sample(
        lines(
            record(
                {"thought": "So.", "action": {"name": "pay", "arguments": {"n": 1}}, "observation": "paid"},
                {"tool": "send", "input": {"to": "x"}, "output": {"ok": True}},
                {"action": "look", "speaker": "clerk"},
            )
        ),
        [['pay({"n":1})', 'send({"to":"x"})', "look"]],
        [None],
        lines(record({"action": "look"}), record({"action": {"arguments": {}}})),
        2,
        "the call of step 1 has no name",
        speakers={"clerk"},
    )


def _sharegpt() -> Sample:
    def turn(who: str, value: Any) -> dict:
        return {"from": who, "value": value}

    record = {
        "id": "g-1",
        "system": "Be exact.",
        "tools": "[]",
        "conversations": [
            turn("human", "Pay"),
            turn("function_call", '{"name": "pay", "arguments": {"n": 1}}'),
            turn("observation", "paid"),
            turn("gpt", '<tool_call>{"name": "send", "arguments": {}}</tool_call>'),
            turn("tool", "sent"),
            turn("narrator", "It rains."),
            turn("gpt", "Paid and sent."),
        ],
    }
    nameless = {"conversations": [turn("human", "Pay"), turn("function_call", '{"arguments": {}}')]}
    return Sample(
        lines(record),
        [['pay({"n":1})', "send({})", say("Paid and sent.")]],
        [None],
        lines(record, nameless),
        2,
        "A call has no name",
        {"turn from narrator": 1},
    )


def _toolbench() -> Sample:
    def node(kind: str, description: str, *children: dict, **more: Any) -> dict:
        return {"node_type": kind, "description": description, "children": list(children)} | more

    ended = node("Action", "Finish", node("Action Input", '{"return_type": "give_answer"}', observation="ok"))
    pay = node("Action Input", '{"n": 1}', ended, observation="paid")
    tried = node("Action", "send", node("Action Input", "{}", observation="refused", pruned=True), node("Odd", "x"))
    asked = [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "Pay"}]
    record = {
        "win": True,
        "tree": {
            "size": 7,
            "tree": node("Action Input", "", tried, node("Thought", "So.", node("Action", "pay", pay))),
        },
        "answer_generation": {"valid_data": True, "final_answer": "Paid.", "chain": [], "train_messages": [asked]},
    }
    broken = {**record, "tree": {"tree": node("Action Input", "", node("Action Input", '{"n": 1}'))}}
    return Sample(
        orjson.dumps(record, option=orjson.OPT_INDENT_2),
        [["send({})", 'pay({"n":1})', 'Finish({"return_type":"give_answer"})']],
        [None],
        lines(record, broken),
        2,
        "no action above it",
        {"node of type Odd": 1, "call of a branch that the agent gave up (read as well)": 2},
    )


def _bfcl() -> Sample:
    def answered(number: int, result: Any) -> dict:
        return {
            "id": f"simple_{number}",
            "result": result,
            "input_token_count": 5,
            "output_token_count": 2,
            "latency": 1,
        }

    results = [
        [{"area": '{"base": 10}'}, {"pay": {"n": 1}}],
        "[calc.area(base=10, unit='m'), pay(5, to=who)]",
        [[['[cd(folder="x")]'], ["Which file?"]], [[{"rm": '{"file": "a"}'}]]],
        "No function fits.",
    ]
    answers = [answered(number, result) for number, result in enumerate(results)]
    return Sample(
        lines(*answers),
        [
            ['area({"base":10})', 'pay({"n":1})'],
            ['calc.area({"base":10,"unit":"m"})', 'pay({"1":5,"to":"who"})'],
            ['cd({"folder":"x"})', say("Which file?"), 'rm({"file":"a"})'],
            [say("No function fits.")],
        ],
        [None] * 4,
        lines(*answers, {"id": "simple_9", "latency": 1}),
        5,
        '"id" or "result" is missing',
    )


SAMPLES = {
    "jsonl": _canonical(),
    "openai-messages": _openai(),
    "anthropic-messages": _anthropic(),
    "claude-code": _claude_code(),
    "openai-responses": _responses(),
    "codex": _codex(),
    "openai-agents": _agents(),
    "otel": _otel(),
    "langfuse": _langfuse(),
    "inspect": _inspect(),
    "langchain-messages": _langchain(),
    "langsmith": _langsmith(),
    "swe-agent": _swe_agent(),
    "mini-swe-agent": _mini(),
    "openhands": _openhands(),
    "tau-bench": _tau2(),
    "agentdojo": _agentdojo(),
    "pydantic-ai": _pydantic_ai(),
    "smolagents": _smolagents(),
    "bedrock-agents": _bedrock_agents(),
    "browser-use": _browser_use(),
    "atif": _atif(),
    "sharegpt": _sharegpt(),
    "toolbench": _toolbench(),
    "bfcl": _bfcl(),
}
