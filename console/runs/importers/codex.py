"""Codex rollouts and the output of `codex exec --json`: items of Codex or of the Responses API, one per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, LoggedCall, Turn, join_thoughts
from console.runs.importers.parts.intake import Intake, collect_fields, plain_object, word
from console.runs.importers.parts.json_records import first_values, objects
from console.runs.importers.parts.message_parts import read_turns, result_text
from console.runs.importers.parts.sessions import request_text, session_entries
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress

_NAME = "codex"
_BEGINS = ("session_meta", "thread.started")
_ENVELOPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_STREAM = ("item.started", "item.updated", "item.completed")
_QUIET = frozenset({*_BEGINS, "turn_context", "event_msg", "turn.started", "turn.completed"}) | {"token_usage_record"}
_FACTS = ("cwd", "originator", "cli_version", "model_provider", "instructions")
_GIVEN = ("aggregated_output", "result", "output", "error")
_NOT_ARGUMENTS = frozenset({"id", "type", "item_type", "status", "exit_code", *_GIVEN})
_SAID = ("agent_message", "assistant_message")
_TOLD = {"user_message": USER, "agent_message": AGENT}
_ACTING = ("command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call")


def recognises(path: Path, head: bytes) -> bool:
    """Return whether one of the first lines is a rollout envelope or a stream event."""
    return any(
        (word(value.get("type")) in _ENVELOPES and "payload" in value)
        or value.get("type") == "thread.started"
        or (value.get("type") in _STREAM and "item" in value)
        or value.get("record_type") == "state"
        for value in first_values(head)
    )


def read(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of each session in the file, or whole sessions if `whole`."""
    session: _Session | None = None
    for record in objects(path, progress):
        kind = _kind(record.value)
        if session is None or (kind in _BEGINS and not session.is_fork_of(record.value)):
            if session is not None and session.is_any:
                yield from session.entries(whole)
            session = _Session(Intake(path, record.line, _NAME))
        session.add(record.value, record.line)
    if session is not None and session.is_any:
        yield from session.entries(whole)


@dataclass(slots=True)
class _Session:
    intake: Intake
    facts: dict[str, Any] = field(default_factory=dict)
    asked: str = ""
    messages: list[Any] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    items: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    """Items of the stream by id: the line of the first version and the content of the last version."""
    names: dict[str, str] = field(default_factory=dict)
    completed: set[str] = field(default_factory=set)
    told: list[Turn] = field(default_factory=list)
    """The messages of the user and the agent among the events, which usually repeat the items."""

    @property
    def is_any(self) -> bool:
        """True if the session has at least one line."""
        return bool(self.facts or self.messages or self.items)

    def is_fork_of(self, value: Mapping[str, Any]) -> bool:
        """Return whether the session is a fork and this line is the quoted header of its parent session."""
        source = self.facts.get("forked_from_id") or (self.facts.get("id") if not self.messages else None)
        return source is not None and plain_object(value.get("payload")).get("id") == source

    def add(self, value: Mapping[str, Any], line: int) -> None:
        kind, payload = _kind(value), value if _is_first_version(value) else value.get("payload")
        self.intake.at = line
        if kind in _BEGINS and not self.facts:
            self.facts = {**plain_object(payload)} or {"id": value.get("thread_id")}
        elif kind == "response_item" and isinstance(payload, dict):
            self.messages.append(payload)
            self.lines.append(line)
        elif kind in _STREAM and isinstance(value.get("item"), dict):
            item = value["item"]
            if "id" not in item:
                self.intake.leave_out("item without its id")
            name = str(item.get("id", f"line {line}"))
            if kind == "item.started" or name in self.completed:
                # Numbers of items start again if a log was continued.
                self.names[name] = name if name not in self.items else f"{name} {line}"
                self.completed.discard(name)
            known = self.names.setdefault(name, name)
            self.items[known] = (self.items.get(known, (line, {}))[0], {**item, "id": known})
            self.completed |= {name} if kind == "item.completed" else set()
        elif kind == "event_msg" and (role := _TOLD.get(word(plain_object(payload).get("type")))):
            text = str(plain_object(payload).get("message") or "")
            self.asked = self.asked or (text if role == USER else "")
            self.told.append(Turn(role, text, number=line))
        elif kind not in _QUIET:
            self.intake.leave_out(f"line of type {kind}")

    def entries(self, whole: bool) -> Iterator[Entry]:
        turns: list[Turn] = []
        for line, message in zip(self.lines, self.messages, strict=True):
            self.intake.at = line
            turns += read_turns([message], self.intake, line)
        for line, item in self.items.values():
            self.intake.at = line
            turns += _item_turns(item, line, self.intake)
        roles = {turn.role for turn in turns if turn.text.strip()}
        if events := [one for one in self.told if one.role not in roles] if self.messages else []:
            turns = sorted([*turns, *events], key=lambda turn: turn.number)
        told, extra = self.facts.get("id"), collect_fields(self.facts, *_FACTS)
        session, asked = told if isinstance(told, str) else self.intake.path.stem, request_text(self.asked)
        policy = word(plain_object(self.facts.get("base_instructions")).get("text"))
        joined = [*([Turn(SYSTEM, policy)] if policy else []), *join_thoughts(turns)]
        yield from session_entries(self.intake, joined, session, whole=whole, asked=asked, extra=extra)


