"""Cursor's agent: the events that `cursor-agent` prints as `stream-json`, and its transcripts, one message per line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, LoggedCall, Turn
from console.runs.importers.parts.intake import Intake, as_text, plain_object, word
from console.runs.importers.parts.json_records import first_values, objects
from console.runs.importers.parts.message_parts import message_turns
from console.runs.importers.parts.sessions import joined_words, session_entries
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress, build_decision_extra

_NAME = "cursor"
_MARKS = ((".type", ".subtype", ".tool_call"), (".role", ".message.content"))
_QUIET = frozenset({"system", "result", "turn_ended"})
_ABOUT = ("name", "result", "description")
_QUERY = re.compile(r"\s*</?user_query>\s*")
_SHOWN = ("content", "stdout", "stderr", "output", "reason", "error", "message")
"""The fields of a result with its text; a result without these fields is shown as JSON."""


def recognises(path: Path, head: bytes) -> bool:
    """Return whether one of the first lines is a tool call of the stream, or a message of a transcript."""
    return any(
        (one.get("type") == "tool_call" and isinstance(one.get("tool_call"), dict))
        or ("role" in one and isinstance(one.get("message"), dict) and "type" not in one)
        for one in first_values(head)
    )


def read(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of each session in the file, or whole sessions if `whole`."""
    session, turns, intake = "", list[Turn](), Intake(path, 1, _NAME)
    for record in objects(path, progress):
        name = word(record.value.get("session_id"))
        if turns and name and session and name != session:
            yield from session_entries(intake, _join_pieces(turns), session, whole=whole)
            turns, intake = [], Intake(path, record.line, _NAME)
        session, intake.at = name or session, record.line
        turns += [replace(turn, number=record.line) for turn in _turns(record.value, turns, intake)]
    if turns:
        yield from session_entries(intake, _join_pieces(turns), session or path.stem, whole=whole)


def _turns(value: Mapping[str, Any], before: list[Turn], intake: Intake) -> Iterator[Turn]:
    kind, call_id = word(value.get("type")), word(value.get("call_id"))
    if isinstance(value.get("message"), dict):
        message = {"role": value.get("role", kind), **value["message"]}
        for turn in message_turns(message, intake):
            yield replace(turn, text=_QUERY.sub("", turn.text)) if turn.role == USER else turn
    elif kind == "thinking":
        if text := word(value.get("text")):
            yield Turn(AGENT, thought=text)
    elif kind == "tool_call" and {"tool_call", "result"} & value.keys():
        told = {field: one for field, one in plain_object(value.get("tool_call")).items() if isinstance(one, dict)}
        result = plain_object(told.pop("result", None) or value.get("result"))
        if told:
            call, own = _call(*next(iter(told.items())), call_id, intake)
            result = own or result
            if not any(one.id == call_id for turn in before for one in turn.calls):
                yield Turn(AGENT, calls=(call,))
        if result:
            outcome, held = next(((key, one) for key, one in result.items() if isinstance(one, dict)), ("", result))
            extra = build_decision_extra("reject", "the user of the session") if outcome == "rejected" else {}
            yield Turn(TOOL, _text(outcome, held), answers=call_id, step_extra=extra)
    elif kind not in _QUIET:
        intake.leave_out(f"line of type {kind or 'none'}")


def _call(key: str, held: Mapping[str, Any], call_id: str, intake: Intake) -> tuple[LoggedCall, dict[str, Any]]:
    """Return (call, result or {}) from the field of the call that is named for its tool, such as `shellToolCall`."""
    given = held.get("args", held.get("arguments"))
    name = word(held.get("name")) or key.removesuffix("ToolCall")
    if given is None:
        given = {field: one for field, one in held.items() if field not in _ABOUT}
        if given:
            intake.leave_out("call without its field args (its other fields were taken)")
    if isinstance(given, dict):
        name = word(given.get("toolName")) or name
        given = {field: one for field, one in given.items() if field != "toolCallId"}
        given = given["args"] if key == "mcpToolCall" and "args" in given else given
    if not name:
        raise intake.refusal("A call has no name. Add its tool's name, or remove the call.")
    return LoggedCall(name, given, call_id), plain_object(held.get("result"))


def _text(outcome: str, held: object) -> str:
    texts = [held[name] for name in _SHOWN if word(held.get(name))] if isinstance(held, dict) else []
    text = "\n".join(texts) or as_text(held)
    code = plain_object(held).get("exitCode", plain_object(held).get("exit_code"))
    text = f"{text}\nexit code {code}" if code not in (None, 0) else text
    return text if outcome in ("", "success") else f"{outcome}\n{text}"


def _join_pieces(turns: list[Turn]) -> list[Turn]:
    """Return the turns with the pieces of a streamed text or thought as one turn; the whole text may follow them."""
    found: list[Turn] = []
    for turn in turns:
        last = found[-1] if found else None
        is_piece = last is not None and last.role == turn.role == AGENT and not (last.calls or turn.calls)
        if last is not None and is_piece and bool(last.text) == bool(turn.text):
            text = last.text if turn.text.strip() == last.text.strip() else last.text + turn.text
            found[-1] = replace(last, text=text, thought=last.thought + turn.thought)
        else:
            found.append(turn)
    return list(joined_words(found))


IMPORTER = Importer(
    _NAME,
    "Cursor agent output and transcripts",
    read,
    _MARKS,
    recognises=recognises,
    read_whole=partial(read, whole=True),
    critical=SHELL_TOOLS,
)
