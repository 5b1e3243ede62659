"""Plain conversations: chat messages of OpenAI, its Responses API, Anthropic and LangChain, one conversation per
record.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from console.environments import ENVIRONMENTS
from console.runs.importers.parts.conversation import SYSTEM, entry_of
from console.runs.importers.parts.intake import Intake, plain_object
from console.runs.importers.parts.json_records import Record, json_records
from console.runs.importers.parts.message_parts import read_turns
from console.runs.importers.parts.rewards import RESULT_FIELDS, told_result, trial_of
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Trajectory

_IDS = ("id", "task_id", "custom_id", "conversation_id", "thread_id", "session_id")
_LISTS = ("messages", "items", "history", "conversation", "contents")
_OWN = frozenset({"trial", "environment", "instruction", *_LISTS, *_IDS, *RESULT_FIELDS})
_INNER = ("request", "values", "body", "result", "message")
"""Fields whose inner fields count as those of the record, unless it has a field of that name."""
_EXCHANGE = frozenset({"system", "instructions", "input", "output", "request", "response", "choices"})


def conversations(
    name: str, marks: tuple[tuple[str, ...], ...], path: Path, progress: Progress | None = None
) -> Iterator[Entry]:
    """Yield the conversations of a file, one per record; raise UnreadableFile if a record has no messages."""
    for record in json_records(path, progress, *marks):
        intake = Intake(path, record.line)
        fields = plain_object(record.value)
        messages = record.value if isinstance(record.value, list) else _messages(fields, intake)
        if not messages or not all(isinstance(message, dict) for message in messages):
            raise intake.refusal(
                "This record has no list of messages with roles. Fix the record or remove it, then import again."
            )
        turns = read_turns(messages, intake)
        yield entry_of(intake, turns, _trajectory(name, record, fields, messages, path))


def _messages(fields: Mapping[str, Any], intake: Intake) -> list[Any]:
    """Return the messages of a record, or of a request and its response. A separate system prompt becomes the first
    message.
    """
    exchange = dict(fields)
    for name in _INNER:
        exchange = {**plain_object(exchange.get(name)), **exchange}
    found: list[Any] = []
    policy = exchange.get("system") or exchange.get("instructions")
    if isinstance(policy, (str, list)) and policy:
        found.append({"role": SYSTEM, "content": policy})
    given = next((exchange[name] for name in (*_LISTS, "input") if isinstance(exchange.get(name), list)), None)
    if given is None and isinstance(exchange.get("input"), str):
        given = [{"role": "user", "content": exchange["input"]}]
    return [*found, *(given or ()), *_answered(exchange, intake)]


def _answered(exchange: Mapping[str, Any], intake: Intake) -> list[Any]:
    """Return the content of a response: its items, its message, or its first choice."""
    response = plain_object(exchange.get("response"))
    for holder in (response, plain_object(response.get("body")), exchange):
        output, choices = holder.get("output"), holder.get("choices")
        if isinstance(output, list) and all({"type", "role"} & plain_object(one).keys() for one in output):
            return output
        if isinstance(choices, list) and choices and "message" in plain_object(choices[0]):
            if len(choices) > 1:
                intake.leave_out("choice beside the first", len(choices) - 1)
            return [choices[0]["message"]]
        if holder.get("role") == "assistant":
            return [holder]
    return []


def _trajectory(name: str, record: Record, fields: Mapping[str, Any], messages: list[Any], path: Path) -> Trajectory:
    outcome, gold = told_result(fields)
    named = fields.get("environment")
    instruction = fields.get("instruction")
    own = _OWN if any(fields.get(key) for key in _LISTS) else _OWN | _EXCHANGE
    return Trajectory(
        task_id=next((_text(fields[key]) for key in _IDS if fields.get(key) is not None), id_of(messages)),
        environment=named if isinstance(named, str) and named in ENVIRONMENTS else "generic",
        instruction=instruction if isinstance(instruction, str) else "",
        trial=trial_of(fields.get("trial")),
        outcome=outcome,
        gold=gold,
        source={"file": path.name, "line": record.line, "format": name},
        extra={key: value for key, value in fields.items() if key not in own} | record.notes,
    )


def id_of(messages: object) -> str:
    """Return an id derived from the content of a conversation, for a conversation without an id."""
    return "c-" + hashlib.sha1(orjson.dumps(messages), usedforsecurity=False).hexdigest()[:12]


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _importer(
    name: str,
    title: str,
    marks: tuple[tuple[str, ...], ...],
    also: tuple[tuple[str, ...], ...] = (),
    words: re.Pattern[bytes] | None = None,
) -> Importer:
    return Importer(name, title, partial(conversations, name, (*marks, *also)), marks, also=also, words=words)


_ANTHROPIC_PARTS = re.compile(rb'"type"\s*:\s*"(?:tool_use|tool_result|thinking|redacted_thinking|server_tool_use)"')
_LANGCHAIN_TYPES = re.compile(
    rb'"type"\s*:\s*"(?:human|ai|AIMessageChunk)"|"(?:AIMessage|AIMessageChunk|HumanMessage)"'
)
_RESPONSES_ITEMS = re.compile(
    rb'"type"\s*:\s*"(?:function_call(?:_output)?|custom_tool_call|[a-z_]+_call|output_text|input_text)"'
)

ANTHROPIC = _importer(
    "anthropic-messages",
    "Conversations as Anthropic messages",
    ((".messages[].role",), ("[].role",), (".request.messages[].role",)),
    # What a batch gives back, and a bare answer.
    ((".result.message.role",), (".role", ".content", ".stop_reason")),
    _ANTHROPIC_PARTS,
)
LANGCHAIN = _importer(
    "langchain-messages",
    "LangChain and LangGraph messages",
    ((".messages[].type",), ("[].type",), (".messages[].lc",), ("[].lc",), (".values.messages[].type",)),
    words=_LANGCHAIN_TYPES,
)
RESPONSES = _importer(
    "openai-responses",
    "Items of the OpenAI Responses API and the Agents SDK",
    ((".output[].type",), (".input[].type",), (".input[].role",), (".items[].type",), (".response.output[].type",)),
    (("[].type",), ("[].role",), ("[].content",)),
    _RESPONSES_ITEMS,
)
OPENAI = _importer(
    "openai-messages",
    "Conversations as OpenAI messages",
    ((".messages[].role",), ("[].role",), (".messages[].content",), (".messages[].tool_calls",)),
    # Requests with their answers, what a batch gives back, and Gemini's contents.
    (
        *((".response.body.choices",), (".choices[].message",)),
        *((".request.messages[].role",), (".contents[].parts",)),
    ),
)
