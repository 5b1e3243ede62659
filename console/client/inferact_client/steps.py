"""Messages of other libraries as (task, steps) for `Gate.check`, and raw transcripts that the console reads.

Each converter accepts the library's own objects, or their JSON form as mappings. The task is the user's first
message. A step is one call with its result, or one answer to the user with the user's reply. Calls without a result
at the end of the conversation are pending, and are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Converted = tuple[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Transcript(Sequence[Any]):
    """The raw text of a program's transcript, in place of steps; the console parses the text with its importers.

    `format` is the console's name of the format (`inferact trajectory import --help` lists all), or `auto`.
    """

    format: str
    text: str

    def __len__(self) -> int:
        return 0

    def __getitem__(self, _place: Any) -> Any:
        raise IndexError("Only the console reads the transcript. Pass steps instead of a transcript.")


@dataclass(frozen=True)
class _Said:
    """One part of a conversation: words of the `user`, a `text` or `thought` of the agent, a `call`, or a `result`."""

    kind: str
    text: str = ""
    call_id: str = ""
    name: str = ""
    arguments: Any = None


def from_openai(messages: Iterable[Any]) -> Converted:
    """Convert messages of Chat Completions, or input and output items of Responses (also of the Agents SDK)."""
    return _collect(part for message in messages for part in _openai_parts(_plain(message)))


def from_anthropic(messages: Iterable[Any]) -> Converted:
    """Convert messages of Anthropic's API."""
    return _collect(part for message in messages for part in _anthropic_parts(_plain(message)))


def from_langchain(messages: Iterable[Any]) -> Converted:
    """Convert messages of LangChain and LangGraph."""
    return _collect(part for message in messages for part in _langchain_parts(_plain(message)))


def from_pydantic_ai(messages: Iterable[Any]) -> Converted:
    """Convert model messages of Pydantic AI."""
    return _collect(part for message in messages for part in _pydantic_ai_parts(message))


def from_adk(events: Iterable[Any]) -> Converted:
    """Convert events of a session of Google's Agent Development Kit."""
    return _collect(part for event in events for part in _adk_parts(_plain(event)))


def from_inspect(messages: Iterable[Any]) -> Converted:
    """Convert chat messages of Inspect."""
    return _collect(part for message in messages for part in _inspect_parts(_plain(message)))


def from_strands(messages: Iterable[Any]) -> Converted:
    """Convert messages of Strands, which have the form of Bedrock."""
    return _collect(part for message in messages for part in _strands_parts(message))


def from_agent_framework(messages: Iterable[Any]) -> Converted:
    """Convert messages of Microsoft Agent Framework."""
    return _collect(part for message in messages for part in _agent_framework_parts(message))


def _openai_parts(message: Mapping[str, Any]) -> Iterator[_Said]:
    kind, role = message.get("type"), message.get("role")
    if kind == "function_call":
        yield _call(message.get("call_id"), message.get("name"), message.get("arguments"))
    elif kind == "function_call_output":
        yield _Said("result", _text(message.get("output")), str(message.get("call_id")))
    elif kind == "reasoning":
        yield _Said("thought", _text(message.get("summary")))
    elif role == "tool":
        yield _Said("result", _text(message.get("content")), str(message.get("tool_call_id")))
    elif role == "user":
        yield _Said("user", _text(message.get("content")))
    elif role == "assistant":
        yield _Said("thought", _text(message.get("reasoning_content") or message.get("reasoning")))
        yield _Said("text", _text(message.get("content")))
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            yield _call(call.get("id"), function.get("name"), function.get("arguments"))


def _anthropic_parts(message: Mapping[str, Any]) -> Iterator[_Said]:
    content, is_user = message.get("content"), message.get("role") == "user"
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
        kind = part.get("type")
        if kind == "tool_use":
            yield _call(part.get("id"), part.get("name"), part.get("input"))
        elif kind == "tool_result":
            yield _Said("result", _text(part.get("content")), str(part.get("tool_use_id")))
        elif kind == "thinking":
            yield _Said("thought", _text(part.get("thinking")))
        elif kind == "text":
            yield _Said("user" if is_user else "text", _text(part.get("text")))


def _langchain_parts(message: Mapping[str, Any]) -> Iterator[_Said]:
    kind = message.get("type") or message.get("role")
    if kind in ("human", "user"):
        yield _Said("user", _text(message.get("content")))
    elif kind == "tool":
        yield _Said("result", _text(message.get("content")), str(message.get("tool_call_id")))
    elif kind in ("ai", "assistant", "AIMessageChunk"):
        yield _Said("text", _text(message.get("content")))
        for call in message.get("tool_calls") or ():
            yield _call(call.get("id"), call.get("name"), call.get("args"))


