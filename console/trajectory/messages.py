"""Chat messages: their text, their calls, and the titles of their sections in an opening."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import orjson

from console.trajectory import call_action
from console.trajectory.strict_yaml import Words, read_data

Message = Mapping[str, Any]

POLICY = "The policy that the agent was given:"
FIRST_WORDS = "The user's first message:"
EARLIER_ACTS = "What the agent did earlier in this session:"
EARLIER_REQUESTS = "The user's earlier requests in this session:"

_NAMES = ("name", "toolName", "tool_name", "function_name", "function", "tool")
ARGUMENT_NAMES = (
    *("arguments", "args", "input", "parameters", "kwargs", "params", "payload", "tool_input", "action_input"),
    *("toolInput", "rawInput", "tool_kwargs"),
)
"""The fields for a call's arguments in all dialects."""


_ABOUT_CALL = frozenset(_NAMES) | read_data(files(__package__) / "messages.yaml", Words)
"""The fields of a call that describe the call and are not arguments."""


def split_opening(opening: str) -> tuple[str, str, str]:
    """Return (policy, the agent's earlier acts in the session, the user's texts) of an opening, without titles.

    Text before the first title counts as the policy.
    """
    places = (opening.find(f"{title}\n") for title in (EARLIER_REQUESTS, FIRST_WORDS))
    start = next((place for place in places if place >= 0), len(opening))
    policy, _, acts = opening[:start].partition(f"{EARLIER_ACTS}\n")
    words = opening[start:].removeprefix(f"{EARLIER_REQUESTS}\n").replace(f"{FIRST_WORDS}\n", "", 1)
    return policy.removeprefix(f"{POLICY}\n").rstrip("\n"), acts.rstrip("\n"), words


_BLOCK = re.compile(r"\s*<([a-z][a-z0-9]*(?:[-_:][a-z0-9]+)+)(?:\s[^<>]*)?>.*?</\1>\s*", re.DOTALL)
"""A text from the tool, not from the user: tags whose names have two words, such as `<system-reminder>`."""
_EDITOR = re.compile(r"\A\s*# Context from my IDE setup:.*?(?:^## My request for [^\n]{1,40}:[ \t]*$|\Z)", re.M | re.S)


def split_tool_texts(text: str) -> tuple[str, str]:
    """Return (the user's own words, the texts around them that a coding tool added) of a user message."""
    added = list[str]()
    while found := _EDITOR.match(text) or next(
        (one for one in _BLOCK.finditer(text) if one.start() == 0 or one.end() == len(text)), None
    ):
        added.append(found[0])
        text = text[: found.start()] + text[found.end() :]
    return text, "\n".join(added)


def content_text(value: object) -> str:
    """Return the text of a message's content: a text, the texts of its parts, or any other JSON unchanged as text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(content_text(part.get("text", part) if isinstance(part, dict) else part) for part in value)
    return orjson.dumps(value, default=str).decode()


def list_calls(message: Message) -> list[Message]:
    """Return the calls of a message: its `tool_calls`, and a legacy `function_call` unless it repeats a tool call."""
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
    if name is not None and arguments is None:
        arguments = _unknown_arguments(held)
    return None if name is None else (name, arguments)


def _unknown_arguments(held: Message) -> dict[str, Any] | None:
    """Return a call's fields except its name and id, or only the value of a lone object; None without such fields."""
    kept = {key: value for key, value in held.items() if key not in _ABOUT_CALL and value not in (None, "", {}, [])}
    if len(kept) == 1 and isinstance(only := next(iter(kept.values())), dict):
        return only
    return kept or None


def respond_action(text: str) -> str:
    """Return the action that sends this text to the user."""
    return call_action("respond", {"content": text})


def join_paragraphs(*texts: str) -> str:
    """Join the non-blank texts as paragraphs."""
    return "\n\n".join(text.strip() for text in texts if text.strip())


def _action(call: Message) -> str | None:
    read = read_call(call)
    return None if read is None else call_action(*read)
