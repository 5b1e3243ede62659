"""Logs as further frameworks write them, and logs with a text at a place of its own; see `probes`."""
# ruff: noqa: E501 - a log is read more easily as it stands in its file, a record a line.

from __future__ import annotations

from typing import Any

import orjson

from tests.console.runs.importers.probes import Probe, calls, function, rollout, tool
from tests.console.runs.importers.samples import PNG, lines, observation, text

ASKED = {"role": "user", "content": "What is the weather in Rome?"}
CALL = function("weather", '{"city": "Rome"}')
ANSWER = {"role": "assistant", "content": "Sunny."}
REACT = 'Thought: look\nAction: weather\nAction Input: {"city": "Rome"}'
BLOCK = "We count.\n```python\nprint(1)\n```"
IDLE = "There is no code from the last 1 message for me to execute."


def trace(*told: dict) -> bytes:
    return lines({"trace": {"id": "t"}, "observations": [observation("AGENT", 0, "agent"), *told]})


def model(number: int, asked: Any, given: Any) -> dict:
    return observation("GENERATION", number, "model", input=asked, output=given)


def ran(number: int, name: str, given: Any, shown: Any, **attributes: Any) -> dict:
    return observation("TOOL", number, name, input=given, output=shown, metadata={"attributes": attributes})


def state(number: int, name: str | None, given: str, shown: Any) -> dict:
    told = {"attributes": {"tool.parameters": given} | ({"tool.name": name} if name else {})}
    return observation("SPAN", number, f"agent.react.update-{number}", input=None, output=shown, metadata=told)


def chat(*said: tuple[str, str]) -> bytes:
    history = [{"content": words, "name": name, "role": "user"} for name, words in said]
    return orjson.dumps({"question": "How many?", "history": history, "mistake_agent": "A", "mistake_step": "0"})


def branch(action: str, given: str, *children: dict) -> dict:
    inner = {"node_type": "Action Input", "description": given, "observation": "seen", "children": list(children)}
    return {"node_type": "Action", "description": action, "children": [inner]}


