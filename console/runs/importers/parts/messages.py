"""Chat messages in OpenAI's form: what was said, which calls were made, what came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import orjson

from console.errors import BadInput
from console.trajectory import call_action

Message = Mapping[str, Any]

POLICY = "The policy that the agent was given:"
FIRST_WORDS = "The user's first message:"


def turns(messages: Sequence[Message]) -> Iterator[tuple[Message, list[Message]]]:
    """Each assistant message with the messages that answer it."""
    mine: Message | None = None
    answers: list[Message] = []
    for message in messages:
        if message.get("role") == "assistant":
            if mine is not None:
                yield mine, answers
            mine, answers = message, []
        else:
            answers.append(message)
    if mine is not None:
        yield mine, answers


def are_messages(value: object) -> TypeGuard[list[Message]]:
    """Whether it is a list of objects, as messages are."""
    return isinstance(value, list) and all(isinstance(message, dict) for message in value)


def text_of(value: object) -> str:
    """The text of a message's content: a text, a list of parts, or whatever JSON stands there."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text_of(part.get("text", part) if isinstance(part, dict) else part) for part in value)
    return orjson.dumps(value, default=str).decode()


def said(message: Message) -> str:
    """The text of the message."""
    return text_of(message.get("content"))


def thought_of(message: Message, beside: str) -> str:
    """The reasoning that was recorded, then the text beside the message's calls."""
    reasoning = text_of(message.get("reasoning_content") or message.get("reasoning"))
    return "\n\n".join(text.strip() for text in (reasoning, beside) if text.strip())


def tool_calls(message: Message) -> list[Message]:
    """The calls of the message, in the present or the older form."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        return [call for call in calls if isinstance(call, dict)]
    older = message.get("function_call")
    return [{"function": older}] if isinstance(older, dict) else []


def call_text(call: Message) -> str:
    """The call as an action, `name({json})`; raises BadInput where it has no name."""
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise BadInput("A tool call has no name, so nobody could decide about it; give the name of its function.")
    return call_action(name, function.get("arguments"))


def opening_of(messages: Sequence[Message]) -> str:
    """What the agent was given before its first message: the policy and the user's first words."""
    begun = next((i for i, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))
    policy = [said(message) for message in messages[:begun] if message.get("role") in ("system", "developer")]
    words = [said(message) for message in messages[:begun] if message.get("role") == "user"]
    parts = [(POLICY, policy), (FIRST_WORDS, words)]
    return "\n\n".join(f"{title}\n" + "\n\n".join(texts) for title, texts in parts if any(texts))


def first_user_message(messages: Sequence[Message]) -> str:
    """What the user said first, or an empty text."""
    return next((said(message) for message in messages if message.get("role") == "user"), "")
