"""Sessions of the coding agent pi: one entry per line; versions with branches form a tree of entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import USER, Turn, join_thoughts
from console.runs.importers.parts.intake import Intake, collect_fields, plain_object, word
from console.runs.importers.parts.json_records import Record, first_values, objects
from console.runs.importers.parts.message_parts import read_turns, spoken_text
from console.runs.importers.parts.sessions import session_entries
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress

_NAME = "pi"
_MESSAGES = ("message", "custom_message")
_SUMMARIES = ("compaction", "branch_summary", "context_transform", "ephemeral")
_QUIET = frozenset(
    {"session", "model_change", "thinking_level_change", "label", "session_info", "custom", "leaf"} | {*_SUMMARIES}
)
_FACTS = ("cwd", "version", "provider", "modelId", "thinkingLevel", "branchedFrom", "parentSession", "timestamp")
_NOT_SPOKEN = ("bashExecution", "branchSummary", "compactionSummary", "custom", "hookMessage")


def recognises(path: Path, head: bytes) -> bool:
    """Return whether the file begins with a session header or with an entry that contains a message."""
    values = first_values(head)
    first = next(values, {})
    if first.get("type") == "session" and "cwd" in first:
        return True
    return first.get("type") == "message" and "role" in plain_object(first.get("message")) and "uuid" not in first


def read(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of each session in the file, or whole sessions if `whole`."""
    events: list[Record] = []
    for record in objects(path, progress):
        if record.value.get("type") == "session" and events:
            yield from _session(path, events, whole)
            events = []
        events.append(record)
    if events:
        yield from _session(path, events, whole)


def _session(path: Path, events: Sequence[Record], whole: bool) -> Iterator[Entry]:
    if not any(one.value.get("type") in _MESSAGES for one in events):
        return
    head = events[0].value if events[0].value.get("type") == "session" else {}
    session = word(head.get("id")) or path.stem
    for number, branch in enumerate(_branches(events)):
        intake = Intake(path, branch[0].line, _NAME)
        turns = [turn for event in branch for turn in _turns(event, intake)]
        name = f"{session}/branch-{number}" if number else session
        yield from session_entries(
            intake, list(join_thoughts(turns)), name, whole=whole, extra=collect_fields(head, *_FACTS)
        )


def _branches(events: Sequence[Record]) -> list[list[Record]]:
    """Return the current branch of the session, then the abandoned parts; each entry is in exactly one list."""
    parents = {word(one.value.get("id")): word(one.value.get("parentId")) for one in events if "parentId" in one.value}
    if not parents:
        return [list(events)]
    current: set[str] = set()
    name = next((word(one.value.get("id")) for one in reversed(events) if "parentId" in one.value), "")
    while name and name not in current:
        current.add(name)
        name = parents.get(name, "")
    roots: dict[str, str] = {}
    for name, parent in parents.items():
        roots[name] = "" if name in current else roots.get(parent) or name
    found: dict[str, list[Record]] = {"": []}
    for event in events:
        found.setdefault(roots.get(word(event.value.get("id")), ""), []).append(event)
    return [branch for branch in found.values() if branch]


def _turns(event: Record, intake: Intake) -> Iterator[Turn]:
    value, intake.at = event.value, event.line
    kind = word(value.get("type"))
    if kind in _SUMMARIES:
        if summary := word(value.get("summary")):
            yield Turn(USER, summary, number=event.line, is_context=True)
        return
    if kind not in _MESSAGES:
        if kind not in _QUIET:
            intake.leave_out(f"line of type {kind or 'none'}")
        return
    message = plain_object(value.get("message")) or value
    role = word(message.get("role")) or ("custom" if kind == "custom_message" else "")
    if role in _NOT_SPOKEN:
        yield Turn(USER, _beside(role, message, intake), number=event.line, is_context=True)
    else:
        yield from read_turns([{**message, "role": "tool" if role == "toolResult" else role}], intake, event.line)


def _beside(role: str, message: Mapping[str, Any], intake: Intake) -> str:
    """Return the text of an entry from neither the user nor the agent, such as a command that the user ran."""
    if role != "bashExecution":
        return word(message.get("summary")) or spoken_text(message.get("content"), intake)
    code = message.get("exitCode")
    ended = f"\nexit code {code}" if code not in (None, 0) else ""
    return f"The user ran: {word(message.get('command'))}\n{word(message.get('output'))}{ended}"


IMPORTER = Importer(
    _NAME,
    "Sessions of the coding agent pi",
    read,
    ((".type", ".message.role", ".timestamp"), (".type", ".id", ".cwd")),
    recognises=recognises,
    read_whole=partial(read, whole=True),
    critical=SHELL_TOOLS,
)
