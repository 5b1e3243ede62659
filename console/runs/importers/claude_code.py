"""Claude Code sessions, one event per line: a tree of messages with rewound branches, and the events of subagents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, Turn, first_words, join_thoughts
from console.runs.importers.parts.intake import Intake, as_text, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import Record, first_values, group_records, objects, outline
from console.runs.importers.parts.message_parts import message_turns
from console.runs.importers.parts.sessions import session_entries
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress, build_decision_extra

_NAME = "claude-code"
_SPEAKING = ("user", "assistant", "tool_result")
_BOOKKEEPING = frozenset(
    {"summary", "system", "file-history-snapshot", "queue-operation", "custom-title", "ai-title", "result"}
    | {"progress", "last-prompt", "permission-mode", "mode", "agent-name", "agent-setting", "pr-link", "tag"}
)
_QUEUED = "queued_command"
_BY_PEOPLE = (None, "human")
_REFUSALS = ("The user doesn't want to proceed with this tool use", "The user doesn't want to take this action")
_SAID = "the user said:"
_BY = "the user of the session"
_REPEATED = frozenset({"toolUseResult", "snapshot"})
_FACTS = ("cwd", "version", "gitBranch")
_EVENTS = ((".type", ".message.role"),)
"""The field paths of events in the web version's export, a single object with a list of events."""


def recognises(path: Path, head: bytes) -> bool:
    """Return whether one of the first lines is a message of a session, with its position in the tree."""
    paths = outline(head)
    if {".loglines[].type", ".loglines[].message.role"} <= paths:
        return True
    listed = {"[].type", "[].message.role"} <= paths and bool({"[].session_id", "[].sessionId"} & paths)
    return listed or any(value.get("type") in _SPEAKING and _is_event(value) for value in first_values(head))


