"""OpenTelemetry traces with GenAI or OpenInference conventions: OTLP JSON, and spans as SDKs, Phoenix and MLflow write.

OTLP JSON has a batch per line or an object per file. The other forms are one span per object, or a trace of MLflow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.environments import ENVIRONMENTS
from console.runs.importers.parts.conversation import entry_of, restore_export
from console.runs.importers.parts.intake import Intake, plain_list, plain_object, word
from console.runs.importers.parts.json_records import Record, group_records, objects
from console.runs.importers.parts.rewards import trial_of
from console.runs.importers.parts.sessions import locate_entry
from console.runs.importers.parts.spans import (
    MODEL_SPAN,
    TOOL_SPAN,
    LoggedSpan,
    first_of,
    list_offered_tools,
    tool_attributes,
    turns_of_spans,
    unpack_json,
)
from console.runs.importers.records import Entry, Importer, Progress

_NAME = "otel"
_OWN = "inferact."
"""Prefix of the attributes in the console's own export."""
_BARE = ((".gen_ai.operation.name",), (".openinference.span.kind",))
"""Field paths of records that consist of a span's attributes without the span."""
_PLAIN = ((".context.trace_id", ".context.span_id"), (".info", ".data.spans"))
"""Field paths of a span as an SDK or Phoenix writes, and of a trace of MLflow."""
_MARKS = ((".resourceSpans",), (".resource_spans",), (".scopeSpans",), (".traceId", ".spanId"), *_BARE, *_PLAIN)
_NESTED = frozenset({"llm", "tool", "input", "output", "openinference", "llm.input_messages", "llm.output_messages"})
_BATCHES = (("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"))
_MODELS = ("chat", "text_completion", "generate_content", "LLM")
_TOOLS = ("execute_tool", "TOOL")
_CHOICE = "gen_ai.choice"
_CONTENT = "gen_ai.event.content"
_MESSAGE = re.compile(r"gen_ai\.(?:system|user|assistant|tool)\.message$")
_HOLDING = ("invoke_agent", "create_agent", "invoke_workflow", "AGENT", "CHAIN")
_OF_MODELS = ("gen_ai.prompt", "gen_ai.output", "gen_ai.completion", "gcp.vertex.agent.llm_")
_OF_AGENTS = ("pydantic_ai.all_messages", "all_messages_events")
_WHOLE_ASKED = ("gcp.vertex.agent.llm_request", "mlflow.spanInputs")
_WHOLE_GIVEN = ("gcp.vertex.agent.llm_response", "mlflow.spanOutputs")
_ROOT_ASKED = ("mlflow.spanInputs", "input.value", "traceloop.entity.input")
_ROOT_GIVEN = ("mlflow.spanOutputs", "output.value", "traceloop.entity.output")
_MLFLOW = {"CHAT_MODEL": "LLM"}
_IN_EVENT = {"tool": "gen_ai.tool.call.arguments", "assistant": "gen_ai.tool.call.result"}
_INDEXED = re.compile(r"^(?:llm|gen_ai)\.(input_messages|output_messages|prompt|completion)\.(\d+)\.(.+)$")


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield each trace as one trajectory with its spans in order of time."""
    spans = (
        (str(span.get("traceId") or span.get("trace_id") or ""), record.line, span)
        for record in objects(path, progress, *_MARKS)
        for span in _spans(record.value)
    )
    for trace_id, records in group_records(spans, path):
        yield read_trace(path, trace_id, records, is_file=True)


def read_trace(path: Path, trace_id: str, records: Sequence[Record], *, is_file: bool = False) -> Entry:
    """Return the trajectory of one trace with its spans in order of time; a later version with more spans extends it.

    Attributes of the console's own export give the task, and in a file also its outcome and label.
    """
    intake = Intake(path, records[0].line, _NAME)
    facts = [(one, _attributes(one.value)) for one in records]
    agents = {str(one.value.get("spanId")): _agent(attributes) for one, attributes in facts}
    read_spans = [_span(one, attributes, agents, number, intake) for number, (one, attributes) in enumerate(facts, 1)]
    repeated = _repeated_by_children(records, read_spans)
    read_spans = [None if id(span) in repeated else span for span in read_spans]
    root = next((one.value for one in records if not one.value.get("parentSpanId")), records[0].value)
    if not any(span and span.kind == MODEL_SPAN for span in read_spans):
        read_spans += [_conversation(one, told, number) for number, (one, told) in enumerate(facts, 1)]
        if not any(span and span.kind == MODEL_SPAN for span in read_spans):
            read_spans += _exchange(facts, root)
    extra = {"name": root["name"]} if isinstance(root.get("name"), str) else {}
    last = facts[-1][1].get(f"{_OWN}observation")
    if last and read_spans[-1] is not None and read_spans[-1].kind == MODEL_SPAN:
        # What followed the agent's last words is in no later prompt.
        heard = {"role": "user", "content": last}
        read_spans[-1] = replace(read_spans[-1], given=[*plain_list(read_spans[-1].given), heard])
    own = next((told for _, told in facts if f"{_OWN}task_id" in told), {})
    told = {name.removeprefix(_OWN): value for name, value in own.items() if name.startswith(_OWN)}
    entry = entry_of(
        intake,
        turns_of_spans([*filter(None, read_spans)], intake),
        word(told.get("task_id")) or trace_id or None,
        instruction=told.get("instruction"),
        environment=told["environment"] if word(told.get("environment")) in ENVIRONMENTS else "generic",
        trial=trial_of(told.get("trial")),
        extra=extra,
        tools=list_offered_tools(attributes for _, attributes in facts),
    )
    known = {"label": told.get("gold_label"), "outcome": told.get("outcome")} if is_file else {}
    entry = restore_export(entry, {"opening": told.get("opening"), **known})
    return locate_entry(entry, trace_id, 1) if trace_id else entry


def _repeated_by_children(records: Sequence[Record], spans: Sequence[LoggedSpan | None]) -> set[int]:
    """Return the ids of model spans that contain another model span: two instrumentations recorded one request."""
    models = {
        str(one.value.get("spanId") or ""): (span, str(one.value.get("parentSpanId") or ""))
        for one, span in zip(records, spans, strict=True)
        if span and span.kind == MODEL_SPAN and span.given
    }
    return {id(models[parent][0]) for _, parent in models.values() if parent and parent in models}


def _spans(batch: Mapping[str, Any], level: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the spans of a batch, which nests spans in scopes and scopes in resources."""
    if "spanId" in batch:
        yield dict(batch)
        return
    if "context" in batch or "context.span_id" in batch:
        yield _plain_span(batch)
        return
    if held := _list(plain_object(batch.get("data")), "spans"):
        info = plain_object(batch.get("info"))
        trace = word(info.get("trace_id")) or word(info.get("request_id"))
        yield from (_plain_span(plain_object(one)) | ({"traceId": trace} if trace else {}) for one in held)
        return
    if any(mark[0][1:] in batch for mark in _BARE):
        yield {"spanId": "", "attributes": dict(batch)}
        return
    for names in _BATCHES[level:]:
        level += 1
        for held in _list(batch, *names):
            yield from _spans(plain_object(held), level)
    for span in _list(batch, "spans"):
        yield plain_object(span)


