"""Messages of Pydantic AI, as `all_messages_json` writes them: requests to a model and its responses, each in parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, Turn, entry_of, join_thoughts
from console.runs.importers.parts.intake import Intake, as_text, plain_list, plain_object, word
from console.runs.importers.parts.json_records import json_records
from console.runs.importers.parts.message_parts import message_turns, result_text, result_turn
from console.runs.importers.records import Entry, Importer, Progress, build_decision_extra

_NAME = "pydantic-ai"
_PARTS = ("kind", "parts[].part_kind")
_MARKS = tuple(tuple(f"{base}.{name}" for name in _PARTS) for base in ("[]", ".messages[]", ".all_messages[]"))
_RETRIES = ("retry-prompt", "retry-feedback")
_TYPES = {"image-url": "image_url", "document-url": "file", "audio-url": "audio", "video-url": "video"}
_CALL = ("tool_name", "args", "tool_call_id")
_BY = "the person that the program asked"


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the conversation of each record; raise UnreadableFile if a record has no list of messages."""
    for record in json_records(path, progress, *_MARKS):
        intake, fields = Intake(path, record.line, _NAME), plain_object(record.value)
        messages = (
            record.value if isinstance(record.value, list) else fields.get("messages", fields.get("all_messages"))
        )
        if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
            raise intake.refusal("This record has no list of messages with parts. Export the messages again.")
        turns = [turn for number, one in enumerate(messages, 1) for turn in _turns(one, number, intake)]
        named = (one.get(name) for name in ("conversation_id", "run_id") for one in (fields, *messages))
        yield entry_of(
            intake, list(join_thoughts(turns)), next(filter(None, map(word, named)), None), extra=record.notes
        )


def _turns(message: Mapping[str, Any], number: int, intake: Intake) -> Iterator[Turn]:
    parts = [plain_object(part) for part in plain_list(message.get("parts"))]
    if message.get("kind") == "response":
        content = [_answered(part) for part in parts]
        found: Iterator[Turn] = message_turns({"role": AGENT, "content": content}, intake)
    else:
        policy = word(message.get("instructions")) if number == 1 else ""
        asked = (turn for part in parts for turn in _asked(part, intake))
        found = iter([Turn(SYSTEM, policy), *asked] if policy else [*asked])
    yield from (replace(turn, number=number) for turn in found)


def _answered(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part of a response with its type in the field of other dialects."""
    kind = word(part.get("part_kind"))
    if kind == "file":
        return _media(plain_object(part.get("content")))
    return {"type": kind, **({name: part.get(name) for name in _CALL} if kind.endswith("tool-call") else part)}


def _media(part: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = word(part.get("kind"))
    return {**part, "type": "image" if kind == "binary" else _TYPES.get(kind, kind)}


def _asked(part: Mapping[str, Any], intake: Intake) -> Iterator[Turn]:
    kind, content = word(part.get("part_kind")), part.get("content")
    if kind == "system-prompt":
        yield Turn(SYSTEM, as_text(content))
    elif kind == "user-prompt":
        shown = [_media(one) if isinstance(one, dict) else one for one in plain_list(content)] or content
        yield from message_turns({"role": USER, "content": shown}, intake)
    elif kind == "tool-return":
        denied = part.get("outcome") == "denied"
        turn = result_turn({"tool_call_id": part.get("tool_call_id"), "content": content}, intake)
        yield replace(turn, step_extra=build_decision_extra("reject", _BY, turn.text) if denied else {})
    elif kind in _RETRIES:
        text, _ = result_text(content, intake)
        yield Turn(TOOL, text, answers=word(part.get("tool_call_id")) if part.get("tool_name") else "")
    else:
        intake.leave_out(f"part of type {kind or 'none'}")


IMPORTER = Importer(_NAME, "Messages of Pydantic AI", read, _MARKS)
