"""GitHub Copilot: chat sessions of VS Code (an export, a session file, or its log of changes), and CLI sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, LoggedCall, Turn
from console.runs.importers.parts.intake import Intake, as_text, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import first_values, objects, outline
from console.runs.importers.parts.message_parts import result_text
from console.runs.importers.parts.sessions import joined_words, session_entries
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress, build_decision_extra

_CHAT, _CLI = "copilot-chat", "copilot-cli"
_FACTS = ("customTitle", "responderUsername", "workingDirectory", "cwd", "copilotVersion", "selectedModel")
_QUIET_KINDS = frozenset(
    {"undoStop", "mcpServersStarting", "prepareToolInvocation", "codeblockUri", "progressMessage", "toolInvocation"}
    | {"progressTaskSerialized", "progressTask", "autoModeResolution", "references"}
)
_SET, _PUSH = 1, 2
_DENIED, _ALLOWED = 0, 4
_BY = "the user of the session"
_MOST_DEEP = 40

Request = Mapping[str, Any]


def read_chat(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of each chat session in the file, or whole sessions if `whole`."""
    state: dict[str, Any] = {}
    line = 1
    for record in objects(path, progress):
        if "kind" not in record.value:
            yield from _chat(path, record.line, record.value, whole)
        elif "k" in record.value:
            _apply(state, record.value)
        else:
            state, line = plain_object(record.value.get("v")), record.line
    if state:
        yield from _chat(path, line, state, whole)


def _apply(state: dict[str, Any], change: Mapping[str, Any]) -> None:
    """Apply one line of a log of changes: set the value at a path, or add values to the list there."""
    keys = plain_list(change.get("k"))
    holder: Any = state
    for key in keys[:-1]:
        holder = _at(holder, key)
    last: Any = keys[-1] if keys else None
    value, held = change.get("v"), _at(holder, last)
    if change.get("kind") == _PUSH and isinstance(held, list):
        if isinstance(change.get("i"), int):
            del held[change["i"] :]
        held.extend(plain_list(value))
    elif isinstance(holder, dict) or (isinstance(holder, list) and isinstance(last, int) and 0 <= last < len(holder)):
        holder[last] = value


def _at(holder: Any, key: Any) -> Any:
    if isinstance(holder, list):
        return holder[key] if isinstance(key, int) and 0 <= key < len(holder) else None
    return plain_object(holder).get(key) if isinstance(key, str) else None


def _chat(path: Path, line: int, session: Mapping[str, Any], whole: bool) -> Iterator[Entry]:
    intake = Intake(path, line, _CHAT)
    if not plain_list(session.get("requests")):
        return
    turns: list[Turn] = []
    for number, request in enumerate(map(plain_object, plain_list(session.get("requests"))), 1):
        turns += _request_turns(request, number, intake)
    name = word(session.get("sessionId")) or path.stem
    extra = collect_fields(session, *_FACTS)
    yield from session_entries(intake, list(joined_words(turns)), name, whole=whole, extra=extra)


def _request_turns(request: Request, number: int, intake: Intake) -> Iterator[Turn]:
    message = request.get("message")
    told = plain_object(message)
    parts = "".join(word(plain_object(one).get("text")) for one in plain_list(told.get("parts")))
    text = word(message) or word(told.get("text")) or parts or word(told.get("prompt"))
    if not text:
        intake.leave_out("request without its message")
    yield Turn(USER, text, number=number)
    result = plain_object(plain_object(request.get("result")).get("metadata"))
    rounds = [plain_object(one) for one in plain_list(result.get("toolCallRounds"))]
    given = request.get("response")
    response = [plain_object(one) for one in given] if isinstance(given, list) else [{"value": given}]
    made = [one for one in response if one.get("kind") == "toolInvocationSerialized"]
    called = sum(len(plain_list(one.get("toolCalls"))) for one in rounds)
    if rounds and called >= len(made):
        yield from _round_turns(rounds, plain_object(result.get("toolCallResults")), made, number, intake)
    else:
        yield from _response_turns(response, number, intake)