def _plain_span(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span of an SDK, of Phoenix (an object or a table's row) or of MLflow with the field names of OTLP."""
    cells = {name.removeprefix("attributes."): span[name] for name in span if name.startswith("attributes.")}
    told = {"trace_id": span.get("context.trace_id"), "span_id": span.get("context.span_id")}
    held = {**told, **span, **plain_object(span.get("context"))}
    status = plain_object(span.get("status"))
    code = status.get("code", status.get("status_code", span.get("status_code")))
    return {
        "traceId": held["trace_id"],
        "spanId": held["span_id"],
        "parentSpanId": held.get("parent_span_id") or held.get("parent_id"),
        "name": held.get("name"),
        "startTimeUnixNano": held.get("start_time_unix_nano") or held.get("start_time"),
        "endTimeUnixNano": held.get("end_time_unix_nano") or held.get("end_time"),
        "status": {
            "code": 2 if "ERROR" in str(code) else 0,
            "message": status.get("message") or status.get("description") or span.get("status_message"),
        },
        "attributes": dict(_flat(cells or attribute_values(span.get("attributes")))),
        "events": plain_list(span.get("events")),
    }


def _flat(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of the attributes; name each field of OpenInference's lists of messages by its path."""
    for name, value in attributes.items():
        yield from _leaves(name, value) if name in _NESTED else [(name, value)]


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(f"{name}.{key}", one)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _leaves(f"{name}.{place}", one)
    elif value is not None:
        yield name, value


def _list(holder: Mapping[str, Any], *names: str) -> Sequence[Any]:
    return next((holder[name] for name in names if isinstance(holder.get(name), list)), ())


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a span and its events by name; older conventions store messages in events."""
    found = attribute_values(span.get("attributes"))
    messages = [message for event in _list(span, "events") if (message := _message(plain_object(event)))]
    found |= {"events": messages} if messages and "events" not in found else {}
    for event in _list(span, "events"):
        for name, value in attribute_values(plain_object(event).get("attributes")).items():
            found.setdefault(name, value)
    return found


def _message(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message in a span's event, in the form of an entry of `_events`, or {} if the event has no message."""
    name = word(event.get("name"))
    if not (name == _CHOICE or _MESSAGE.match(name)):
        return {}
    told = attribute_values(event.get("attributes"))
    body = {key: unpack_json(value) for key, value in told.items()} | plain_object(unpack_json(told.get(_CONTENT)))
    role = name.split(".")[1]
    if role == "tool":
        body = {"tool_call_id": body.get("id"), **body}
    if isinstance(body.get("message"), list):
        body = {"content": body["message"], **body}
    return {"event.name": name, "role": "assistant" if role == "choice" else role, **body}


def attribute_values(attributes: object) -> dict[str, Any]:
    """Return the attributes by name, from OTLP's list of keys and values or from a plain object."""
    if isinstance(attributes, dict):
        return attributes
    pairs = map(plain_object, plain_list(attributes))
    return {str(pair.get("key")): _value(pair.get("value")) for pair in pairs}


def _value(value: Any) -> Any:
    if not isinstance(value, dict) or not value:
        return value
    kind, held = next(iter(value.items()))
    if kind == "arrayValue":
        return [_value(one) for one in _list(plain_object(held), "values")]
    if kind == "kvlistValue":
        return attribute_values(plain_object(held).get("values"))
    return int(held) if kind == "intValue" and isinstance(held, str) and held.lstrip("-").isdigit() else held


def _agent(attributes: Mapping[str, Any]) -> str:
    return word(attributes.get("gen_ai.agent.name") or attributes.get("agent.name"))


def _span(
    record: Record, told: Mapping[str, Any], agents: Mapping[str, str], number: int, intake: Intake
) -> LoggedSpan | None:
    """Return the span of a model or a tool, or None for any other span. Count spans of unknown kinds as left out."""
    kind = told.get("gen_ai.operation.name") or told.get("openinference.span.kind") or _kind(told)
    span, name = record.value, str(record.value.get("name") or "")
    status = plain_object(span.get("status"))
    shared: dict[str, Any] = {
        "start": str(span.get("startTimeUnixNano") or "").zfill(20),
        "speaker": _agent(told) or agents.get(str(span.get("parentSpanId")), ""),
        "error": str(status.get("message") or "") if status.get("code") in (2, "STATUS_CODE_ERROR") else "",
        "number": number,
        "line": record.line,
    }
    if kind in _TOOLS:
        told = {_IN_EVENT[role]: _content_of(told, role) for role in _IN_EVENT} | dict(told)
        tool, asked, given, call_id = tool_attributes(told)
        if not (tool or name):
            intake.at = record.line
            intake.leave_out("call of a tool without its name")
        return LoggedSpan(TOOL_SPAN, tool or name, asked=asked, given=given, call_id=call_id, **shared)
    if kind in _MODELS:
        return LoggedSpan(MODEL_SPAN, name, asked=_asked(told), given=_given(told), **shared)
    if kind not in _HOLDING:
        intake.at = record.line
        intake.leave_out(f"span of kind {kind}" if kind else "span without a known kind")
    return None


def _conversation(record: Record, told: Mapping[str, Any], number: int) -> LoggedSpan | None:
    """Return an agent's span as a model span with all messages of the agent, or None if the messages are missing."""
    asked, given = (plain_list(unpack_json(told.get(f"gen_ai.{name}.messages"))) for name in ("input", "output"))
    held = unpack_json(first_of(told, _OF_AGENTS)) or [*asked, *given]
    start = str(record.value.get("startTimeUnixNano") or "").zfill(20)
    known: dict[str, Any] = {"speaker": _agent(told), "number": number, "line": record.line}
    return LoggedSpan(MODEL_SPAN, "", start, given=held, **known) if held else None


def _exchange(facts: Sequence[tuple[Record, Mapping[str, Any]]], root: Mapping[str, Any]) -> list[LoggedSpan]:
    """Return what the root span of a trace without model spans was asked and, at its end, what it answered."""
    number, (one, told) = next((number, fact) for number, fact in enumerate(facts, 1) if fact[0].value is root)
    if (told.get("openinference.span.kind") or _kind(told)) not in _HOLDING:
        return []
    start, end = (str(root.get(f"{name}TimeUnixNano") or "").zfill(20) for name in ("start", "end"))
    known: dict[str, Any] = {"speaker": _agent(told), "number": number, "line": one.line}
    asked, given = (unpack_json(first_of(told, names)) for names in (_ROOT_ASKED, _ROOT_GIVEN))
    spans = [LoggedSpan(MODEL_SPAN, "", start, asked=asked, **known)] if asked else []
    return [*spans, LoggedSpan(MODEL_SPAN, "", max(start, end), given=given, **known)] if given else spans


def _content_of(told: Mapping[str, Any], role: str) -> Any:
    return next((one["content"] for one in _events(told) if one.get("role") == role and "content" in one), None)


def _kind(told: Mapping[str, Any]) -> str:
    """Return the kind of a span without a stated kind, based on fields that only one kind has."""
    if any(name in told for name in ("gen_ai.tool.name", "ai.toolCall.name")):
        return "execute_tool"
    if isinstance(kind := unpack_json(told.get("mlflow.spanType")), str):
        return _MLFLOW.get(kind, kind)
    if isinstance(told.get("traceloop.span.kind"), str):
        return "execute_tool" if told["traceloop.span.kind"] == "tool" else "CHAIN"
    if str(told.get("ai.operationId")).startswith("ai.") and "ai.response.finishReason" in told:
        # The outer span repeats what its `doGenerate` or `doStream` says.
        return "chat" if str(told["ai.operationId"]).endswith(("doGenerate", "doStream")) else "CHAIN"
    return "chat" if any(name.startswith(_OF_MODELS) for name in told) else ""


def _asked(told: Mapping[str, Any]) -> Any:
    messages = unpack_json(
        first_of(told, ("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages", *_WHOLE_ASKED))
    )
    messages = messages or [one for one in _events(told) if one.get("event.name") != _CHOICE]
    found = messages or _indexed(told, "input_messages", "prompt") or unpack_json(first_of(told, ("input.value",)))
    policy = unpack_json(told.get("gen_ai.system_instructions"))
    has_policy = isinstance(policy, list) and isinstance(found, list)
    return [{"role": "system", "parts": policy}, *found] if has_policy else found


def _given(told: Mapping[str, Any]) -> Any:
    messages = unpack_json(first_of(told, ("gen_ai.output.messages", "gen_ai.completion", *_WHOLE_GIVEN)))
    messages = messages or [one for one in _events(told) if one.get("event.name") == _CHOICE]
    calls = unpack_json(told.get("ai.response.toolCalls"))
    if not messages and ("ai.response.text" in told or calls):
        return {"role": "assistant", "content": told.get("ai.response.text"), "tool_calls": calls}
    return messages or _indexed(told, "output_messages", "completion") or unpack_json(first_of(told, ("output.value",)))


def _events(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [one for one in plain_list(unpack_json(told.get("events"))) if isinstance(one, dict)]


def _indexed(told: Mapping[str, Any], *kinds: str) -> list[dict[str, Any]]:
    """Return the messages from attributes with indexed names such as `llm.input_messages.0.message.role`."""
    messages: dict[int, dict[str, Any]] = {}
    for key, value in told.items():
        match = _INDEXED.match(key)
        if match and match[1] in kinds:
            message = messages.setdefault(int(match[2]), {})
            _put(message, match[3].removeprefix("message."), value)
    for message in messages.values():
        if "tool_calls" in message:
            # Some instrumentations number the calls of all messages in one series, which leaves gaps.
            message["tool_calls"] = [call for call in message["tool_calls"] if call]
    return [messages[place] for place in sorted(messages)]


def _put(message: dict[str, Any], path: str, value: Any) -> None:
    """Set the message's field for an attribute path such as `tool_calls.0.tool_call.function.name`."""
    parts = path.split(".")
    if parts[0] == "tool_calls" and len(parts) > 2 and parts[1].isdigit():
        calls = message.setdefault("tool_calls", [])
        calls += [{} for _ in range(int(parts[1]) + 1 - len(calls))] if int(parts[1]) < 256 else []
        calls[min(int(parts[1]), len(calls) - 1)][parts[-1]] = value
    elif parts[0] == "contents" and parts[-1] == "text":
        message["content"] = "\n".join(filter(None, [message.get("content"), str(value)]))
    else:
        message[parts[0]] = value


IMPORTER = Importer(_NAME, "OpenTelemetry traces (OTLP JSON and spans of SDKs, Phoenix and MLflow)", read, _MARKS)
