"""A second count of the calls in a file, independent of the importers: objects with a name and arguments, each id once.

A file often repeats the same call, with and without an id. So each call has a minimum and a maximum count. An import
with fewer calls lost some; an import with more calls read some twice.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from console.runs.importers.parts.intake import plain_object
from console.trajectory.messages import ARGUMENT_NAMES

SOURCE_ROLES = frozenset({"role", "from", "speaker", "sender"})
"""The keys for the speaker of a message."""
_SLOTS = 2**17
_NAMES = (
    *("name", "tool_name", "toolName", "function_name", "functionName", "tool", "function"),
    *("recipient_name", "toolId"),
)
_INNER = ("function", "functionCall", "function_call", "toolUse")
_NAMED = frozenset({*_NAMES, *_INNER, "toolCallId"})
_VAGUE = frozenset({"input", "params", "parameters", "payload", "kwargs"})
"""The fields that hold arguments only in an object with the type of a call."""
_IDS = ("call_id", "tool_call_id", "toolCallId", "toolUseId", "callID", "tool_use_id", "id")
"""The fields with a call's id; the `id` of an item of the Responses API is not the id of its call."""
_CALLING = re.compile(r"tool.?(?:use|call)|function.?call|(?:^|_)call$|^function$|invocation", re.IGNORECASE)
_ANSWERING = re.compile(r"result|output|response|return", re.IGNORECASE)
_UNHAPPENED = re.compile(
    r"^(?:(?:available_?|allowed_?|all_?)?(?:tools|functions)|.*tool_?(?:definitions|choice|schemas?)|.*schema|"
    r"task|tasks|evaluation.*|expected.*|golden.*|ground_?truth.*|reference.*|target|reward_?info|action_?checks|"
    r"injections?|invalid_tool_calls|metadata|env_?name|examples?|demos?|partial_?arguments|model_?args|"
    r"attachment|slashCommands)$",
    re.IGNORECASE,
)
_QUOTING = frozenset({"user", "tool", "function", "system", "developer", "ipython", "human", "observation"})
_NAMESPACE = re.compile(r"^.*(?:__|[./:])")
_SHOWN = 3
_MOST_KEYS = 4_096
_WRITTEN = "command"


@dataclass(slots=True)
class CallsTold:
    """The number of imported calls (`read`), and the minimum and maximum number of calls in the file."""

    read: int = 0
    least: int = 0
    most: int = 0
    lost: int = 0
    doubled: int = 0
    lost_names: tuple[str, ...] = ()
    doubled_names: tuple[str, ...] = ()
    changed: int = 0
    """Number of calls imported by name, but with arguments that differ from the file."""

    empty_answers: int = 0
    """Number of answers to the user imported without text."""


@dataclass(slots=True)
class _Told:
    name: str
    key: int
    call_id: str


