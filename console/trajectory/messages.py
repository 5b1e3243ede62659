"""Chat messages: their text, their calls, and the titles under which an opening quotes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from console.trajectory import call_action

Message = Mapping[str, Any]

POLICY = "The policy that the agent was given:"
FIRST_WORDS = "The user's first message:"

_NAMES = ("name", "toolName", "tool_name", "function_name", "function", "tool")
ARGUMENT_NAMES = ("arguments", "args", "input", "parameters", "kwargs", "params")
"""The fields that hold a call's arguments, in all dialects."""


def content_text(value: object) -> str:
    """Return the text of a message's content: a text, a list of parts, or any other JSON as it is."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(content_text(part.get("text", part) if isinstance(part, dict) else part) for part in value)
    return orjson.dumps(value, default=str).decode()


def list_calls(message: Message) -> list[Message]:
    """Return the calls of a message: its `tool_calls`, and a legacy `function_call` unless it repeats one of them."""
    beside = message.get("additional_kwargs")
    beside = beside if isinstance(beside, dict) else {}
    listed = message.get("tool_calls") or beside.get("tool_calls")
    calls: list[Message] = (
        [call if isinstance(call, dict) else {} for call in listed] if isinstance(listed, list) else []
    )
    older = message.get("function_call") or beside.get("function_call")
    if isinstance(older, dict) and _action(older) not in map(_action, calls):
        calls.append({"function": older})
    return calls


def read_call(call: Message) -> tuple[str, Any] | None:
    """Return (name, arguments) of a call in any dialect, or None if the call has no name."""
    held = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    name = next((held[key] for key in _NAMES if isinstance(held.get(key), str) and held[key].strip()), None)
    arguments = next((held[key] for key in ARGUMENT_NAMES if held.get(key) is not None), None)
    return None if name is None else (name, arguments)


def respond_action(text: str) -> str:
    """Return the action of sending this text to the user."""
    return call_action("respond", {"content": text})


def join_paragraphs(*texts: str) -> str:
    """Join the texts that are not blank as paragraphs."""
    return "\n\n".join(text.strip() for text in texts if text.strip())


def _action(call: Message) -> str | None:
    read = read_call(call)
    return None if read is None else call_action(*read)
