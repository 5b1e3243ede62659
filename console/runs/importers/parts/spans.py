"""Spans of a trace, the export form of observability tools: model calls and tool runs in order of time.

Each call appears once, even if the model's answer, later prompts and the call's own span all contain it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, LoggedCall, Turn, join_thoughts
from console.runs.importers.parts.intake import Intake, plain_list, plain_object
from console.runs.importers.parts.message_parts import read_turns, result_text
from console.runs.importers.parts.written_calls import read_written_calls

_HOLDING = (
    *("messages", "input", "output", "contents", "choices", "generations", "candidates"),
    *("message", "content"),
)
"""The fields with the messages of a span, most specific first."""
_ASKING = (*_HOLDING, "prompt", "prompts", "question", "query", "args", "kwargs")
"""Those fields of what a model was asked; functions that call a model have positional and named arguments."""
_RUNS = re.compile(r"^(?:execute_tool |running tool: ?|tool[.:] ?|tool call: ?|function: ?|ai\.toolCall )", re.I)
_TOOL_NAMES = (
    *("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "lk.function_tool.name", "traceloop.entity.name"),
)
_TOOL_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id", "lk.function_tool.id")
_TOOL_ASKED = (
    *("gen_ai.tool.call.arguments", "tool.parameters", "input.value", "tool_arguments"),
    *("ai.toolCall.args", "ai.toolCall.input", "lk.function_tool.args", "traceloop.entity.input"),
    *("gcp.vertex.agent.tool_call_args", "mlflow.spanInputs", "input"),
)
_TOOL_GIVEN = (
    *("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "output.value", "tool_response"),
    *("ai.toolCall.result", "ai.toolCall.output", "lk.function_tool.output", "traceloop.entity.output"),
    *("mlflow.spanOutputs", "output"),
)
"""The attributes of a tool's span for name, call id, arguments and result, each in order of frequency."""
_OBSERVED = re.compile(
    r"^Observation:[ \t]*(.*?)[ \t]*(?=\n(?:Thought|Action|Final Answer|Observation):|\Z)", re.MULTILINE | re.DOTALL
)
_PARTS = frozenset({"text", "toolUse", "toolResult"})
_PART_TYPES = frozenset({"text", "tool_use", "tool_result", "tool-call", "tool-result", "thinking", "image"})
_PLAIN_CALL = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})
_WRAPPERS = ("input", "arguments", "args", "kwargs", "tool_input", "parameters")
_RESULT_WRAPPER = frozenset({"content", "isError", "is_error", "meta", "_meta", "structuredContent"})
MODEL_SPAN, TOOL_SPAN = "model", "tool"


@dataclass(frozen=True, slots=True)
class LoggedSpan:
    """A model's span with its messages and answer (`asked`, `given`), or a tool's span with its input and output."""

    kind: str
    name: str
    start: str
    asked: Any = None
    given: Any = None
    call_id: str = ""
    speaker: str = ""
    error: str = ""
    number: int = 0
    line: int = 0


def turns_of_spans(spans: Sequence[LoggedSpan], intake: Intake) -> list[Turn]:
    """Return the conversation of a trace; calls without a span and spans without a call both become turns."""
    trace = _Trace(intake, frozenset(span.call_id for span in spans if span.kind == TOOL_SPAN and span.call_id))
    for span in sorted(spans, key=lambda span: (span.start, span.number)):
        intake.at = span.line
        if span.kind == TOOL_SPAN:
            trace.run(span)
        else:
            trace.ask(span)
    return list(join_thoughts(trace.turns))


def tool_name(name: str) -> str:
    """Return the tool's name from a span's name such as `tool.X`, `execute_tool X` or `running tool: X`."""
    return _RUNS.sub("", name).strip("'\"") or name