@dataclass(slots=True)
class CallCount:
    """Numbers of calls by content, in a fixed number of hash slots, so that the memory does not grow with the file."""

    read: array[int] = field(default_factory=lambda: array("i", bytes(4 * _SLOTS)))
    least: array[int] = field(default_factory=lambda: array("i", bytes(4 * _SLOTS)))
    most: array[int] = field(default_factory=lambda: array("i", bytes(4 * _SLOTS)))
    names: dict[int, str] = field(default_factory=dict)
    total_read: int = 0
    total_least: int = 0
    total_most: int = 0
    empty_answers: int = 0
    by_name: Counter[str] = field(default_factory=Counter)
    least_by_name: Counter[str] = field(default_factory=Counter)
    seen: bytearray = field(default_factory=lambda: bytearray(2**20))
    hidden: int = 0
    renames: bool = False
    written: set[int] = field(default_factory=set)
    """Hashes of the calls that the source holds as text."""
    answering: frozenset[str] = frozenset()
    loose: bytearray = field(default_factory=lambda: bytearray(_SLOTS))
    """1 for each call without an id; a second copy of such a call may be a repetition."""
    hiding: dict[str, bool] = field(default_factory=dict)
    """True by key if the count ignores the key's value."""
    aside: int = 0
    """How many of the keys above hold what did not happen in the run, such as tools, tasks or metadata."""
    groups: list[Counter[tuple[str, int]]] = field(default_factory=list)
    most_told: dict[tuple[str, int], int] = field(default_factory=dict)

    def add_read(self, name: str, given: Any) -> None:
        """Count an imported call; ignore answers to the user."""
        if name == "respond":
            self.empty_answers += isinstance(given, Mapping) and not any(given.values())
            return
        self.total_read += 1
        name = _last_name(name)
        self.by_name[name] += 1
        self.read[_key(name, given) & (_SLOTS - 1)] += 1

    def begin_record(self) -> None:
        """Begin a record of the source: one line, or one element of a list."""
        self.most_told.clear()
        self.groups = [Counter()]

    def end_record(self) -> None:
        """Add the calls of the record to the totals."""
        self._close(self.groups.pop())
        ids: dict[int, int] = {}
        for (call_id, key), count in self.most_told.items():
            if call_id:
                ids[key] = ids.get(key, 0) + count
        for (call_id, key), count in self.most_told.items():
            if not call_id and key not in ids:
                ids[key] = count
        for key, count in ids.items():
            self.most[key & (_SLOTS - 1)] += count
            self.total_most += count

    def _close(self, group: Counter[tuple[str, int]]) -> None:
        for told, count in group.items():
            known = self.most_told.get(told, 0)
            self.most_told[told] = known + count if not told[0] else max(known, count)

    def is_hiding(self, key: str) -> bool:
        """Return whether the count ignores the value of this key."""
        hides = _UNHAPPENED.match(key) is not None
        if len(self.hiding) < _MOST_KEYS:
            self.hiding[key] = hides
        return hides

    def enter(self, value: Mapping[str, Any], holder: Mapping[str, Any] | None) -> int:
        """Count the object if it is a call; return 1 if the object's content does not count as calls, else 0."""
        hides = 0
        if not self.hidden:
            told = _call(value)
            if told is not None:
                if told.name not in self.answering:
                    self._tell(told)
                hides = 1
            elif _is_quoting(value):
                hides = 1
        self.hidden += hides
        return hides

    def leave(self, hides: int) -> None:
        """Record that the walk leaves the object for which `enter` returned `hides`."""
        self.hidden -= hides

    def enter_list(self, value: list[Any]) -> bool:
        """Begin a group if the list holds messages, and return whether it does; a group counts repeated calls."""
        first = value[0] if value else None
        is_group = isinstance(first, dict) and ("role" in first or "from" in first)
        if is_group:
            self.groups.append(Counter())
        return is_group

    def leave_list(self, is_group: bool) -> None:
        """End the group that `enter_list` began, if `is_group`."""
        if is_group:
            self._close(self.groups.pop())

    def _tell(self, told: _Told) -> None:
        self.groups[-1][told.call_id, told.key] += 1
        slot = told.key & (_SLOTS - 1)
        if len(self.names) < _SLOTS // 8:
            self.names.setdefault(slot, told.name)
        self.loose[slot] |= not told.call_id
        place = hash((told.call_id, told.key)) & (len(self.seen) * 8 - 1)
        if not self.seen[place >> 3] & (1 << (place & 7)):
            self.seen[place >> 3] |= 1 << (place & 7)
            if told.call_id or not self.least[slot]:
                self.least[slot] += 1
                self.total_least += 1
                self.least_by_name[told.name] += 1

    def told(self) -> CallsTold:
        """Return the numbers of counted and imported calls, with the lost, doubled and changed calls."""
        found = CallsTold(read=self.total_read, least=max(self.total_least, len(self.written)), most=self.total_most)
        found.empty_answers = self.empty_answers
        if self.renames or len(self.written) > found.read:
            found.lost = max(0, found.least - found.read)
            found.lost_names = (tuple(self.least_by_name) or (_WRITTEN,))[:_SHOWN] if found.lost else ()
            return found
        lacking: Counter[str] = Counter()
        doubled: Counter[str] = Counter()
        for slot, name in self.names.items():
            least, most, read = self.least[slot], self.most[slot], self.read[slot]
            if read < min(least, most):
                lacking[name] += min(least, most) - read
            elif read > max(most, least) > 0 and not self.loose[slot]:
                doubled[name] += read - max(most, least)
        for name, count in lacking.items():
            lost = min(count, max(0, self.least_by_name[name] - self.by_name[name]))
            found.lost += lost
            found.changed += count - lost
            found.lost_names += (name,) if lost and len(found.lost_names) < _SHOWN else ()
        found.doubled, found.doubled_names = sum(doubled.values()), tuple(doubled)[:_SHOWN]
        return found