def _round_turns(
    rounds: Sequence[Request], results: Mapping[str, Any], made: Sequence[Request], number: int, intake: Intake
) -> Iterator[Turn]:
    """Yield the turns of a request from the model's own calls and results, which the session keeps beside its texts."""
    by_id = {word(one.get("toolCallId")): one for one in made}
    for place, one in enumerate(rounds):
        calls = []
        for at, call in enumerate(map(plain_object, plain_list(one.get("toolCalls")))):
            name = word(call.get("name"))
            if not name.strip():
                raise intake.refusal("A call has no name. Add its tool's name, or remove the call.")
            own = word(call.get("id")) or f"{number}.{place}.{at}"
            shown = by_id.get(own) or by_id.get(own.partition("__vscode")[0]) or {}
            calls.append(LoggedCall(name, intake.expected(call, "call", "arguments"), own, _decision(shown)))
        thought = plain_object(one.get("thinking")).get("text", one.get("thinking"))
        text = word(one.get("response"))
        thought = "\n".join(map(as_text, thought)) if isinstance(thought, list) else word(thought)
        if text or calls or thought:
            yield Turn(AGENT, text, thought=thought, calls=tuple(calls), number=number)
        for made_call in calls:
            if (held := results.get(made_call.id)) is not None:
                yield Turn(TOOL, "\n".join(_texts(held)), answers=made_call.id, number=number)


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a result, which may be a tree of prompt parts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < _MOST_DEEP:
        for one in value:
            yield from _texts(one, depth + 1)
    elif isinstance(value, dict) and depth < _MOST_DEEP:
        held = [value[name] for name in ("content", "value", "node", "children", "text", "output") if name in value]
        yield from _texts(held, depth + 1)


def _response_turns(response: Sequence[Request], number: int, intake: Intake) -> Iterator[Turn]:
    """Yield the turns of a request from the parts that the editor shows, such as those of a cancelled request."""
    words: list[str] = []
    for place, part in enumerate(response):
        kind = word(part.get("kind"))
        if kind in ("", "markdownContent", "markdownVuln"):
            words += _texts(part.get("value", part.get("content")))
        elif kind == "inlineReference":
            words.append(word(part.get("name")))
        elif kind == "thinking":
            yield from _said(words, number)
            yield Turn(AGENT, thought="\n".join(_texts(part.get("value"))), number=number)
        elif kind == "toolInvocationSerialized":
            yield from _said(words, number)
            yield from _invocation(part, f"{number}.{place}", number, intake)
        elif kind not in _QUIET_KINDS:
            intake.leave_out(f"part of kind {kind}")
    yield from _said(words, number)


def _said(words: list[str], number: int) -> Iterator[Turn]:
    if text := "".join(words).strip():
        yield Turn(AGENT, text, number=number)
    words.clear()


def _invocation(part: Request, own: str, number: int, intake: Intake) -> Iterator[Turn]:
    data, details = plain_object(part.get("toolSpecificData")), part.get("resultDetails")
    shown = plain_object(details)
    line = plain_object(data.get("commandLine"))
    command = next((line[name] for name in ("userEdited", "toolEdited", "original") if line.get(name)), None)
    command = command or data.get("command")
    given = data.get("rawInput", shown.get("input", {"command": command} if command else None))
    if given is None:
        intake.leave_out("call without its arguments (its message is kept)")
        given = {"message": "\n".join(_texts(part.get("invocationMessage")))}
    name = word(part.get("toolId")) or word(data.get("kind")) or "tool"
    call = LoggedCall(name, given, word(part.get("toolCallId")) or own, _decision(part))
    yield Turn(AGENT, calls=(call,), number=number)
    told = [*_texts(shown.get("output", details if isinstance(details, str) else None))]
    told = told or [*_texts(data.get("terminalCommandOutput"))] or [*_texts(part.get("pastTenseMessage"))]
    if told:
        yield Turn(TOOL, "\n".join(told), answers=call.id, number=number)


def _decision(part: Request) -> dict[str, Any]:
    """Return the person's decision on a call, or {} if no person decided."""
    told = part.get("isConfirmed")
    kind = _DENIED if told is False else plain_object(told).get("type")
    if isinstance(kind, bool) or kind not in (_DENIED, _ALLOWED):
        return {}
    return dict(build_decision_extra("reject" if kind == _DENIED else "approve", _BY))


def recognises_chat(_path: Path, head: bytes) -> bool:
    """Return whether the file begins with a chat session, or with the first state of its log of changes."""
    paths = outline(head)
    if {".requests[].message", ".requests[].response"} <= paths:
        return True
    return {".kind", ".v.requests"} <= paths or {".kind", ".v.sessionId", ".v.version"} <= paths