def first_of(told: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the value of the first named attribute with a value, or None."""
    return next((told[name] for name in names if told.get(name) is not None), None)


def tool_attributes(told: Mapping[str, Any]) -> tuple[str, Any, Any, str]:
    """Return (name, arguments, result, id of the call) from the attributes of a tool's span; "" or None if missing."""
    name, call_id = first_of(told, _TOOL_NAMES) or "", first_of(told, _TOOL_IDS) or ""
    return str(name), first_of(told, _TOOL_ASKED), first_of(told, _TOOL_GIVEN), str(call_id)


def _unwrapped(value: Any) -> Any:
    """Return a tool's arguments without wrapper objects, whose only key is `input` or a similar name."""
    given = unpack_json(value)
    if isinstance(given, list) and len(given) == 1 and plain_object(given[0]).get("role") == TOOL:
        given = unpack_json(given[0].get("content"))
    if isinstance(given, dict) and {"kwargs"} < given.keys() <= _PLAIN_CALL and not given.get("args"):
        given = {"kwargs": given["kwargs"]}
    while isinstance(given, dict) and len(given) == 1:
        ((name, held),) = given.items()
        if name not in _WRAPPERS or not isinstance(inner := unpack_json(held), dict):
            break
        given = inner
    return given


def unpack_json(value: Any) -> Any:
    """Return the value of a JSON text, decoded up to three times, since some exporters nest it; keep other values."""
    for _ in range(3):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            break
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            break
    return value


_OFFERED = ("gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools", "llm.tools", "tools")
"""The attributes with the list of tools offered to a model."""
_OFFERED_ONE = re.compile(
    r"(?:llm\.tools\.(\d+)\.tool\.json_schema|llm\.request\.functions\.(\d+)\.(name|description|parameters))$"
)


def list_offered_tools(spans: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the tools listed in the spans' attributes, in the dialect of the log, tools with parameters last.

    A tool's span with a description also offers its tool. If several tools have one name, the last counts.
    """
    found = (tool for told in spans for tool in _offered_in(told) if isinstance(tool, dict) and tool)
    return sorted(found, key=lambda tool: bool({"function", "parameters", "inputSchema", "input_schema"} & tool.keys()))


def _offered_in(told: Mapping[str, Any]) -> list[Any]:
    found = [_plain_tool(one) for name in _OFFERED for one in plain_list(unpack_json(told.get(name)))]
    numbered: dict[str, dict[str, Any]] = {}
    for name, value in told.items():
        if match := _OFFERED_ONE.match(name):
            if match[1]:
                found.append(_plain_tool(value))
            else:
                numbered.setdefault(match[2], {})[match[3]] = unpack_json(value) if match[3] == "parameters" else value
    found += numbered.values()
    if isinstance(description := told.get("gen_ai.tool.description"), str) and told.get("gen_ai.tool.name"):
        found.append({"name": told["gen_ai.tool.name"], "description": description})
    return found


def _plain_tool(offered: Any) -> Any:
    """Return a tool without OpenInference's wrappers."""
    tool = plain_object(unpack_json(offered))
    inner = plain_object(tool.get("tool")) or tool
    return unpack_json(inner.get("json_schema", inner.get("tool.json_schema", inner)))


class _Trace:
    def __init__(self, intake: Intake, run_ids: frozenset[str]) -> None:
        self.intake = intake
        self.run_ids = run_ids
        self.turns: list[Turn] = []
        self.said: set[tuple[str, str]] = set()
        self.called: list[LoggedCall] = []
        self.known: set[str | tuple[str, bytes]] = set()
        self.asked: set[bytes] = set()
        self.unrun: list[LoggedCall] = []
        self.answered: set[str] = set()
        self.unmade = 0
        self.answering = False

    def ask(self, span: LoggedSpan) -> None:
        """Add a model's span: the new messages in the prompt, then the model's answer."""
        for message in _messages(span.asked, "user"):
            raw = orjson.dumps(message, default=str)
            if raw not in self.asked:
                self.asked.add(raw)
                for turn in read_turns([self._with_role(message)], self.intake, span.number):
                    self._recall(turn)
        self.answering = True
        for message in _messages(span.given, AGENT):
            for turn in read_turns([message], self.intake, span.number):
                self._add(replace(turn, speaker=turn.speaker or span.speaker) if turn.role == AGENT else turn)
        if span.error:
            self.intake.leave_out("error of a model's span")

    def _with_role(self, message: Any) -> Any:
        """Return the message with the role of a tool if the message's role is the name of a called tool."""
        is_named = isinstance(message, dict) and any(call.name == message.get("role") for call in self.called)
        return {**message, "role": TOOL} if is_named else message

    def run(self, span: LoggedSpan) -> None:
        """Add a tool's span as the result of a model's call, or as a separate call with its result."""
        span = replace(span, name=tool_name(span.name))
        given = _unwrapped(span.asked)
        text, pictures = result_text(_told(span.given), self.intake)
        text = "\n".join(filter(None, [text, span.error]))
        call = self._written(span, given)
        if call is None:
            self.unmade += 1
            fresh = span.call_id and span.call_id not in self.known
            call = LoggedCall(span.name, given, span.call_id if fresh else f"span {self.unmade}")
            self.turns.append(Turn(AGENT, calls=(call,), speaker=span.speaker, number=span.number))
            self._know(call)
        if call.id not in self.answered and (text or pictures or span.given is not None):
            self.answered.add(call.id)
            self.turns.append(Turn(TOOL, text, answers=call.id, pictures=tuple(pictures), number=span.number))

    def _written(self, span: LoggedSpan, given: Any) -> LoggedCall | None:
        """Return the model's call that the span ran, matched by id, else by name and arguments, else by name alone."""
        # Some models number the calls of each turn from 1 again, so a call that ran is not run again under its id.
        found = next((call for call in self.unrun if span.call_id and call.id == span.call_id), None)
        if found is None and span.call_id not in self.known:
            # Some frameworks give the span an id of its own; then only calls without a span of their id can be meant.
            same = [call for call in self.unrun if call.name == span.name and call.id not in self.run_ids]
            wanted = _same(given)
            fits = next((call for call in same if _same(call.arguments) == wanted), None)
            is_only = same and (given in (None, "", {}) or len(same) == 1)
            found = fits or (same[0] if is_only and not span.call_id else None)
            if found is None and given and not any(call.name == span.name for call in self.called):
                # Some tools name each span of a tool alike, whichever tool ran.
                found = next((call for call in self.unrun if _same(call.arguments) == wanted), None)
        self.unrun = [call for call in self.unrun if call is not found]
        return found

    def _recall(self, turn: Turn) -> None:
        if turn.role == TOOL:
            if read_written_calls(turn.text):
                # Some frameworks tell the model's call as a message of the tool.
                return
            open_call = next((call.id for call in self.called if call.id not in self.answered), "")
            call_id = turn.answers or open_call
            if call_id and call_id not in self.answered:
                self.answered.add(call_id)
                self.turns.append(replace(turn, answers=call_id))
        elif turn.role == AGENT and turn.calls:
            for seen in _OBSERVED.findall(turn.text):
                # A prompt in the style of ReAct repeats the agent's text with the result behind each call.
                self._recall(Turn(TOOL, seen, number=turn.number))
            named = ((call, call.id or (call.name, _same(call.arguments))) for call in turn.calls)
            fresh = tuple(call for call, key in named if key not in self.known)
            if fresh:
                self._add(replace(turn, calls=fresh))
        elif turn.role == AGENT:
            if not self.answering and (turn.role, turn.text) not in self.said:
                # What the agent said before the trace begins.
                self.said.add((turn.role, turn.text))
                self.turns.append(turn)
        elif (turn.role, turn.text) not in self.said and (turn.role != SYSTEM or not self.called):
            self.said.add((turn.role, turn.text))
            self.turns.append(turn)

    def _know(self, call: LoggedCall) -> None:
        self.called.append(call)
        self.known |= {call.id, (call.name, _same(call.arguments))}

    def _add(self, turn: Turn) -> None:
        calls = []
        for call in turn.calls:
            self.unmade += not call.id
            calls.append(call if call.id else replace(call, id=f"span {self.unmade}"))
        for call in calls:
            self._know(call)
            self.answered.discard(call.id)
        self.unrun += calls
        if turn.role == TOOL:
            self.answered.add(turn.answers)
        self.turns.append(replace(turn, calls=tuple(calls)))


def _messages(value: Any, role: str) -> Iterator[Any]:
    """Yield the messages in a value; convert contents that are JSON texts of parts to parts."""
    for message in _found_messages(value, role):
        parts = unpack_json(message.get("content")) if isinstance(message, dict) else None
        is_text = parts is not None and isinstance(message["content"], str)
        yield {**message, "content": parts} if is_text and _are_parts(parts) else message


def _are_parts(value: Any) -> bool:
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return False
    return all(str(one["type"]) in _PART_TYPES if "type" in one else _PARTS & one.keys() for one in value)


def _found_messages(value: Any, role: str) -> Iterator[Any]:
    value = unpack_json(value)
    if isinstance(value, str):
        if value:
            yield {"role": role, "content": value}
    elif isinstance(value, list):
        for one in value:
            yield from _found_messages(one, role) if isinstance(one, (list, str)) else [_as_message(one, role)]
    elif isinstance(value, dict):
        yield from _of_object(value, role)


def _of_object(value: dict[str, Any], role: str) -> Iterator[Any]:
    kinds = ("ai", "human", "system", "tool", "constructor", "function_call")
    if "role" in value or value.get("type") in kinds or _is_chat(value):
        yield value
        return
    holders, names = (value, plain_object(value.get("config"))), ("system", "instructions", "system_instruction")
    policy = next(filter(None, (holder.get(name) for holder in holders for name in names)), None)
    if role != AGENT and policy and isinstance(policy, (str, list)):
        yield {"role": SYSTEM, "content": policy}
    for name in _HOLDING if role == AGENT else _ASKING:
        held = unpack_json(value.get(name))
        if (isinstance(held, (list, dict)) and (held or name not in _ASKING[-2:])) or (isinstance(held, str) and held):
            yield from _found_messages(held, role)
            return
    if value.get("tool_calls") or value.get("toolCalls") or isinstance(value.get("text"), str):
        yield _as_message(value, role)


def _is_chat(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("type"), str) and one["type"].endswith("Message")


def _as_message(value: Any, role: str) -> Any:
    """Return a list element (a message with role or type, a choice, or a single part) as a message."""
    one = plain_object(value)
    if isinstance(one.get("message"), dict):
        return one["message"]
    if isinstance(one.get("message"), str) and "content" not in one and _are_parts(unpack_json(one["message"])):
        return {"role": role, "content": one["message"]}
    if isinstance(one.get("toolCalls"), list) and "tool_calls" not in one:
        one = {"role": role, "content": one.get("text"), **one, "tool_calls": one["toolCalls"]}
        return {key: held for key, held in one.items() if key != "toolCalls"}
    if isinstance(one.get("content"), dict) and "parts" in one["content"]:
        return {"role": role, **one["content"]}
    kinds = ("ai", "human", "system", "tool", "constructor", "message")
    if "role" in one or "source" in one or one.get("type") in kinds or _is_chat(one):
        return one
    if "type" not in one and "parts" not in one and isinstance(one.get("text"), str):
        return {"role": role, "content": one["text"]}
    if "type" not in one and "toolName" in one:
        return {"role": role, "content": [{"type": "tool-call", **one}]}
    if "type" not in one:
        return {"role": role, **one}
    kind = one["type"]
    is_item = isinstance(kind, str) and ("call_id" in one or kind == "reasoning" or kind.endswith("_call"))
    return one if is_item else {"role": role, "content": [one]}


def _told(value: Any) -> Any:
    """Return the content of a tool's result; keep a JSON text without parts unchanged."""
    content = _content(_shown(value))
    is_same = isinstance(value, str) and content == unpack_json(value)
    is_parts = isinstance(content, list) and all(isinstance(one, dict) and "type" in one for one in content)
    return value if is_same and isinstance(content, (dict, list)) and not is_parts else content


def _shown(value: Any) -> Any:
    """Return the parts of a result that is a list with one message of JSON text; return other results unchanged."""
    held = unpack_json(value)
    one = plain_object(held[0]) if isinstance(held, list) and len(held) == 1 else {}
    parts = unpack_json(one.get("message"))
    return parts if isinstance(one.get("message"), str) and _are_parts(parts) else value


def _content(value: Any) -> Any:
    value = unpack_json(value)
    inner = value.get("kwargs", value.get("data", value)) if isinstance(value, dict) else value
    if isinstance(inner, dict) and "content" in inner and {"tool_call_id", "type", "role"} & inner.keys():
        return inner["content"]
    if isinstance(value, dict) and value.keys() <= _RESULT_WRAPPER and isinstance(value.get("content"), list):
        return value["content"]
    if isinstance(value, dict) and value.keys() == {"output"}:
        return _content(value["output"])
    return value


def _same(value: Any) -> bytes:
    return orjson.dumps(unpack_json(value), option=orjson.OPT_SORT_KEYS, default=str)