def read(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of sessions, rewound branches and subagents, or whole sessions if `whole`.

    Each call is in exactly one trajectory.
    """
    found = ((one.line, one.value) for one in objects(path, progress, *_EVENTS))
    named = ((_text(value, "sessionId") or _text(value, "session_id"), line, _told(value)) for line, value in found)
    for session, events in group_records(named, path):
        yield from _Session(path, session, events).entries(whole)


def _told(value: dict[str, Any]) -> dict[str, Any]:
    """Return the event, or the inner event of a subagent's progress event, without the fields common to all events."""
    value = {name: held for name, held in value.items() if name not in _REPEATED}
    if (queued := _queued(value)) is not None:
        return queued
    data = plain_object(value.get("data"))
    held = plain_object(data.get("message"))
    if value.get("type") != "progress" or not isinstance(held.get("message"), dict):
        return value
    kind = held.get("type", held["message"].get("role"))
    known = {"type": kind, "uuid": value.get("uuid"), "agentId": data.get("agentId") or value.get("parentToolUseID")}
    return {"sessionId": value.get("sessionId"), "isSidechain": True, **known, **held, "parentUuid": None}


def _queued(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a text that the user typed while the agent worked as a message, or None if the event has no such text."""
    told = plain_object(value.get("attachment"))
    if value.get("type") == "queue-operation" and value.get("operation") == "remove":
        text, is_request = value.get("content"), True
    elif value.get("type") == "attachment" and told.get("type") == _QUEUED:
        text, by = told.get("prompt"), plain_object(told.get("origin")).get("kind")
        is_request = by in _BY_PEOPLE and told.get("commandMode") in (None, "prompt")
    else:
        return None
    message = {"role": USER, "content": text}
    return {**value, "type": USER, "message": message, _QUEUED: True, "isMeta": not is_request} if text else None


def _is_event(value: Mapping[str, Any]) -> bool:
    """Return whether the event is a session message, in a session file or in printed stream output."""
    placed = "uuid" in value if "sessionId" in value else "session_id" in value
    return placed and isinstance(value.get("message"), dict)


def _is_subagent(value: Mapping[str, Any]) -> bool:
    return value.get("isSidechain") is True or isinstance(value.get("parent_tool_use_id"), str)


@dataclass(slots=True)
class _Branch:
    """A branch that becomes a trajectory: the session itself, a rewound part of the session, or a subagent."""

    intake: Intake
    turns: list[Turn] = field(default_factory=list)
    message_id: str = ""


class _Session:
    """The events of one session, each assigned to its branch."""

    def __init__(self, path: Path, session: str, events: Sequence[Record]) -> None:
        self.path, self.session, self.events = path, session, events
        self.parents = {_text(e.value, "uuid"): _text(e.value, "parentUuid") for e in events}
        self.spoken = {_text(e.value, "uuid"): e.value for e in events if _is_event(e.value)}
        self.places: dict[str, tuple[str, str]] = {}
        self.rewound = self._rewound()
        self.written = {as_text(e.value["message"].get("content")) for e in events if _is_event(e.value)}
        self.branches: dict[str, _Branch] = {}
        self.names: dict[str, str] = {}
        self.seen: set[str] = set()
        self.subagents: set[str] = set()

    def entries(self, whole: bool) -> Iterator[Entry]:
        for event in self.events:
            self._add(event)
        main = self.branches.get("")
        asked, extra = first_words(main.turns) if main else "", collect_fields(self.events[0].value, *_FACTS)
        for name, branch in self.branches.items():
            if branch.turns:
                task_id, turns = f"{self.session or self.path.stem}{name}", list(join_thoughts(branch.turns))
                is_given = whole or name in self.subagents
                yield from session_entries(branch.intake, turns, task_id, whole=is_given, asked=asked, extra=extra)

    def _add(self, event: Record) -> None:
        value, kind = event.value, word(event.value.get("type"))
        branch = self._branch(event)
        branch.intake.at = event.line
        if kind not in _SPEAKING or not isinstance(value.get("message"), dict):
            if kind == "attachment":
                branch.intake.leave_out(f"attachment of type {word(plain_object(value.get(kind)).get('type'))}")
            elif kind not in _BOOKKEEPING:
                branch.intake.leave_out(f"line of type {kind}")
            return
        if _QUEUED in value and "uuid" not in value and as_text(value["message"]["content"]) in self.written:
            return
        uuid = _text(value, "uuid")
        if uuid and uuid in self.seen:
            branch.intake.leave_out("line that is repeated")
            return
        self.seen.add(uuid)
        is_quiet = _is_quiet(value)
        for turn in message_turns(value["message"], branch.intake):
            told = replace(turn, number=event.line, speaker=self._speaker(value, turn))
            self._speak(branch, replace(told, is_context=is_quiet and turn.role == USER), value)

    def _speak(self, branch: _Branch, turn: Turn, value: Mapping[str, Any]) -> None:
        message_id = _text(value["message"], "id")
        if turn.role == AGENT and message_id and message_id == branch.message_id:
            place = max(place for place, one in enumerate(branch.turns) if one.role == AGENT)
            branch.turns[place] = _merged(branch.turns[place], turn)
            return
        if turn.role == TOOL and (refused := _refusal(turn)):
            turn = replace(turn, step_extra=refused)
        if turn.role != TOOL:
            branch.message_id = message_id if turn.role == AGENT else ""
        branch.turns.append(turn)

    def _speaker(self, value: Mapping[str, Any], turn: Turn) -> str:
        agent = _text(value, "agentId") or _text(value, "parent_tool_use_id") or "subagent"
        return agent if _is_subagent(value) and turn.role == AGENT else turn.speaker

    def _branch(self, event: Record) -> _Branch:
        name = self._name(event.value)
        if name not in self.branches:
            self.branches[name] = _Branch(Intake(self.path, event.line, _NAME))
            self.subagents |= {name} if _is_subagent(event.value) else set()
        return self.branches[name]

    def _name(self, value: Mapping[str, Any]) -> str:
        rewound, root = self._place(_text(value, "uuid"))
        if _is_subagent(value):
            return f"/agent-{_text(value, 'agentId') or _text(value, 'parent_tool_use_id') or root[:8]}"
        return rewound

    def _place(self, uuid: str) -> tuple[str, str]:
        chain = [*self._chain(uuid)]
        rewound, root = self.places.get(self.parents.get(chain[-1], ""), ("", chain[-1])) if chain else ("", "")
        for one in reversed(chain):
            rewound = self.rewound.get(one, rewound)
            self.places[one] = rewound, root
        return self.places.get(uuid, (rewound, root))

    def _chain(self, uuid: str) -> Iterator[str]:
        passed: set[str] = set()
        while uuid and uuid not in passed and uuid not in self.places:
            passed.add(uuid)
            yield uuid
            uuid = self.parents.get(uuid, "")

    def _rewound(self) -> dict[str, str]:
        prompts: dict[str, list[str]] = {}
        for uuid, value in self.spoken.items():
            before = next((one for one in islice(self._chain(uuid), 1, None) if one in self.spoken), "")
            is_prompt = value.get("type") == USER and not _holds_result(value) and not _is_quiet(value)
            if before and value.get("isSidechain") is not True and is_prompt:
                prompts.setdefault(before, []).append(uuid)
        left = [uuid for siblings in prompts.values() for uuid in siblings[:-1]]
        return {uuid: f"/rewound-{number}" for number, uuid in enumerate(left, 1)}


def _is_quiet(value: Mapping[str, Any]) -> bool:
    return value.get("isMeta") is True or value.get("isCompactSummary") is True


def _holds_result(value: Mapping[str, Any]) -> bool:
    return any(plain_object(part).get("type") == "tool_result" for part in plain_list(value["message"].get("content")))


def _merged(before: Turn, after: Turn) -> Turn:
    held = {(call.id, call.action) for call in before.calls}
    fresh = tuple(call for call in after.calls if not call.id or (call.id, call.action) not in held)
    return replace(
        before,
        text="\n".join(filter(None, [before.text, after.text if after.text != before.text else ""])),
        thought="\n\n".join(filter(None, [before.thought, after.thought if after.thought != before.thought else ""])),
        calls=(*before.calls, *fresh),
        pictures=(*before.pictures, *after.pictures),
    )


def _refusal(turn: Turn) -> dict[str, Any]:
    if not turn.text.startswith(_REFUSALS):
        return {}
    _, _, words = turn.text.partition(_SAID)
    return dict(build_decision_extra("reject", _BY, words.strip()))


def _text(value: Mapping[str, Any], name: str) -> str:
    return word(value.get(name))


IMPORTER = Importer(
    _NAME,
    "Claude Code sessions",
    read,
    ((".sessionId", ".uuid", ".message"), *_EVENTS),
    recognises=recognises,
    read_whole=partial(read, whole=True),
    critical=SHELL_TOOLS,
)