def recognises_cli(_path: Path, head: bytes) -> bool:
    """Return whether one of the first lines is an event of a CLI session."""
    kinds = ("session.start", "user.message", "assistant.message")
    return any(value.get("type") in kinds and isinstance(value.get("data"), dict) for value in first_values(head))


_QUIET_EVENTS = ("session.", "assistant.turn", "assistant.usage", "hook.", "result", "abort", "permission.")
_UNFINISHED = ("_delta", "_start", "_progress", "_partial_result")


def read_cli(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of each CLI session in the file, or whole sessions if `whole`."""
    events: list[tuple[int, Mapping[str, Any]]] = []
    for record in objects(path, progress):
        if record.value.get("type") == "session.start" and events:
            yield from _session(path, events, whole)
            events = []
        events.append((record.line, record.value))
    if any(isinstance(event.get("data"), dict) for _, event in events):
        yield from _session(path, events, whole)


def _session(path: Path, events: Sequence[tuple[int, Mapping[str, Any]]], whole: bool) -> Iterator[Entry]:
    intake = Intake(path, events[0][0], _CLI)
    facts = plain_object(events[0][1].get("data")) if events[0][1].get("type") == "session.start" else {}
    called: set[str] = set()
    turns = [turn for line, event in events for turn in _event_turns(event, line, called, intake)]
    name = next((name for _, one in events if (name := word(one.get("sessionId")))), path.stem)
    extra = collect_fields({**facts, **plain_object(facts.get("context"))}, *_FACTS)
    told = list(joined_words(turns))
    yield from session_entries(intake, told, word(facts.get("sessionId")) or name, whole=whole, extra=extra)


def _event_turns(event: Mapping[str, Any], line: int, called: set[str], intake: Intake) -> Iterator[Turn]:
    intake.at, kind, data = line, word(event.get("type")), plain_object(event.get("data"))
    speaker = word(data.get("parentToolCallId"))
    if kind == "user.message":
        yield Turn(USER, word(intake.expected(data, "message", "content")), number=line)
    elif kind == "system.message":
        yield Turn(SYSTEM, word(data.get("content")), number=line)
    elif kind == "assistant.reasoning":
        yield Turn(AGENT, thought=word(data.get("content")), number=line, speaker=speaker)
    elif kind == "assistant.message":
        asked = [plain_object(one) for one in plain_list(data.get("toolRequests"))]
        calls = tuple(_request_call(one, "name", intake) for one in asked)
        called |= {call.id for call in calls}
        text, thought = word(intake.expected(data, "message", "content")), word(data.get("reasoningText"))
        if text or calls or thought:
            yield Turn(AGENT, text, thought=thought, calls=calls, number=line, speaker=speaker)
    elif kind == "tool.execution_start":
        if word(data.get("toolCallId")) not in called:
            called.add(word(data.get("toolCallId")))
            yield Turn(AGENT, calls=(_request_call(data, "toolName", intake),), number=line, speaker=speaker)
    elif kind == "tool.execution_complete":
        error = plain_object(data.get("error"))
        given = intake.expected(data, "result", "result", "output", "error")
        told = plain_object(given).get("content", given)
        text, pictures = result_text(error.get("message", told) if error else told, intake)
        yield Turn(TOOL, text, answers=word(data.get("toolCallId")), pictures=tuple(pictures), number=line)
    elif not kind.startswith(_QUIET_EVENTS) and not kind.endswith(_UNFINISHED):
        intake.leave_out(f"event of type {kind or 'none'}")


def _request_call(one: Mapping[str, Any], name: str, intake: Intake) -> LoggedCall:
    if not word(one.get(name)).strip():
        raise intake.refusal("A call has no name. Add its tool's name, or remove the call.")
    return LoggedCall(one[name], intake.expected(one, "call", "arguments"), word(one.get("toolCallId")))


CHAT = Importer(
    _CHAT,
    "Copilot chat sessions of VS Code",
    read_chat,
    ((".requests[].message", ".requests[].response"), (".kind", ".v.requests")),
    recognises=recognises_chat,
    read_whole=partial(read_chat, whole=True),
    renames=True,
    critical=SHELL_TOOLS,
)
CLI = Importer(
    _CLI,
    "Copilot CLI sessions",
    read_cli,
    ((".type", ".data.content"), (".type", ".data.sessionId")),
    recognises=recognises_cli,
    read_whole=partial(read_cli, whole=True),
    critical=SHELL_TOOLS,
)