def _kind(value: Mapping[str, Any]) -> str:
    """Return the kind of a line; lines of version 1 hold items and session data without an envelope."""
    if not _is_first_version(value):
        return word(value.get("type"))
    return "response_item" if "type" in value else "session_meta" if "instructions" in value else "turn_context"


def _is_first_version(value: Mapping[str, Any]) -> bool:
    if "type" not in value:
        return "record_type" in value or {"id", "instructions"} <= value.keys()
    return "payload" not in value and word(value["type"]).endswith(("message", "reasoning", "_call", "_output"))


def _item_turns(item: Mapping[str, Any], line: int, intake: Intake) -> Iterator[Turn]:
    """Yield the turns of a stream item: a text, or a call with its result (without a result if unfinished)."""
    kind = str(item.get("type") or item.get("item_type"))
    if kind in (*_SAID, "reasoning"):
        told = str(item.get("text") or "")
        yield Turn(AGENT, number=line, text=told) if kind in _SAID else Turn(AGENT, number=line, thought=told)
        return
    if kind not in _ACTING:
        intake.leave_out(f"item of type {kind}")
        return
    call = _call(kind, item)
    if kind == "mcp_tool_call" and "arguments" not in item and item.keys() - _NOT_ARGUMENTS - {"server", "tool"}:
        intake.leave_out("call without its arguments")
    yield Turn(AGENT, calls=(call,), number=line)
    has_result = kind != "command_execution" or any(name in item for name in _GIVEN)
    if item.get("status") == "completed" and not has_result:
        intake.leave_out("call without its result")
    given = [result_text(item[name], intake)[0] for name in _GIVEN if item.get(name) is not None]
    if item.get("exit_code") not in (None, 0):
        given.append(f"exit code {item['exit_code']}")
    if given or item.get("status") in ("completed", "failed"):
        yield Turn(TOOL, "\n".join(text for text in given if text), answers=call.id, number=line)


def _call(kind: str, item: Mapping[str, Any]) -> LoggedCall:
    if kind == "mcp_tool_call" and item.get("tool"):
        server = f"mcp__{item['server']}__" if item.get("server") else ""
        return LoggedCall(f"{server}{item['tool']}", item.get("arguments"), str(item.get("id") or ""))
    arguments = {name: value for name, value in item.items() if name not in _NOT_ARGUMENTS}
    return LoggedCall(kind, arguments, str(item.get("id") or ""))


IMPORTER = Importer(
    _NAME,
    "Codex rollouts and exec streams",
    read,
    ((".type", ".payload"), (".type", ".item"), (".thread_id", ".type")),
    recognises=recognises,
    read_whole=partial(read, whole=True),
    critical=SHELL_TOOLS,
)
