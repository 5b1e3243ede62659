"""The kinds of a message's parts: calls, results and texts, recognised by their type or by their only field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from console.runs.importers.parts.intake import as_text, plain_object, word
from console.trajectory.messages import ARGUMENT_NAMES

Part = Mapping[str, Any]

HELD = (
    *("functionCall", "function_call", "functionResponse", "function_response"),
    *("toolUse", "toolResult", "inlineData", "inline_data", "image", "reasoningContent"),
    *("tool_call", "tool_call_result", "reasoning"),
)
"""The kind of a part by its only field, for dialects whose parts have no type."""
CALL_IDS = ("tool_call_id", "call_id", "tool_use_id", "toolCallId", "toolUseId", "toolUseID", "source_call_id")
_TYPES = ("type", "block_type", "content_type")
_CALL_TYPE = re.compile(r"(?:^|_)(?:tool_?use|tool_?call|function_?call|[a-z_]+_call|program)$")
_RESULT_TYPE = re.compile(
    r"(?:(?:tool|function)_?(?:call_?)?result|tool_?call_?response|call_?output|function_?response|tool_return|(?:program|search)_output)$"
)
GIVEN = ("output", "outputs", "result", "results", "errorText")
_AI_SDK = ("tool-", "dynamic-tool")


def call_id(holder: Part) -> str:
    """Return the id of the call that an object refers to, or "" if the object has no call id."""
    # LlamaIndex and Haystack write the id in an object of the result.
    holders = (holder, plain_object(holder.get("additional_kwargs")))
    named = (read_id(one[key]) for one in holders for key in CALL_IDS if one.get(key) is not None)
    return next(named, read_id(plain_object(holder.get("origin")).get("id")))


def add_part_type(part: Part) -> Part:
    """Return the part with its type, derived from its only field if necessary; convert the AI SDK's parts to calls."""
    kind = next((part[name] for name in _TYPES if name in part), None)
    if kind == "tool-invocation":
        return {**plain_object(part.get("toolInvocation")), "type": "tool_call"}
    is_known = is_call(part) or is_result(part)
    if isinstance(kind, str) and "toolCallId" in part and kind.startswith(_AI_SDK) and not is_known:
        return {"toolName": kind.removeprefix("tool-"), **part, "type": "tool_call"}
    if kind is not None:
        return part if "type" in part else {**part, "type": kind}
    for name in HELD:
        if isinstance(part.get(name), dict):
            return {"type": name, **part[name]}
    if isinstance(part.get("text"), str):
        return {"type": "thinking" if part.get("thought") is True else "text", **part}
    if call_id(part):
        return {"type": "tool_result", **part}
    if isinstance(part.get("name"), str) and any(name in part for name in ARGUMENT_NAMES):
        return {"type": "tool_call", **part}
    return part


def is_call(part: Part) -> bool:
    """Return whether the part is a call, by its type."""
    return bool(_CALL_TYPE.search(word(part.get("type")).replace("-", "_").lower()))


def is_result(part: Part) -> bool:
    """Return whether the part is the result of a call, by its type."""
    return bool(_RESULT_TYPE.search(word(part.get("type")).replace("-", "_").lower()))


def after_results(content: object) -> Iterator[list[Any]]:
    """Yield the parts of an agent's message in runs: what follows a result was written after it."""
    run, has_result = list[Any](), False
    for part in content if isinstance(content, list) else ():
        typed = add_part_type(part) if isinstance(part, dict) else {}
        is_answer = is_result(typed) or (is_call(typed) and any(typed.get(name) is not None for name in GIVEN))
        if has_result and not is_answer:
            yield run
            run, has_result = [], False
        run.append(part)
        has_result = has_result or is_answer
    yield run


def read_id(value: object) -> str:
    """Return an id as text, or "" for None."""
    return "" if value is None else as_text(value)
