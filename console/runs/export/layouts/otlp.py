"""OpenTelemetry GenAI spans as OTLP JSON, one trace (one trajectory) per line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from console.runs.export.layouts.parts.layout import (
    GivenAnswer,
    Layout,
    Reviewed,
    RunRecords,
    arguments_text,
    first_messages,
    number_calls,
    spoken,
    write_lines,
)
from console.trajectory import Step
from console.trajectory.calls import Call

_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_INTERNAL = 1
_MS, _STEP = 1_000_000, 1_000_000


def write(source: RunRecords, stream: BinaryIO) -> int:
    """Write one export request per line; return the number of traces.

    A log does not contain step times, so a trace starts at the time of import and each step is one millisecond later.
    """
    return write_lines((_request(source, one) for one in source.reviewed()), stream)


def _request(source: RunRecords, one: Reviewed) -> dict[str, Any]:
    resource = {"attributes": _attributes({"service.name": "inferact-console", "inferact.run": source.run.name})}
    scope = {"scope": {"name": "inferact-console"}, "spans": list(_spans(source, one))}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def _spans(source: RunRecords, one: Reviewed) -> Iterator[dict[str, Any]]:
    record, trace = one.record, _trace_id(source, one)
    begun = one.created_ms * _MS
    root = _id(f"{trace}/root", 16)
    about = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": record.task_id,
        "inferact.task_id": record.task_id,
        "inferact.trial": record.trial,
        "inferact.environment": record.environment,
        "inferact.instruction": record.instruction,
        "inferact.opening": record.opening,
    }
    if "gold" in source.asked_for:
        about |= {"inferact.outcome": str(record.outcome), "inferact.gold_label": str(record.label or "")}
    times = (begun, begun + (len(record.steps) + 1) * _STEP)
    yield _span(trace, root, "", "invoke_agent", times, about)
    heard = first_messages(record.instruction, record.opening)
    for index, (step, named, words) in enumerate(number_calls(record.steps)):
        at = begun + (index + 1) * _STEP
        events = [_event(answer, at) for answer in one.answers if answer.step == index]
        yield from _step(trace, root, index, at, step, named, heard, events)
        heard = [{"role": "user", "content": step.observation}] if step.observation and words is not None else []


def _trace_id(source: RunRecords, one: Reviewed) -> str:
    """Return the task's id if it is a valid trace id, else an id derived from the run and the trajectory."""
    key = one.record.task_id
    return key if _TRACE_ID.fullmatch(key) else _id(f"{source.run.name}/{one.id}", 32)


def _step(
    trace: str,
    root: str,
    index: int,
    at: int,
    step: Step,
    named: list[tuple[str, Call]],
    heard: list[dict[str, Any]],
    events: list[Any],
) -> Iterator[dict[str, Any]]:
    """Yield a span for the model's turn with its new input, then one span per call; the last span holds the result."""
    turn = _id(f"{trace}/{index}", 16)
    output = [{"role": "assistant", "parts": list(_said(step, named)), "finish_reason": "stop"}]
    about: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": orjson.dumps(output).decode()}
    if heard:
        parts = [{"role": one["role"], "parts": [{"type": "text", "content": one["content"]}]} for one in heard]
        about["gen_ai.input.messages"] = orjson.dumps(parts).decode()
    words = not named or (len(named) == 1 and spoken(named[0][1]) is not None)
    if words and step.observation:
        about["inferact.observation"] = step.observation
    yield {**_span(trace, turn, root, "chat", (at, at + 1), about), "events": events}
    for place, (id, call) in enumerate([] if words else named):
        result = step.observation if place == len(named) - 1 else ""
        told = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": id,
            "gen_ai.tool.call.arguments": arguments_text(call),
            "gen_ai.tool.call.result": result,
        }
        times = (at + 2 * place + 2, at + 2 * place + 3)
        yield _span(trace, _id(f"{trace}/{id}", 16), turn, f"execute_tool {call.name}", times, told)


def _said(step: Step, named: list[tuple[str, Call]]) -> Iterator[dict[str, Any]]:
    if step.thought:
        yield {"type": "reasoning", "content": step.thought}
    for id, call in named:
        words = spoken(call)
        if words is not None:
            yield {"type": "text", "content": words}
        else:
            yield {"type": "tool_call", "id": id, "name": call.name, "arguments": dict(call.arguments)}


def _event(answer: GivenAnswer, at: int) -> dict[str, Any]:
    told = {"decision": answer.decision, "reviewer": answer.reviewer, "words": answer.words, "at_ms": answer.at_ms}
    named = {f"inferact.{name}": value for name, value in told.items()}
    return {"timeUnixNano": str(at), "name": "inferact.review", "attributes": _attributes(named)}


def _span(
    trace: str, span: str, parent: str, name: str, times: tuple[int, int], about: dict[str, Any]
) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": span,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(times[0]),
        "endTimeUnixNano": str(times[1]),
        "attributes": _attributes(about),
    }


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}


def _id(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


LAYOUT = Layout(
    "OpenTelemetry GenAI traces", "traces", "jsonl", "application/jsonl", write, ("gold", "names", "simulated")
)
