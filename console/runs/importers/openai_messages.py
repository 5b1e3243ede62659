"""Plain conversations in OpenAI's message form: `{"messages": [...]}` or a bare list of messages, one a record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from console.environments import ENVIRONMENTS
from console.errors import UnreadableFile
from console.runs.importers.parts.json_records import Record, base_of, json_records, outline
from console.runs.importers.parts.messages import (
    Message,
    are_messages,
    call_text,
    first_user_message,
    opening_of,
    respond,
    said,
    text_of,
    thought_of,
    tool_calls,
    turns,
)
from console.runs.importers.parts.rewards import number_of, result_of, trial_of
from console.runs.importers.records import Entry, Found, Importer, Progress, Skipped, with_critical_action
from console.trajectory import Label, Outcome, Step, Trajectory

_NAME = "openai-messages"
_MARKS = ((".messages[].role",), ("[].role",), (".messages[].content",), (".messages[].tool_calls",))
_IDS = ("id", "task_id", "conversation_id")
_RESULTS = ("label", "success", "reward", "score")
_OWN = frozenset({"messages", "trial", "environment", "instruction", *_IDS, *_RESULTS})
_LABELS = {
    "aligned": (Outcome.SUCCEEDED, Label.ALIGNED),
    "misaligned": (Outcome.FAILED, Label.MISALIGNED),
}
_TOOL_ROLES = ("tool", "function")


def recognises(path: Path, head: bytes) -> bool:
    """Whether the records are, or have, lists of messages with roles."""
    return base_of(outline(head), *_MARKS) is not None


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The conversations; one in which the assistant never speaks is skipped."""
    for record in json_records(path, progress, *_MARKS):
        messages, fields = _parts(path, record)
        if any(message.get("role") == "assistant" for message in messages):
            yield Found(record.line, with_critical_action(_trajectory(path, record, messages, fields)))
        else:
            yield Skipped(record.line, "the assistant says nothing in this conversation, so there is nothing to review")


def _parts(path: Path, record: Record) -> tuple[Sequence[Message], Mapping[str, Any]]:
    fields = record.value if isinstance(record.value, dict) else {}
    messages = fields.get("messages") if fields else record.value
    if not are_messages(messages):
        raise UnreadableFile(str(path), "this record has no list of messages with roles", record.line)
    return messages, fields


def _trajectory(path: Path, record: Record, messages: Sequence[Message], fields: Mapping[str, Any]) -> Trajectory:
    outcome, gold = _result(fields)
    named = fields.get("environment")
    instruction = fields.get("instruction")
    return Trajectory(
        task_id=next((text_of(fields[name]) for name in _IDS if fields.get(name) is not None), _id_of(messages)),
        environment=named if named in ENVIRONMENTS else "generic",
        instruction=instruction if isinstance(instruction, str) else first_user_message(messages),
        steps=tuple(step for message, answers in turns(messages) for step in _steps(message, answers)),
        trial=trial_of(fields.get("trial")),
        outcome=outcome,
        gold=gold,
        source={"file": path.name, "line": record.line, "format": _NAME},
        extra={name: value for name, value in fields.items() if name not in _OWN} | record.notes,
        opening=opening_of(messages),
    )


def _id_of(messages: Sequence[Message]) -> str:
    """The id of a conversation that nobody gave one, the same wherever it is listed."""
    return "c-" + hashlib.sha1(orjson.dumps(messages), usedforsecurity=False).hexdigest()[:12]


def _steps(message: Message, answers: Sequence[Message]) -> Iterator[Step]:
    """One step a call, or one for the words to the user; the user's answer belongs to the last."""
    calls = tool_calls(message)
    if not calls:
        yield Step(thought_of(message, ""), respond(said(message)), "\n".join(said(answer) for answer in answers))
        return
    results = _results(calls, [answer for answer in answers if answer.get("role") in _TOOL_ROLES])
    results[-1] += [said(answer) for answer in answers if answer.get("role") not in _TOOL_ROLES]
    for index, (call, texts) in enumerate(zip(calls, results, strict=True)):
        yield Step(thought_of(message, said(message)) if not index else "", call_text(call), "\n".join(texts))


def _results(calls: Sequence[Message], answers: Sequence[Message]) -> list[list[str]]:
    """The results of each call: by id where the ids tell these calls apart, else in the order that they came."""
    ids = [text_of(call.get("id")) for call in calls]
    places = {call_id: index for index, call_id in enumerate(ids)}
    answered = [text_of(answer.get("tool_call_id")) for answer in answers]
    by_id = len(places) == len(ids) and places.keys() >= set(answered)
    results: list[list[str]] = [[] for _ in calls]
    for order, answer in enumerate(answers):
        place = places[answered[order]] if by_id else min(order, len(calls) - 1)
        results[place].append(said(answer))
    return results


def _result(fields: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """The first of label, success, reward and score that tells something; a label of another kind keeps its words."""
    told = {name: fields[name] for name in _RESULTS if fields.get(name) is not None}
    result = next((found for name, value in told.items() if (found := _judged(name, value))), None)
    gold = {"source_label" if name == "label" else name: value for name, value in told.items()}
    return (result[0], {"label": str(result[1]), **gold}) if result else (Outcome.FINISHED, gold)


def _judged(name: str, value: object) -> tuple[Outcome, Label] | None:
    if name == "label":
        return _LABELS.get(text_of(value).strip().lower())
    number = number_of(value)
    return result_of(number) if number is not None and 0.0 <= number <= 1.0 else None


IMPORTER = Importer(_NAME, "Conversations as OpenAI messages", recognises, read)
