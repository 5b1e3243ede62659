"""OpenCode sessions: an export, the messages of its API, or the event stream of `opencode run --format json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, LoggedCall, Turn
from console.runs.importers.parts.intake import Intake, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import first_values, group_records, objects, outline
from console.runs.importers.parts.message_parts import result_text
from console.runs.importers.parts.sessions import joined_words, session_entries
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress

_NAME = "opencode"
_FACTS = ("title", "directory", "version", "parentID", "projectID")
_STREAM = frozenset({"text", "reasoning", "tool_use", "step_start", "step_finish", "error"})
_QUIET = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction"})
_ROLES = {"user": USER, "assistant": AGENT}


def recognises(_path: Path, head: bytes) -> bool:
    """Return whether the file begins with a session, with a message of a session, or with a stream event."""
    paths = outline(head)
    if {".info.id", ".messages[].info", ".messages[].parts"} <= paths:
        return True
    if any({f"{base}.info.role", f"{base}.info.sessionID", f"{base}.parts"} <= paths for base in ("", "[]")):
        return True
    return any(
        word(value.get("type")) in _STREAM and "part" in value and "sessionID" in value for value in first_values(head)
    )


def read(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of each session in the file, or whole sessions if `whole`."""
    for session, records in group_records(_records(path, progress), path):
        intake = Intake(path, records[0].line, _NAME)
        if not any({"messages", "parts", "part"} & one.value.keys() for one in records):
            continue
        info: Mapping[str, Any] = {}
        turns: list[Turn] = []
        numbers: dict[str, int] = {}
        for record in records:
            intake.at, value = record.line, record.value
            info = info or (plain_object(value.get("info")) if "messages" in value else {})
            for message in plain_list(value.get("messages")) if "messages" in value else [value]:
                held = plain_object(message)
                part, about = plain_object(held.get("part")), plain_object(held.get("info"))
                name = word(about.get("id")) or word(part.get("messageID"))
                number = numbers.setdefault(name or f"line {len(numbers)}", len(numbers) + 1)
                turns += _message_turns(held, number, intake)
        extra = collect_fields(info, *_FACTS)
        told = list(joined_words(turns))
        yield from session_entries(intake, told, session or path.stem, whole=whole, extra=extra)


def _records(path: Path, progress: Progress | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for record in objects(path, progress, (".info", ".parts")):
        info = plain_object(record.value.get("info"))
        name = word(info.get("id")) if "messages" in record.value else word(info.get("sessionID"))
        yield name or word(record.value.get("sessionID")), record.line, record.value


def _message_turns(message: Mapping[str, Any], number: int, intake: Intake) -> Iterator[Turn]:
    info = plain_object(message.get("info"))
    if "part" in message:
        info, parts = {"role": "assistant"}, [message["part"]]
    else:
        parts = plain_list(intake.expected(message, "message", "parts"))
    role = _ROLES.get(word(info.get("role")))
    if role is None:
        intake.leave_out(f"message of role {word(info.get('role')) or 'none'}")
        return
    held = list(enumerate(map(plain_object, parts)))
    turns = [turn for place, part in held for turn in _part_turns(part, role, f"{number}.{place}", number, intake)]
    yield from turns if role == AGENT else _joined(turns)
    if error := plain_object(info.get("error")):
        told = word(plain_object(error.get("data")).get("message")) or word(error.get("name"))
        yield Turn(USER, told, number=number, is_context=True)


def _joined(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Yield the parts of a user's message as one turn, after the parts that the user did not write."""
    yield from (turn for turn in turns if turn.is_context)
    if spoken := [turn for turn in turns if not turn.is_context]:
        pictures = tuple(picture for turn in spoken for picture in turn.pictures)
        yield replace(spoken[0], text="\n".join(turn.text for turn in spoken), pictures=pictures)


def _part_turns(part: Mapping[str, Any], role: str, own: str, number: int, intake: Intake) -> Iterator[Turn]:
    kind = word(part.get("type"))
    if kind == "text":
        is_beside = part.get("synthetic") is True or part.get("ignored") is True
        text = word(intake.expected(part, "part", "text"))
        yield Turn(role, text, number=number, is_context=is_beside and role == USER)
    elif kind == "reasoning":
        yield Turn(AGENT, thought=word(intake.expected(part, "part", "text")), number=number)
    elif kind == "tool":
        yield from _tool_turns(part, own, number, intake)
    elif kind == "file":
        picture = intake.picture(part.get("url")) if word(part.get("mime")).startswith("image/") else None
        text = picture.text if picture else f"[file {word(part.get('filename'))}]"
        yield Turn(role, text, pictures=(picture,) if picture else (), number=number, is_context=picture is None)
    elif kind == "subtask":
        yield Turn(USER, word(part.get("prompt")), number=number)
    elif kind not in _QUIET:
        intake.leave_out(f"part of type {kind or 'none'}")


def _tool_turns(part: Mapping[str, Any], own: str, number: int, intake: Intake) -> Iterator[Turn]:
    name, state = word(part.get("tool")), plain_object(part.get("state"))
    if not name.strip():
        raise intake.refusal("A call has no name. Add its tool's name, or remove the call.")
    status = word(state.get("status"))
    extra = {"status": status} if status and status != "completed" else {}
    call = LoggedCall(name, intake.expected(state, "call", "input"), word(part.get("callID")) or own, extra)
    yield Turn(AGENT, calls=(call,), number=number)
    if status in ("completed", "error") or "output" in state or "error" in state:
        text, pictures = result_text(intake.expected(state, "result", "output", "error"), intake)
        pictures += _pictures(plain_list(state.get("attachments")), intake)
        yield Turn(TOOL, text, answers=call.id, pictures=tuple(pictures), number=number)


def _pictures(attachments: Sequence[Any], intake: Intake) -> list[Any]:
    held = [plain_object(one) for one in attachments]
    found = [intake.picture(one.get("url")) for one in held if word(one.get("mime")).startswith("image/")]
    return [one for one in found if one is not None]


IMPORTER = Importer(
    _NAME,
    "OpenCode sessions",
    read,
    ((".info.id", ".messages[].parts"), (".info.role", ".parts"), (".sessionID", ".part")),
    recognises=recognises,
    read_whole=partial(read, whole=True),
    critical=SHELL_TOOLS,
)
