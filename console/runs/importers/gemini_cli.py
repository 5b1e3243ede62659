"""Gemini CLI sessions: one JSON object, or an append-only log of messages with patches and rewinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, LoggedCall, Turn, join_thoughts
from console.runs.importers.parts.intake import Intake, as_text, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import first_values, objects, outline
from console.runs.importers.parts.message_parts import result_turn, spoken_text
from console.runs.importers.parts.sessions import session_entries
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress
from console.trajectory import Picture

_NAME = "gemini-cli"
_SPEAKERS = {"user": USER, "gemini": AGENT, "model": AGENT, "assistant": AGENT}
_NOTICES = frozenset({"info", "error", "warning"})
_FACTS = ("projectHash", "startTime", "lastUpdated", "summary", "directories", "kind")
_REPLY = ("output", "error")
_STREAM = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})


def recognises(path: Path, head: bytes) -> bool:
    """Return whether the file begins with a session object, or with the header, a patch or an answer of its log."""
    paths = outline(head)
    if {".sessionId", ".messages"} <= paths:
        return ".projectHash" in paths or {".messages[].type", ".messages[].id"} <= paths
    if {".type", ".content", ".toolCalls[].name"} <= paths:
        return True
    return any(
        {"sessionId", "projectHash"} <= one.keys() or "$set" in one or {"type", "tool_name", "tool_id"} <= one.keys()
        for one in first_values(head)
    )


def read(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of each session, or whole sessions if `whole`."""
    session: _Session | None = None
    for record in objects(path, progress):
        value = record.value
        if value.get("type") == "init":
            value = {"sessionId": value.get("session_id"), "model": value.get("model")}
        if session is None or (isinstance(value.get("sessionId"), str) and value["sessionId"] != session.id):
            if session is not None and session.messages:
                yield from session.entries(whole)
            session = _Session(Intake(path, record.line, _NAME), word(value.get("sessionId")))
        session.add(value, record.line)
    if session is not None and session.messages:
        yield from session.entries(whole)


@dataclass(slots=True)
class _Session:
    intake: Intake
    id: str
    facts: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    """The last version of each message with its line, in the order of the first versions."""
    rewound: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)

    def add(self, value: Mapping[str, Any], line: int) -> None:
        """Add a line of the log, or a whole session object."""
        if "$rewindTo" in value:
            self._rewind(word(value["$rewindTo"]))
        elif (word(value.get("type")) in _STREAM and "content" not in value) or value.get("type") == "message":
            self._stream(value, line)
        elif "type" in value and "sessionId" not in value:
            self._put(value, line)
        else:
            patch = plain_object(value.get("$set")) or value
            self.facts |= {name: held for name, held in patch.items() if name not in ("messages", "sessionId")}
            for message in map(plain_object, plain_list(patch.get("messages"))):
                self._put(message, line)

    def _stream(self, event: Mapping[str, Any], line: int) -> None:
        """Add an event of `gemini --output-format stream-json`: a piece of a message, a call, or a result."""
        kind, last = event.get("type"), next(reversed(self.messages), "")
        held = dict(self.messages[last][1]) if last else {}
        if kind == "message":
            is_more = event.get("delta") is True and held.get("type") == event.get("role") and not held.get("toolCalls")
            text = f"{held['content']}{event.get('content')}" if is_more else event.get("content")
            self._put({"id": last if is_more else f"line {line}", "type": event.get("role"), "content": text}, line)
        elif kind == "tool_use":
            called = {"name": event.get("tool_name"), "id": event.get("tool_id"), "args": event.get("parameters")}
            own = (
                held if held.get("type") == "assistant" else {"id": f"line {line}", "type": "assistant", "content": ""}
            )
            self._put({**own, "toolCalls": [*plain_list(own.get("toolCalls")), called]}, line)
        elif kind == "tool_result":
            for name, (at, one) in self.messages.items():
                calls = [plain_object(call) for call in plain_list(one.get("toolCalls"))]
                if any(call.get("id") == event.get("tool_id") for call in calls):
                    given = event.get("output", event.get("error"))
                    told = {"result": given, "status": event.get("status")}
                    same = [{**call, **told} if call.get("id") == event.get("tool_id") else call for call in calls]
                    self.messages[name] = at, {**one, "toolCalls": same}
        elif kind == "error":
            self._put({"type": "error", "content": event.get("message")}, line)

    def _put(self, message: Mapping[str, Any], line: int) -> None:
        name = word(message.get("id")) or f"{line} {len(self.messages)}"
        self.messages[name] = (self.messages.get(name, (line,))[0], message)

    def _rewind(self, name: str) -> None:
        """Move the message and all later messages of the session to a separate trajectory."""
        names = list(self.messages)
        for one in names[names.index(name) :] if name in names else []:
            self.rewound[one] = self.messages.pop(one)

    def entries(self, whole: bool) -> Iterator[Entry]:
        """Yield the session, then its rewound parts."""
        session, extra = self.id or self.intake.path.stem, collect_fields(self.facts, *_FACTS)
        yield from session_entries(self.intake, self._turns(self.messages), session, whole=whole, extra=extra)
        if self.rewound:
            intake = Intake(self.intake.path, next(iter(self.rewound.values()))[0], _NAME)
            turns = [turn for line, one in self.rewound.values() for turn in _turns(one, line, intake)]
            yield from session_entries(intake, turns, f"{session}/rewound", whole=whole, extra=extra)

    def _turns(self, messages: Mapping[str, tuple[int, Mapping[str, Any]]]) -> list[Turn]:
        return list(join_thoughts(turn for line, one in messages.values() for turn in _turns(one, line, self.intake)))


