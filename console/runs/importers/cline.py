"""Tasks of Cline, Roo Code and their forks: the messages in `api_conversation_history.json`.

Older versions write a call as tags in the agent's text and its result as a text of the user.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, Turn
from console.runs.importers.parts.intake import Intake, plain_list, plain_object, word
from console.runs.importers.parts.json_records import json_records
from console.runs.importers.parts.message_parts import message_turns
from console.runs.importers.parts.part_kinds import add_part_type, is_call, is_result
from console.runs.importers.parts.sessions import joined_words, session_entries
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress, WrittenCalls

_NAME = "cline"
_MARKS = (("[].role", "[].content"),)
_DETAILS = "<environment_details>"
_CALL = re.compile(r"<([a-z]+(?:_[a-z]+)+)>(\s*<\w+>.*?)</\1>", re.DOTALL)
_CUT_OFF = re.compile(r"<([a-z]+(?:_[a-z]+)+)>\s*<\w+>")
_WRITTEN = WrittenCalls(
    re.compile(r"(?:^|\.|\])(?:content|text)$"),
    re.compile(r"(?s)<[a-z]+(?:_[a-z]+)+>(\s*<\w+>.*)</[a-z]+(?:_[a-z]+)+>"),
)
_PARAMETER = re.compile(r"\s*<(\w+)>")
_LONG = ("content", "diff")
"""Parameters with a file's text, which may contain the closing tag."""
_NESTED = ("args", "file", "follow_up")
_RESULT = re.compile(
    r"\A\s*\[([\w.-]+)(?: for .*?)?\] Result:\s*|\A\s*(?=Tool \[([\w.-]+)\] was not executed)", re.DOTALL
)
_WORDS = re.compile(r"<(task|feedback|user_message)>\s*(.*?)\s*</\1>", re.DOTALL)
_QUIET = re.compile(r"\s*(?:<environment_details>|\[|#|\Z)")
"""The beginning of a text that the tool wrote in the user's role."""

_Waiting = list[tuple[str, str]]
"""The (name, id) of the calls without a result."""


def read(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of each task in the file, or whole tasks if `whole`."""
    for record in json_records(path, progress, *_MARKS):
        intake = Intake(path, record.line, _NAME)
        messages = plain_list(record.value)
        if not messages or not all(isinstance(one, dict) for one in messages):
            raise intake.refusal(
                "This record is not a list of messages. Fix the record or remove it, then import again."
            )
        parts = [
            add_part_type(part) for one in messages for part in plain_list(one.get("content")) if isinstance(part, dict)
        ]
        in_tags = not any(is_call(part) or is_result(part) for part in parts)
        turns: list[Turn] = []
        waiting: _Waiting = []
        for number, message in enumerate(messages, 1):
            told = _agent_turns if message.get("role") == AGENT else _user_turns
            message = {**message, "content": _parts_of(message.get("content"))}
            if told is _agent_turns and in_tags:
                message["content"] = [*_with_calls(message["content"], number, intake)]
            turns += [replace(turn, number=number) for turn in told(message, waiting, intake)]
        first = hashlib.sha1(orjson.dumps(messages[0]), usedforsecurity=False).hexdigest()[:12]
        yield from session_entries(intake, list(joined_words(turns)), f"task-{first}", whole=whole, extra=record.notes)


def _parts_of(content: object) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else plain_list(content)


def _agent_turns(message: Mapping[str, Any], waiting: _Waiting, intake: Intake) -> Iterator[Turn]:
    for turn in message_turns(dict(message), intake):
        waiting[:] = [(call.name, call.id) for call in turn.calls] or waiting
        yield turn


def _user_turns(message: Mapping[str, Any], waiting: _Waiting, intake: Intake) -> Iterator[Turn]:
    """Yield the turns of a message by the tool: results first, then the user's words and the rest."""
    answers: str | None = None
    groups: list[tuple[str | None, list[Any]]] = []
    for part in message["content"]:
        text = word(plain_object(part).get("text"))
        if begun := _RESULT.match(text):
            answers = _answered(begun[1] or begun[2], waiting)
            groups.append((answers, [{**part, "text": text[begun.end() :]}]))
        elif answers is not None and groups and not text.lstrip().startswith(_DETAILS):
            groups[-1][1].append(part)
        else:
            answers = None
            groups.append((None, [part]))
    for answered, held in groups:
        for turn in message_turns({**message, "content": held}, intake):
            is_result_text = answered is not None and turn.role == USER
            yield from _spoken(replace(turn, role=TOOL, answers=answered or "") if is_result_text else turn)


def _answered(name: str, waiting: _Waiting) -> str:
    """Return the id of the first call with this name that waits for its result, and remove it, or return ""."""
    place = next((place for place, (called, _) in enumerate(waiting) if called == name), None)
    return "" if place is None else waiting.pop(place)[1]


def _spoken(turn: Turn) -> Iterator[Turn]:
    """Yield the turn without the user's own words, and each of them as a turn."""
    said = [told[2] for told in _WORDS.finditer(turn.text) if told[2]]
    rest = _WORDS.sub("", turn.text).strip() if said else turn.text
    if turn.role == TOOL or rest or turn.pictures:
        quiet = turn.role == USER and not turn.pictures and (bool(said) or _QUIET.match(rest) is not None)
        yield replace(turn, text=rest, is_context=quiet)
    for words in said:
        yield Turn(USER, words)


def _with_calls(parts: list[Any], number: int, intake: Intake) -> Iterator[Any]:
    for place, part in enumerate(parts):
        text = word(plain_object(part).get("text"))
        calls = [*_CALL.finditer(text)]
        rest = _CALL.sub("", text).strip() if calls else text
        for name in _CUT_OFF.findall(rest):
            intake.leave_out(f"call of {name} written as tags without an end (it stays in the text)")
        if rest or not calls:
            yield {**part, "text": rest} if calls else part
        for order, call in enumerate(calls):
            yield {
                "type": "tool_use",
                "id": f"{number}.{place}.{order}",
                "name": call[1],
                "input": _parameters(call[2]),
            }


def _parameters(text: str) -> dict[str, Any]:
    """Return the parameters of a call in tags; a repeated parameter becomes a list."""
    found: dict[str, Any] = {}
    at = 0
    while begun := _PARAMETER.search(text, at):
        name, closing = begun[1], f"</{begun[1]}>"
        end = text.rfind(closing, begun.end()) if name in _LONG else text.find(closing, begun.end())
        at = len(text) if end < 0 else end + len(closing)
        value = _value(name, text[begun.end() : end if end >= 0 else at])
        found[name] = (
            [*(found[name] if isinstance(found[name], list) else [found[name]]), value] if name in found else value
        )
    return found


def _value(name: str, text: str) -> Any:
    if name in _LONG:
        return text.removeprefix("\n").removesuffix("\n")
    if name in _NESTED and _PARAMETER.match(text):
        return _parameters(text)
    if name == "arguments":
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text.strip()
    return text.strip()


IMPORTER = Importer(
    _NAME,
    "Cline and Roo Code tasks",
    read,
    _MARKS,
    words=re.compile(_DETAILS.encode()),
    read_whole=partial(read, whole=True),
    written=_WRITTEN,
    critical=SHELL_TOOLS,
)