def _is_quoting(value: Mapping[str, Any]) -> bool:
    """Return whether the object is a result or a message to the agent; both may quote calls that never ran."""
    role = value.get("role", value.get("from"))
    if (isinstance(role, str) and role.lower() in _QUOTING) or value.get("requestor") == "user":
        return True
    kind = value.get("type")
    return isinstance(kind, str) and _ANSWERING.search(kind) is not None and "content" in value


def _call(value: Mapping[str, Any]) -> _Told | None:
    """Return the object as a call, or None if the object is not a call."""
    if "call_id" in value and isinstance(value.get("tool_call"), dict):
        return _named_by_field(value["tool_call"], value["call_id"])
    if _NAMED.isdisjoint(value):
        return None
    held = value
    for inner in _INNER:
        if isinstance(value.get(inner), dict):
            held = value[inner]
    name = next((held[key] for key in _NAMES if isinstance(held.get(key), str) and held[key]), None)
    kind = value.get("type", value.get("kind", "") if "toolId" in value else "")
    if name is None and isinstance(kind, str) and kind.startswith("tool-") and not _ANSWERING.search(kind):
        name = kind.removeprefix("tool-")
    if name is None or "role" in held:
        return None
    state = value.get("state")
    if kind == "tool" and isinstance(state, dict):
        return _Told(name, _key(name, state.get("input")), _has_id(value) or "")
    is_typed = isinstance(kind, str) and _CALLING.search(kind) is not None and not _ANSWERING.search(kind)
    if kind and not is_typed and kind != f"tool-{name}":
        return None
    key = next((one for one in ARGUMENT_NAMES if one in held), None)
    if key is None and not (is_typed and "toolId" in value):
        return None
    given = held.get(key or "")
    given = unfold(given) if isinstance(given, str) else given
    is_named = is_typed or "toolCallId" in value
    if not is_named and held is value and (key in _VAGUE or not isinstance(given, dict)):
        return None
    is_definition = isinstance(given, dict) and ("properties" in given or "$schema" in given)
    if is_definition or ("description" in held and key == "parameters"):
        return None
    name = _last_name(name)
    return _Told(name, _key(name, given), _has_id(value) or "")


def _named_by_field(held: Mapping[str, Any], call_id: object) -> _Told | None:
    """Return the call whose tool is named by a field, such as `shellToolCall`, or None if its arguments are missing."""
    for field_name, inner in held.items():
        given = plain_object(inner).get("args")
        if isinstance(given, dict):
            name = given.get("toolName") or field_name.removesuffix("ToolCall")
            given = given["args"] if "toolName" in given and "args" in given else given
            given = {key: one for key, one in given.items() if key != "toolCallId"}
            return _Told(_last_name(str(name)), _key(_last_name(str(name)), given), str(call_id))
    return None


def _last_name(name: str) -> str:
    """Return the name without the prefix of a server or namespace; a log may omit this prefix in some places."""
    return _NAMESPACE.sub("", name) or name


def _has_id(value: Mapping[str, Any]) -> str | None:
    return next((value[key] for key in _IDS if isinstance(value.get(key), str) and value[key]), None)


def unfold(text: str) -> Any:
    """Return the value of a JSON text, or the text itself."""
    if text.lstrip()[:1] in {*'{["-0123456789'}:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
    return text


def _key(name: str, given: Any) -> int:
    if isinstance(given, str):
        given = unfold(given)
    while isinstance(given, dict) and len(given) == 1:
        (key, inner), *_ = given.items()
        inner = unfold(inner) if isinstance(inner, str) else inner
        if key not in ARGUMENT_NAMES or not isinstance(inner, (dict, str)):
            break
        given = inner
    return hash((name, orjson.dumps(given or {}, option=orjson.OPT_SORT_KEYS, default=str)))