def _turns(message: Mapping[str, Any], line: int, intake: Intake) -> Iterator[Turn]:
    intake.at, kind = line, word(message.get("type"))
    text = spoken_text(intake.expected(message, "message", "content"), intake)
    if kind in _NOTICES:
        yield Turn(USER, text, number=line, is_context=True)
        return
    if kind not in _SPEAKERS:
        intake.leave_out(f"message of type {kind or 'none'}")
        return
    if _SPEAKERS[kind] == USER:
        yield Turn(USER, text, number=line)
        return
    calls = _all_calls(message)
    made = tuple(_call(one, line, place, intake) for place, one in enumerate(calls))
    thought = "\n\n".join(filter(None, map(_thought, plain_list(message.get("thoughts")))))
    if text or made or thought:
        yield Turn(AGENT, text, thought=thought, calls=made, number=line)
    for call, one in zip(made, calls, strict=True):
        yield from _results(call, one, line, intake)


def _all_calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the message's calls; the arguments, and calls without a result, may be in its content only."""
    parts = (plain_object(part) for part in plain_list(message.get("content")))
    told = {word(one.get("name")): one for part in parts if (one := plain_object(part.get("functionCall")))}
    calls = [plain_object(one) for one in plain_list(message.get("toolCalls"))]
    whole = [one if "args" in one else {**told.pop(word(one.get("name")), {}), **one} for one in calls]
    return [*whole, *(one for name, one in told.items() if all(name != call.get("name") for call in calls))]


def _call(one: Mapping[str, Any], line: int, place: int, intake: Intake) -> LoggedCall:
    name = word(one.get("name"))
    if not name.strip():
        raise intake.refusal("A call has no name. Add its tool's name, or remove the call.")
    status = word(one.get("status"))
    extra = {"status": status} if status and status != "success" else {}
    return LoggedCall(name, intake.expected(one, "call", "args"), word(one.get("id")) or f"{line} {place}", extra)


def _thought(one: object) -> str:
    told = plain_object(one)
    return ": ".join(filter(None, (word(told.get("subject")), word(told.get("description"))))) or word(one)


def _parts(given: object) -> Iterator[object]:
    """Yield the parts of a result: one part, a list of parts, or nested lists."""
    if isinstance(given, list):
        for one in given:
            yield from _parts(one)
    elif given is not None:
        yield given


def _results(call: LoggedCall, one: Mapping[str, Any], line: int, intake: Intake) -> Iterator[Turn]:
    given, texts, pictures = one.get("result", one.get("resultDisplay")), list[str](), list[Picture]()
    for part in _parts(given):
        response = plain_object(plain_object(part).get("functionResponse")).get("response")
        if isinstance(response, dict):
            told = intake.expected(response, "result", *_REPLY)
            texts.append(as_text(response if told is None else told))
            continue
        turn = result_turn({"content": [part] if isinstance(part, dict) else part}, intake)
        texts.append(turn.text)
        pictures += turn.pictures
    if texts:
        yield Turn(TOOL, "\n".join(texts), answers=call.id, pictures=tuple(pictures), number=line)


IMPORTER = Importer(
    _NAME,
    "Gemini CLI sessions",
    read,
    ((".sessionId", ".messages[].type"), (".sessionId", ".projectHash"), (".type", ".content", ".toolCalls[].name")),
    recognises=recognises,
    read_whole=partial(read, whole=True),
    critical=SHELL_TOOLS,
)