TOLD = calls(CALL)
CALLED = {"toolCallId": "c1", "toolName": "weather", "input": '{"city": "Rome"}'}
LANGFUSE = {
    "langfuse: a result that only the next prompt holds": Probe(
        "langfuse",
        trace(model(1, [ASKED], TOLD), ran(2, "execute_tool weather", None, None), model(3, [ASKED, TOLD, tool("warm")], ANSWER)),
        ["weather -"],
        ["warm", ""],
    ),
    "langfuse: contents that are JSON texts of parts": Probe(
        "langfuse",
        trace(
            model(1, [{"role": "user", "content": text([{"text": "Weather?"}])}], [{"message": text([{"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Rome"}}}]), "finish_reason": "tool_use"}]),
            ran(2, "execute_tool weather", [{"role": "tool", "content": '{"city": "Rome"}', "id": "c1"}], [{"message": text([{"text": "warm"}]), "id": "c1"}]),
            model(3, [], [{"message": text([{"text": "Sunny."}]), "finish_reason": "end_turn"}]),
        ),
        ["weather -"],
        ["warm", ""],
    ),
    "langfuse: spans of tools that are all named alike": Probe(
        "langfuse",
        trace(
            model(1, [ASKED], text([{"toolCallType": "function", "toolCallId": "c1", "toolName": "weather", "args": '{"city": "Rome"}'}])),
            ran(2, "ai.toolCall", '{"city": "Rome"}', "warm", **{"ai.toolCall.name": "weather", "ai.toolCall.id": "c1"}),
            model(3, [ASKED], calls(function("send", '{"to": "x"}', "c2"))),
            ran(4, "SimpleTool", {"args": [], "sanitize_inputs_outputs": True, "kwargs": {"to": "x"}}, "sent"),
            model(5, [ASKED], calls(function("look", '{"at": "y"}', "c3"))),
            ran(6, "Function: look", '{"at": "y"}', "seen"),
        ),
        ["weather send look"],
        ["warm", "sent", "seen"],
    ),
    "langfuse: calls beside a text without a role": Probe(
        "langfuse",
        trace(model(1, {"messages": [ASKED]}, {"text": "", "toolCalls": [{"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "args": {"city": "Rome"}}]}), ran(2, "tool: 'weather'", {"city": "Rome"}, "warm")),
        ["weather"],
        ["warm"],
    ),
    "langfuse: messages of AutoGen": Probe(
        "langfuse",
        trace(
            model(1, [{"content": "Weather?", "source": "user", "type": "UserMessage"}], {"content": [{"id": "c1", "arguments": '{"city": "Rome"}', "name": "weather"}], "type": "AssistantMessage", "source": "assistant"}),
            model(2, [{"content": [{"content": "warm", "name": "weather", "call_id": "c1", "is_error": False}], "type": "FunctionExecutionResultMessage"}], {"content": "Sunny."}),
        ),
        ["weather -"],
        ["warm", ""],
    ),
    "langfuse: results in the agent's own text": Probe(
        "langfuse",
        trace(model(1, [ASKED], REACT), model(2, [ASKED, {"role": "assistant", "content": f"{REACT}\nObservation: warm"}], "Final Answer: Sunny.")),
        ["weather -"],
        ["warm", ""],
    ),
    "langfuse: blocks of LlamaIndex": Probe(
        "langfuse",
        trace(
            model(1, {"messages": [{"role": "user", "blocks": [{"block_type": "text", "text": "Weather?"}]}]}, {"message": {"role": "assistant", "blocks": [], "additional_kwargs": {"tool_calls": [CALL]}}}),
            ran(2, "FunctionTool.acall", {"kwargs": {"city": "Rome"}}, "warm", **{"tool.name": "weather"}),
            model(3, {"messages": []}, {"message": {"role": "assistant", "blocks": [{"block_type": "text", "text": "Sunny."}]}}),
        ),
        ["weather -"],
        ["warm", ""],
    ),
    "langfuse: a tool whose span has only attributes": Probe(
        "langfuse",
        trace(model(1, [ASKED], TOLD), observation("SPAN", 2, "function_tool", input=None, output=None, metadata={"attributes": {"lk.function_tool.name": "weather", "lk.function_tool.args": '{"city": "Rome"}', "lk.function_tool.output": "warm"}})),
        ["weather"],
        ["warm"],
    ),
    "langfuse: a model's span around a model's span": Probe(
        "langfuse",
        trace(model(1, {"prompt": "Weather?"}, [CALLED]) | {"id": "outer"}, model(2, [ASKED], [CALLED]) | {"parentObservationId": "outer"}, ran(3, "weather", '{"city": "Rome"}', "warm", **{"ai.toolCall.id": "c1"})),
        ["weather"],
        ["warm"],
    ),
    "langfuse: a tool's span with an id of its own and its result in an attribute": Probe(
        "langfuse",
        trace(model(1, [ASKED], {"content": {"role": "model", "parts": [{"function_call": {"name": "weather", "args": {"city": "Rome"}}}]}}), ran(2, "execute_tool weather", '{"city": "Rome"}', "{}", **{"gen_ai.tool.call.id": "own-1", "gcp.vertex.agent.tool_response": '{"sky": "clear"}'})),
        ["weather"],
        ['{"sky": "clear"}'],
    ),
    "langfuse: the same call twice, with spans of their ids in another order": Probe(
        "langfuse",
        trace(model(1, [ASKED], calls(CALL | {"id": "c1"}, CALL | {"id": "c2"})), ran(2, "weather", '{"city": "Rome"}', "second", **{"gen_ai.tool.call.id": "c2"}), ran(3, "weather", '{"city": "Rome"}', "first", **{"gen_ai.tool.call.id": "c1"})),
        ["weather weather"],
        ["first", "second"],
    ),
    "langfuse: results in the role of the tool's name": Probe(
        "langfuse",
        trace(model(1, [ASKED], TOLD), model(2, [ASKED, TOLD, {"role": "weather", "content": "warm"}], ANSWER)),
        ["weather -"],
        ["warm", ""],
    ),
    "langfuse: a conversation that began before the trace": Probe(
        "langfuse",
        trace(model(1, [ASKED, {"role": "assistant", "content": "In which Rome?"}, {"role": "user", "content": "In Italy."}], ANSWER)),
        ["- -"],
        ["In Italy.", ""],
    ),
    "langfuse: states of a ReAct agent that tell each call several times": Probe(
        "langfuse",
        trace(
            observation("GENERATION", 1, "chat.start", input=[ASKED], output=None),
            state(2, None, "None", None),
            state(3, "weather", "{'city': 'Rome'}", None),
            state(4, "weather", "{'city': 'Rome'}", [{"sky": "clear", "wind": {"east": 3}}]),
            state(5, "weather", "{'city': 'Rome'}", [{"sky": "clear", "wind": {"east": 3}}]),
            state(6, "weather", "{'city': 'Rome'}", [{"sky": "grey"}]),
            state(7, None, "None", "It clouds over."),
        ),
        ["weather weather -"],
        ['[{"sky": "clear", "wind": {"east": 3}}]', '[{"sky": "grey"}]', ""],
    ),
    "langfuse: a prompt under a strange name": Probe(
        "langfuse",
        trace(observation("GENERATION", 1, "model", asked=[ASKED], output=TOLD), ran(2, "weather", '{"city": "Rome"}', "warm")),
        ["weather"],
        ["warm"],
        left_out={"field asked of an observation without input or output": 1},
    ),
}  # fmt: skip

OTHERS = {
    "who-and-when: a terminal without any code to run": Probe(
        "who-and-when",
        chat(("A", "Let us think first."), ("Computer_terminal", IDLE), ("B", BLOCK), ("Computer_terminal", "exitcode: 0\n1"), ("A", BLOCK), ("Computer_terminal", IDLE)),
        ["- python -"],
        [IDLE, "exitcode: 0\n1", IDLE],
    ),
    "swe-agent: two texts after an action, and no action": Probe(
        "swe-agent",
        orjson.dumps({"history": [{"role": "user", "content": "Fix"}, {"role": "assistant", "content": "ls", "action": "ls"}, {"role": "user", "content": "a.py"}, {"role": "user", "content": "Mind the time."}, {"role": "assistant", "content": "submit", "action": "submit"}]}),
        ["bash bash"],
        ["a.py\nMind the time.", ""],
    ),
    "swe-agent: an action that is null, the task in its messages": Probe(
        "swe-agent",
        lines({"trajectory": [{"action": None, "observation": "Use a command.", "response": "Hm", "thought": "Hm", "messages": [{"role": "user", "content": "Fix"}]}, {"action": "ls", "observation": "a.py"}], "info": {}}),
        ["bash"],
        ["Use a command.", "a.py"],
    ),
    "toolbench: a branch that was given up": Probe(
        "toolbench",
        lines({"win": True, "tree": {"tree": {"node_type": "Action Input", "description": "", "children": [branch("pay", "{}", branch("Finish", '{"return_type": "give_up"}')), branch("send", "{}")]}}, "answer_generation": {"query": "Go", "train_messages": []}}),
        ["pay Finish send"],
        left_out={"call of a branch that the agent gave up (read as well)": 2},
    ),
    "pi: an answer that was stopped, without a request and after one": Probe(
        "pi",
        lines(
            {"type": "session", "id": "s", "cwd": "/x"},
            *({"type": "message", "message": {"role": role, "content": content}} for role, content in (("user", [{"type": "text", "text": "/mode"}]), ("assistant", []), ("user", [{"type": "text", "text": "Read it"}]), ("assistant", []), ("user", [{"type": "text", "text": "Go on"}]), ("assistant", [{"type": "text", "text": "Done."}]))),
        ),
        ["-", "-"],
        ["", ""],
    ),
    "gemini-cli: a result in a list of lists": Probe(
        "gemini-cli",
        lines({"sessionId": "s", "projectHash": "h", "messages": [{"id": "1", "type": "user", "content": "Read"}, {"id": "2", "type": "gemini", "content": "", "toolCalls": [{"id": "c", "name": "read", "args": {}, "result": [[{"functionResponse": {"response": {"output": "text"}}}]]}]}]}),
        ["read"],
        ["text"],
    ),
    "codex: arguments that are not JSON": Probe(
        "codex",
        rollout({"type": "function_call", "name": "shell", "arguments": '{"command":["ls"', "call_id": "c1"}, {"type": "function_call_output", "call_id": "c1", "output": "failed to parse"}),
        ["shell"],
        ["failed to parse"],
    ),
    "jsonl: arguments of a call under a strange name": Probe(
        "jsonl",
        lines({"task_id": "t", "instruction": "Pay", "steps": [{"action": {"name": "pay", "given": {"n": 1}}, "observation": "paid"}]}),
        ["pay"],
        left_out={"field of a call that is none of name and arguments": 1},
    ),
    "codex: arguments of a server's tool under a strange name": Probe(
        "codex",
        lines({"type": "thread.started", "thread_id": "s"}, {"type": "item.completed", "item": {"id": "1", "type": "mcp_tool_call", "server": "shop", "tool": "pay", "given": {"n": 1}, "status": "completed"}}),
        ["mcp__shop__pay"],
        left_out={"call without its arguments": 1},
    ),
    "openai: calls that are tags in the text": Probe(
        "openai-messages",
        lines({"messages": [ASKED, {"role": "assistant", "content": "I look.\n<execute_command>\n<command>rm -r build</command>\n</execute_command>"}]}),
        ["-"],
        left_out={"call of execute_command written as tags (it stays in the text)": 1},
    ),
    "openai: words and items under strange names": Probe(
        "openai-messages",
        lines({"messages": [ASKED, {"role": "assistant", "tool_calls": [CALL], "said": "I look up the weather in Rome."}, tool("warm")], "more": [ASKED]}),
        ["weather"],
        ["warm"],
        left_out={"list more of messages or items": 1, "message without its content": 1},
    ),
}  # fmt: skip

SHELL = {"kind": "terminal", "commandLine": {"original": "rm -r build"}}
CALL_ROUNDS = {
    "toolCallRounds": [
        {
            "response": "I look.",
            "thinking": {"text": "Where?"},
            "toolCalls": [{"id": "c1__vscode-1", "name": "read_file", "arguments": '{"filePath": "a"}'}],
        },
        {"response": "Read.", "toolCalls": []},
    ],
    "toolCallResults": {"c1__vscode-1": {"content": [{"value": {"node": {"children": [{"text": "import os"}]}}}]}},
}


def invoked(call_id: str, tool_id: str, **more: Any) -> dict:
    told = {"invocationMessage": {"value": "Reads a"}, "isComplete": True, "isConfirmed": {"type": 1}}
    return {"kind": "toolInvocationSerialized", "toolCallId": call_id, "toolId": tool_id} | told | more


RESPONSE = [
    {"kind": "thinking", "value": "Where?"},
    {"value": "I look."},
    invoked("c1", "copilot_readFile", isConfirmed={"type": 4}),
    {"value": "Read."},
]
REQUESTS = [
    {"message": {"text": "Read a"}, "response": RESPONSE, "result": {"metadata": CALL_ROUNDS}},
    {
        "message": {"text": "Now clean up"},
        "response": [
            {"value": "I clean."},
            invoked("c2", "run_in_terminal", isConfirmed={"type": 0}, toolSpecificData=SHELL),
            {"kind": "confirmation"},
        ],
        "result": {},
    },
]
PART = {"id": "p", "messageID": "m1", "type": "tool", "callID": "c1", "tool": "bash"}
STATE = {"status": "completed", "input": {"command": "ls"}, "output": "a.py"}


SPAN = {"name": "pay", "parent_id": None, "start_time": "2026-01-02T03:04:05Z", "status": {"status_code": "UNSET"}}
PLACE = {"trace_id": "0xa", "span_id": "0xb"}
RAN = {"openinference.span.kind": "TOOL", "tool.name": "pay", "input.value": '{"n": 1}', "output.value": "paid"}
MESSAGES = [
    {
        "message.role": "assistant",
        "message.tool_calls": [{"tool_call.function.name": "pay", "tool_call.function.arguments": '{"n": 1}'}],
    }
]
MODEL = {
    "openinference.span.kind": "LLM",
    "llm.input_messages": [{"message.role": "user", "message.content": "Pay"}],
    "llm.output_messages": MESSAGES,
}


def of_mlflow(kind: str, given: Any, shown: Any) -> dict:
    told = {"spanType": kind, "spanInputs": given, "spanOutputs": shown}
    return {
        "name": "pay",
        "span_id": kind,
        "start_time_unix_nano": 1,
        "attributes": {f"mlflow.{name}": text(value) for name, value in told.items()},
    }


def spoken(role: str, *parts: dict) -> dict:
    return {"info": {"id": role, "role": role, "sessionID": "s"}, "parts": list(parts)}


DETAILS = "<environment_details>\n# Current Mode\nACT MODE\n</environment_details>"


def said(role: str, *texts: str) -> dict:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


SESSIONS = {
    "copilot chat: an export": Probe(
        "copilot-chat",
        orjson.dumps({"responderUsername": "GitHub Copilot", "requests": REQUESTS}),
        ["read_file -", "run_in_terminal"],
        ["import os", "", ""],
        left_out={"part of kind confirmation": 1},
        decisions=2,
    ),
    "copilot chat: a log of changes": Probe(
        "copilot-chat",
        lines(
            {"kind": 0, "v": {"version": 3, "sessionId": "s", "requests": []}},
            {"kind": 2, "k": ["requests"], "v": [REQUESTS[0] | {"response": [], "result": {}}]},
            {"kind": 2, "k": ["requests", 0, "response"], "v": [*RESPONSE[:2], {"value": "gone"}]},
            {"kind": 2, "k": ["requests", 0, "response"], "i": 2, "v": RESPONSE[2:]},
            {"kind": 1, "k": ["requests", 0, "result"], "v": REQUESTS[0]["result"]},
            {"kind": 1, "k": ["customTitle"], "v": "a"},
        ),
        ["read_file -"],
        ["import os", ""],
        decisions=1,
    ),
    "copilot chat: a call that shows no arguments": Probe(
        "copilot-chat",
        orjson.dumps({"requests": [{"message": "Read a", "response": [invoked("c1", "copilot_readFile", pastTenseMessage="Read a")]}]}),
        ["copilot_readFile"],
        ["Read a"],
        left_out={"call without its arguments (its message is kept)": 1},
    ),
    "copilot cli: a session": Probe(
        "copilot-cli",
        lines(
            {"type": "session.start", "data": {"sessionId": "s", "context": {"cwd": "/w"}}},
            {"type": "user.message", "data": {"content": "Go"}},
            {"type": "assistant.message", "data": {"content": "So.", "toolRequests": [{"toolCallId": "c1", "name": "bash", "arguments": {"command": "ls"}}]}},
            {"type": "tool.execution_start", "data": {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "ls"}}},
            {"type": "tool.execution_complete", "data": {"toolCallId": "c1", "success": True, "result": {"content": "a.py"}}},
            {"type": "tool.execution_start", "data": {"toolCallId": "c2", "toolName": "view", "arguments": {"path": "a.py"}}},
            {"type": "tool.execution_complete", "data": {"toolCallId": "c2", "success": False, "error": {"message": "no"}}},
            {"type": "assistant.message_delta", "data": {"deltaContent": "Do"}},
            {"type": "assistant.message", "data": {"content": "Done.", "toolRequests": []}},
            {"type": "user.shrugged", "data": {}},
        ),
        ["bash view -"],
        ["a.py", "no", ""],
        left_out={"event of type user.shrugged": 1},
    ),
    "cline: calls in tags, a result over two texts, feedback": Probe(
        "cline",
        orjson.dumps(
            [
                said("user", "<task>\nGreet\n</task>", DETAILS),
                said("assistant", "I write.\n<write_to_file>\n<path>a</path>\n<content>\n<b>x</b>\n</content>\n</write_to_file>\n<read_file>\n<args><file><path>a</path></file><file><path>b</path></file></args>\n</read_file>"),
                said("user", "[write_to_file for 'a'] Result:", "saved", "<feedback>\nNow test\n</feedback>", "Tool [read_file] was not executed because", DETAILS),
                said("assistant", '<use_mcp_tool>\n<server_name>s</server_name>\n<arguments>\n{"n": 1}\n</arguments>\n</use_mcp_tool>'),
                said("user", "[use_mcp_tool for 's'] Result:\nsent", DETAILS),
                said("assistant", "<execute_command>\n<command>rm"),
            ]
        ),
        ["write_to_file read_file", "use_mcp_tool -"],
        ["saved", "Tool [read_file] was not executed because", "sent", ""],
        left_out={"call of execute_command written as tags without an end (it stays in the text)": 1},
    ),
    "cline: native calls with results as texts": Probe(
        "cline",
        orjson.dumps(
            [
                said("user", "<task>\nGreet\n</task>", "# task_progress RECOMMENDED", DETAILS),
                {"role": "assistant", "content": [{"type": "text", "text": "A <read_file>\n<path>x</path></read_file>"}, *({"type": "tool_use", "id": name, "name": name, "input": {"path": "a"}} for name in ("read_file", "list_files"))]},
                said("user", "[list_files for 'a'] Result:\nb", "[read_file for 'a'] Result:\ntext", DETAILS),
                {"role": "assistant", "content": "Done."},
            ]
        ),
        ["read_file list_files -"],
        ["text", "b", ""],
    ),
    "opencode: an export": Probe(
        "opencode",
        orjson.dumps(
            {
                "info": {"id": "s", "directory": "/w"},
                "messages": [
                    spoken("user", {"type": "text", "text": "List"}, {"type": "text", "synthetic": True, "text": "Called the Read tool"}, {"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{PNG}"}),
                    spoken("assistant", {"type": "reasoning", "text": "Hm"}, {"type": "text", "text": "I list."}, PART | {"state": STATE}, PART | {"callID": "c2", "tool": "edit", "state": {"status": "error", "input": {}, "error": "no"}}, PART | {"callID": "c3", "state": {"status": "running", "input": {"command": "x"}}}, {"type": "hologram"}),
                ],
            }
        ),
        ["bash edit bash"],
        ["a.py", "no", ""],
        left_out={"part of type hologram": 1},
        pictures=1,
    ),
    "opencode: the stream of a run": Probe(
        "opencode",
        lines(*({"type": kind, "timestamp": 1, "sessionID": "s", "part": part} for kind, part in (("step_start", {"type": "step-start"}), ("tool_use", PART | {"state": STATE}), ("text", {"messageID": "m2", "type": "text", "text": "There."})))),
        ["bash -"],
        ["a.py", ""],
    ),
    "gemini cli: the stream of a run": Probe(
        "gemini-cli",
        lines(
            {"type": "init", "session_id": "s", "model": "m"},
            {"type": "message", "role": "user", "content": "List"},
            {"type": "message", "role": "assistant", "content": "I ", "delta": True},
            {"type": "message", "role": "assistant", "content": "list.", "delta": True},
            {"type": "tool_use", "tool_name": "glob", "tool_id": "g1", "parameters": {"pattern": "*"}},
            {"type": "tool_use", "tool_name": "read", "tool_id": "g2", "parameters": {"path": "a"}},
            {"type": "tool_result", "tool_id": "g1", "status": "success", "output": "a.py"},
            {"type": "tool_result", "tool_id": "g2", "status": "error", "error": {"type": "x", "message": "no"}},
            {"type": "message", "role": "assistant", "content": "Two.", "delta": True},
            {"type": "error", "severity": "warning", "message": "loop"},
            {"type": "result", "status": "success", "stats": {}},
        ),
        ["glob read -"],
    ),
    "gemini cli: arguments only in the content, a result only for the screen": Probe(
        "gemini-cli",
        lines(
            {"sessionId": "s", "projectHash": "h"},
            {"id": "1", "type": "user", "content": "Go"},
            {"id": "2", "type": "gemini", "content": [{"functionCall": {"id": "x", "name": "pay", "args": {"n": 1}}}], "toolCalls": [{"id": "y", "name": "pay", "resultDisplay": "paid"}]},
        ),
        ["pay"],
        ["paid"],
    ),
    "langsmith: runs and their changes in batches": Probe(
        "langsmith",
        lines(
            {"post": [{"id": "r", "trace_id": "r", "dotted_order": "1", "run_type": "chain", "name": "x", "inputs": {}}, {"id": "t", "trace_id": "r", "parent_run_id": "r", "dotted_order": "1.2", "run_type": "tool", "name": "pay", "inputs": {"n": 1}}]},
            {"patch": [{"id": "t", "trace_id": "r", "dotted_order": "1.2", "outputs": {"output": "paid"}, "error": None}]},
        ),
        ["pay"],
        ["paid"],
    ),
    "otel: spans as an SDK prints them": Probe("otel", lines(SPAN | {"context": PLACE, "attributes": RAN}), ["pay"], ["paid"]),
    "otel: a span that failed": Probe(
        "otel",
        lines(SPAN | {"context": PLACE, "status": {"status_code": "ERROR", "description": "no money"}, "attributes": RAN | {"output.value": ""}}),
        ["pay"],
        ["no money"],
    ),
    "otel: nested attributes of Phoenix": Probe(
        "otel",
        orjson.dumps({"data": [SPAN | {"context": PLACE, "attributes": {"openinference": {"span": {"kind": "TOOL"}}, "tool": {"name": "pay"}, "input": {"value": "{}"}, "output": {"value": "paid"}}}]}),
        ["pay"],
        ["paid"],
    ),
    "otel: a table of Phoenix": Probe(
        "otel",
        orjson.dumps([SPAN | {f"context.{key}": value for key, value in PLACE.items()} | {f"attributes.{key}": value for key, value in told.items()} for told in (MODEL, RAN)]),
        ["pay"],
        ["paid"],
    ),
    "otel: a trace of MLflow": Probe(
        "otel",
        orjson.dumps({"info": {"trace_id": "tr"}, "data": {"spans": [of_mlflow("CHAT_MODEL", {"messages": [ASKED]}, {"choices": [{"message": calls(function("pay", '{"n": 1}'))}]}), of_mlflow("TOOL", {"n": 1}, "paid")]}}),
        ["pay"],
        ["paid"],
    ),
    "inspect: a log of 2024 with its attachments in the transcript": Probe(
        "inspect",
        orjson.dumps(
            {
                "status": "success",
                "eval": {"task": "t"},
                "samples": [
                    {
                        "id": 1,
                        "epoch": 1,
                        "input": "Look",
                        "messages": [{"role": "user", "content": [{"type": "image", "image": "tc://a"}, {"type": "text", "text": "tc://b"}]}, {"role": "assistant", "content": "Grey."}],
                        "transcript": {"events": [], "content": {"a": f"data:image/png;base64,{PNG}", "b": "Look"}},
                    }
                ],
            }
        ),
        ["-"],
        pictures=1,
    ),
    "openhands: the newest events": Probe(
        "openhands",
        lines(
            {"kind": "SystemPromptUpdateEvent", "source": "agent", "timestamp": "t", "system_prompt": {"type": "text", "text": "Be exact."}},
            {"kind": "MessageEvent", "source": "user", "timestamp": "t", "llm_message": {"role": "user", "content": [{"text": "Go"}]}},
            {"kind": "ActionEvent", "id": "e1", "source": "agent", "timestamp": "t", "action": {"kind": "TerminalAction", "command": "ls"}},
            {"kind": "ObservationEvent", "source": "environment", "timestamp": "t", "action_id": "e1", "observation": {"output": "a.py"}},
            {"kind": "ConversationStateUpdateEvent", "timestamp": "t", "key": "execution_status", "value": "running"},
            {"kind": "ActionEvent", "id": "e2", "source": "agent", "timestamp": "t", "tool_name": "finish", "tool_call_id": "c2", "action": {"kind": "FinishAction", "message": "Done."}},
            {"kind": "ObservationEvent", "source": "environment", "timestamp": "t", "tool_name": "finish", "tool_call_id": "c2", "observation": {"content": []}},
        ),
        ["Terminal -"],
        ["a.py", ""],
        left_out={"event of kind ConversationStateUpdateEvent": 1},
    ),
}  # fmt: skip

FURTHER: dict[str, Probe] = {**LANGFUSE, **OTHERS, **SESSIONS}