def _pydantic_ai_parts(message: Any) -> Iterator[_Said]:
    for part in _field(message, "parts") or ():
        kind, content = _field(part, "part_kind"), _field(part, "content")
        if kind == "user-prompt":
            yield _Said("user", _text(content))
        elif kind in ("tool-return", "retry-prompt") and _field(part, "tool_name"):
            yield _Said("result", _text(content), str(_field(part, "tool_call_id")))
        elif kind == "tool-call":
            yield _call(_field(part, "tool_call_id"), _field(part, "tool_name"), _field(part, "args"))
        elif kind in ("text", "thinking"):
            yield _Said("text" if kind == "text" else "thought", _text(content))


def _adk_parts(event: Mapping[str, Any]) -> Iterator[_Said]:
    content = event.get("content") or {}
    for part in content.get("parts") or ():
        call, response = part.get("function_call"), part.get("function_response")
        if call:
            yield _call(call.get("id"), call.get("name"), call.get("args"))
        elif response:
            yield _Said("result", _text(response.get("response")), str(response.get("id")))
        elif part.get("text"):
            is_user = event.get("author") == "user" or content.get("role") == "user"
            yield _Said("user" if is_user else "thought" if part.get("thought") else "text", part["text"])


def _inspect_parts(message: Mapping[str, Any]) -> Iterator[_Said]:
    role = message.get("role")
    if role == "user":
        yield _Said("user", _text(message.get("content")))
    elif role == "tool":
        yield _Said("result", _text(message.get("content")), str(message.get("tool_call_id")))
    elif role == "assistant":
        yield _Said("text", _text(message.get("content")))
        for call in message.get("tool_calls") or ():
            yield _call(call.get("id"), call.get("function"), call.get("arguments"))


def _strands_parts(message: Mapping[str, Any]) -> Iterator[_Said]:
    for kind, part in (item for content in message.get("content") or () for item in content.items()):
        if kind == "text":
            yield _Said("user" if message.get("role") == "user" else "text", _text(part))
        elif kind == "toolUse":
            yield _call(part.get("toolUseId"), part.get("name"), part.get("input"))
        elif kind == "toolResult":
            yield _Said("result", _text(part.get("content")), str(part.get("toolUseId")))


def _agent_framework_parts(message: Any) -> Iterator[_Said]:
    role = str(_field(message, "role"))
    for part in _field(message, "contents") or ():
        kind = _field(part, "type")
        if kind == "text" and role in ("user", "assistant"):
            yield _Said("user" if role == "user" else "text", _text(_field(part, "text")))
        elif kind == "function_call":
            yield _call(_field(part, "call_id"), _field(part, "name"), _field(part, "arguments"))
        elif kind == "function_result":
            yield _Said("result", _text(_field(part, "result")), str(_field(part, "call_id")))


def _collect(parts: Iterable[_Said]) -> Converted:
    task, thoughts = "", list[str]()
    steps, by_id = list[dict[str, Any]](), dict[str, dict[str, Any]]()
    for part in parts:
        if part.kind == "user":
            if thoughts:
                # An answer without a call, to which the user replied.
                respond = {"name": "respond", "arguments": {"content": _join(*thoughts)}}
                steps.append({"thought": "", "action": respond, "observation": part.text})
            task, thoughts = task or part.text, []
        elif part.kind == "call":
            action = {"name": part.name, "arguments": part.arguments}
            steps.append({"thought": _join(*thoughts), "action": action, "observation": None})
            by_id[part.call_id], thoughts = steps[-1], []
        elif part.kind == "result":
            step = by_id.get(part.call_id, {})
            step["observation"] = _join(step.get("observation") or "", part.text)
        elif part.text:
            thoughts.append(part.text)
    while steps and steps[-1]["observation"] is None:
        steps.pop()
    return task, steps


def _call(call_id: Any, name: Any, arguments: Any) -> _Said:
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments or "{}")
        except ValueError:
            read = arguments
        arguments = read if isinstance(read, dict) else arguments
    return _Said("call", call_id=str(call_id), name=str(name or "unnamed"), arguments=arguments or {})


def _plain(message: Any) -> Mapping[str, Any]:
    """Return the mapping of a message that is an object of its library."""
    if isinstance(message, Mapping):
        return message
    if hasattr(message, "model_dump"):
        dumped: dict[str, Any] = message.model_dump(exclude_none=True)
        return dumped
    raise TypeError(f"{type(message).__name__} is not a message. Give the library's messages, or mappings.")


def _field(part: Any, name: str) -> Any:
    return part.get(name) if isinstance(part, Mapping) else getattr(part, name, None)


def _text(value: Any) -> str:
    """Return the text of a message's content: a string, parts with text, or any other value as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        texts = [part if isinstance(part, str) else _field(part, "text") for part in value]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(texts)
    return json.dumps(value, ensure_ascii=False, default=str)


def _join(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
