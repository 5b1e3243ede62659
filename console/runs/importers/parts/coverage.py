"""Coverage of a file: the share of its text that an import explains, the unread fields, and the calls.

This module reads the source a second time, as plain JSON or text lines, without format-specific code. A text is
*explained* if its lines are in a trajectory's task, steps, outcome or label, and *kept* if they are in `extra`.
`call_count` counts the calls of the same objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from console.errors import UnreadableFile
from console.language import WERE, counted
from console.runs.importers.parts.call_count import SOURCE_ROLES, CallsTold
from console.runs.importers.parts.explained import WHOLE, Explained
from console.runs.importers.parts.plain_values import leaf_texts, plain_values, printed_texts
from console.runs.importers.records import Found, Importer, WrittenCalls

LONG = 24
"""Minimum length in characters of a text of several words that counts for the share."""
_FLOOR = 0.1
FLOORS: Mapping[str, float] = {
    "bfcl": 0.0,
    "browser-use": 0.0,
    "claude-code": 0.3,
    "codex": 0.45,
    "inspect": 0.45,
    "langfuse": 0.2,
    "mini-swe-agent": 0.5,
    "openhands": 0.2,
    "otel": 0.05,
    "swe-agent": 0.35,
    "tau-bench": 0.08,
    "toolbench": 0.4,
}
"""The minimum explained share by format: half of the lowest share among real logs; other formats use `_FLOOR`.

All texts of a BFCL file may be calls, which are counted instead. The prompts of browser-use repeat earlier steps.
"""
_DEEPEST = 40
_MOST_FIELDS = 256
_MOST_SHORT = 4_096
_SHOWN = 3
_BLOB = 400
_TAGS, _EMBEDDED = re.compile(r"<[^<>]*>"), re.compile(r"\{.*\}", re.DOTALL)
"""The tags around the parts of a call in a text, and a call in a text as a JSON object."""
_FEW = 1_000
"""Minimum number of characters in a file for a check of its share."""
_PAIR = frozenset({"key", "value"})
"""The keys of an attribute in OTLP; the value of `key` is a field's name."""
_STACKS = frozenset({"traceback", "traceback_ansi", "stack", "stacktrace", "exception.stacktrace"})
"""The fields with a program's stack trace; a report lists them if unread, but the share ignores them."""
_SETTINGS = "model_args"
"""The field of an evaluation with its model's settings, including the answers of a scripted model."""
_PERCENT = 100


@dataclass(slots=True)
class UnreadField:
    """The texts at one path that no trajectory contains: their number, the characters of long texts, the first line
    number.

    A long text has at least LONG characters and several words. `is_message` is true if the texts are in a message,
    beside the role of its speaker.
    """

    path: str
    count: int
    chars: int
    line: int
    is_message: bool


@dataclass(slots=True)
class Coverage:
    """The result of an import for one file: characters of text, unread fields, and calls."""

    total: int = 0
    explained: int = 0
    kept: int = 0
    unread: list[UnreadField] = field(default_factory=list)
    calls: CallsTold = field(default_factory=CallsTold)
    instead: str = ""
    """The reason why the first matching format was not chosen, or ""."""

    @property
    def share(self) -> float:
        """The explained share of the text; 1 for a file without long texts."""
        return self.explained / self.total if self.total else 1.0

    @property
    def messages(self) -> list[UnreadField]:
        """The unread fields of messages, with the largest first."""
        return [one for one in self.unread if one.is_message]

    def to_dict(self) -> dict[str, Any]:
        """Return the coverage in the format of `trajectory import --json`."""
        names = ("path", "count", "chars", "line", "is_message")
        numbers = ("read", "least", "most", "lost", "doubled", "changed", "empty_answers")
        return {
            "share": round(self.share, 4),
            "characters": self.total,
            "explained": self.explained,
            "kept": self.kept,
            "calls": {name: getattr(self.calls, name) for name in numbers},
            "instead": self.instead,
            "not_read": [{name: getattr(one, name) for name in names} for one in self.unread],
        }

    def summary(self) -> str:
        """Return one line, such as `5 calls of 5, 98% of the text; left out: metadata.cost (3)`."""
        told = f"{counted(self.calls.read, 'call')} of {max(self.calls.least, min(self.calls.read, self.calls.most)):,}"
        line = f"{told}, {int(self.share * _PERCENT)}% of the text"
        if self.calls.changed:
            line += f"; {counted(self.calls.changed, 'call')} with other arguments than in the file"
        if self.calls.empty_answers:
            line += f"; {counted(self.calls.empty_answers, 'answer')} without text"
        if self.instead:
            line += f"; {self.instead}"
        if not self.unread:
            return line
        more = f" and {counted(len(self.unread) - _SHOWN, 'more field')}" if len(self.unread) > _SHOWN else ""
        return f"{line}; left out: {list_fields(self.unread)}{more}"

    def fault(self, format: str) -> str:
        """Return the reason to refuse this reading, or "" if the reading is complete enough."""
        if self.calls.lost:
            return f"{self.calls.lost} of {self.calls.least} calls were not read ({', '.join(self.calls.lost_names)})."
        if self.calls.doubled:
            return f"{counted(self.calls.doubled, 'call', WERE)} read twice ({', '.join(self.calls.doubled_names)})."
        if self.messages:
            return f"Messages were not read: {list_fields(self.messages)}."
        floor = FLOORS.get(format, _FLOOR)
        if self.share < floor and self.total >= _FEW:
            share = f"Only {int(self.share * _PERCENT)}% of the text was read"
            return f"{share}; {format} needs {int(floor * _PERCENT)}%. Not read: {list_fields(self.unread)}."
        return ""


def list_fields(unread: Iterable[UnreadField]) -> str:
    """Return the largest fields with their numbers, such as `metadata.cost (3), usage.tokens (12)`."""
    return ", ".join(f"{one.path} ({one.count})" for one in list(unread)[:_SHOWN])


@dataclass(slots=True, eq=False)
class _Field:
    """The counts of the texts at one path of the source, with `children` by key."""

    path: str
    children: dict[str, _Field] = field(default_factory=dict)
    read: int = 0
    prose: int = 0
    unread: int = 0
    unread_prose: int = 0
    first: int = 0
    in_message: bool = False
    key: str = ""

    def child(self, key: str) -> _Field:
        found = self.children.get(key)
        if found is None:
            if len(self.children) >= _MOST_FIELDS:
                key = "*"
            step = key if key == "[]" else f".{key}" if self.path else key
            found = self.children.setdefault(key, _Field(f"{self.path}{step}", key=key))
        return found


class _Source:
    """The walk over the objects of a source, with the counts of the texts at each path."""

    def __init__(self, explained: Explained) -> None:
        self.explained = explained
        self.root = _Field("")
        self.coverage = Coverage()
        self.calls = explained.calls
        self.written: Sequence[WrittenCalls] = ()
        self.short: dict[str, tuple[int, int]] = {}

    def add(self, value: Any, line: int) -> None:
        self.calls.begin_record()
        self._walk(value, self.root, line, 0, None)
        self.calls.end_record()

    def _walk(self, value: Any, at: _Field, line: int, depth: int, holder: Mapping[str, Any] | None) -> None:
        if isinstance(value, str):
            if value:
                self._text(value, at, line, depth, holder)
        elif isinstance(value, dict):
            if len(value) == 2 and value.keys() == _PAIR and isinstance(value["key"], str):
                self._walk(value["value"], at.child(value["key"]), line, depth + 1, holder)
                return
            self._walk_fields(value, at, line, depth, holder)
        elif isinstance(value, list) and depth < _DEEPEST:
            below = at.child("[]")
            inner = self.calls.enter_list(value)
            for one in value:
                self._walk(one, below, line, depth + 1, holder)
            self.calls.leave_list(inner)

    def _walk_fields(
        self, value: dict[str, Any], at: _Field, line: int, depth: int, holder: Mapping[str, Any] | None
    ) -> None:
        # Half of the time of an import is spent here, so that texts are read without a further call.
        calls, children = self.calls, at.children
        inner = calls.enter(value, holder)
        hiding = calls.hiding
        for key, one in value.items():
            kind = one.__class__
            if not one or (kind is not str and kind is not dict and kind is not list):
                continue
            below = children.get(key) or at.child(key)
            hides = hiding[key] if key in hiding else calls.is_hiding(key)
            calls.hidden += hides
            calls.aside += hides
            if kind is str:
                self._text(one, below, line, depth + 1, value)
            else:
                self._walk(one, below, line, depth + 1, value)
            calls.hidden -= hides
            calls.aside -= hides
        calls.leave(inner)

    def _text(self, text: str, at: _Field, line: int, depth: int, holder: Mapping[str, Any] | None) -> None:
        if self.written and not self.calls.hidden:
            self._count_written(text, at, holder)
        if text[0] in '{["' and len(text) > 2 and depth < _DEEPEST and not self._is_read(text):
            try:
                held = orjson.loads(text)
            except orjson.JSONDecodeError:
                held = None
            if isinstance(held, (dict, list)) or (isinstance(held, str) and held != text):
                self._walk(held, at, line, depth + 1, holder)
                return
        size = len(text)
        if size >= _BLOB and " " not in text[:_BLOB] and "\n" not in text[:_BLOB]:
            return
        if size > LONG:
            read, kept = self._shares(text)
        elif (known := self.short.get(text)) is not None:
            read, kept = known
        else:
            read, kept = self._shares(text)
            if len(self.short) < _MOST_SHORT:
                self.short[text] = read, kept
        is_prose = size >= LONG and (" " in text or "\n" in text)
        at.read += read
        if max(read, kept) < (size / 2 if is_prose else 1):
            at.unread += 1
            at.first = at.first or line
            at.unread_prose += is_prose
            at.prose += size - max(read, kept) if is_prose else 0
            if (
                is_prose
                and holder is not None
                and not (at.in_message or self.calls.aside)
                and at.key not in SOURCE_ROLES
            ):
                at.in_message = not SOURCE_ROLES.isdisjoint(holder) and _SETTINGS not in at.path
        if is_prose and at.key not in _STACKS and (read or kept or not self.calls.aside):
            self.coverage.total += size
            self.coverage.explained += min(read, size)
            self.coverage.kept += min(kept, size)

    def _count_written(self, text: str, at: _Field, holder: Mapping[str, Any] | None) -> None:
        by_agent = holder is None or holder.get("role", "assistant") == "assistant"
        for form in self.written:
            if by_agent and form.at.search(at.path) and len(calls := form.call.findall(text)) == 1:
                self.calls.written.add(hash(calls[0].strip()))

    def _is_read(self, text: str) -> bool:
        bits = self.explained.lines
        place = hash(text.strip()) & (len(bits) * 8 - 1)
        return bool(bits[place >> 3] & (1 << (place & 7)))

    def _shares(self, text: str) -> tuple[int, int]:
        """Return (explained, kept) characters of the text, line by line; count a line break with its line."""
        bits, extra = self.explained.lines, self.explained.extra
        mask = len(bits) * 8 - 1
        read = kept = blank = 0
        size = len(text)
        lines: Iterable[str] = (text,)
        if "\n" in text:
            place = (hash(text) ^ WHOLE) & mask
            if bits[place >> 3] & (1 << (place & 7)) and not text.isspace():
                return size + 1, 0
            lines = text.split("\n")
        for line in lines:
            stripped = line.strip()
            if not stripped:
                blank += len(line) + 1
                continue
            place = hash(stripped) & mask
            if bits[place >> 3] & (1 << (place & 7)) or self._is_read_in_parts(stripped):
                read += len(line) + 1
            elif extra:
                place = hash(stripped) & (len(extra) * 8 - 1)
                kept += len(line) + 1 if extra[place >> 3] & (1 << (place & 7)) else 0
        if read + kept < size // 2 and (found := _EMBEDDED.search(text)) and self._is_read_in_parts(found[0]):
            read += len(found[0])
        return read + blank if read else 0, kept + blank if kept else 0

    def _is_read_in_parts(self, line: str) -> bool:
        """Return whether a line is explained without its title ("Observation: ...") or as JSON."""
        bits = self.explained.lines
        mask = len(bits) * 8 - 1
        _, found, rest = line.partition(": ")
        if found and (rest := rest.strip()):
            place = hash(rest) & mask
            if bits[place >> 3] & (1 << (place & 7)):
                return True
        if printed := printed_texts(line):
            return (all if " " in printed[0] else any)(map(self._is_read, printed))
        if line[0] in "#>" and (bare := line.lstrip("#> ")) and self._is_read(bare):
            # Aider marks the lines of the user and its own lines like this.
            return True
        if line[0] == "<" and (bare := _TAGS.sub("", line).strip()) != line:
            return not bare or self._is_read(bare)
        if line[0] != "{":
            return False
        try:
            held = orjson.loads(line)
        except orjson.JSONDecodeError:
            return False
        texts = [*leaf_texts(held)]
        return bool(texts) and all(bits[(p := hash(one.strip()) & mask) >> 3] & (1 << (p & 7)) for one in texts)

    def finish(self) -> Coverage:
        """Return the coverage with the unread fields, messages and large fields first."""
        found: list[UnreadField] = []
        waiting = [self.root]
        while waiting:
            one = waiting.pop()
            waiting.extend(one.children.values())
            if one.unread and (one.unread_prose or not one.read):
                whole = one.in_message and not one.read
                found.append(UnreadField(one.path, one.unread, one.prose, one.first, whole))
        self.coverage.unread = sorted(found, key=lambda one: (not one.is_message, -one.chars, one.path))
        self.coverage.calls = self.calls.told()
        return self.coverage


@dataclass(slots=True)
class OwnAccount:
    """The characters of a file's trajectories, for a reader that keeps every field in the steps or in `extra`."""

    explained: int = 0
    kept: int = 0

    def add(self, found: Found) -> None:
        """Add the texts of a trajectory."""
        one = found.trajectory
        self.explained += len(one.instruction) + len(one.opening) + sum(map(len, one.memory))
        for step in one.steps:
            self.explained += len(step.thought) + len(step.action) + len(step.observation)
            if step.extra:
                self.kept += len(orjson.dumps(step.extra, default=str))
        if one.extra:
            self.kept += len(orjson.dumps(one.extra, default=str))

    def coverage(self, calls: int) -> Coverage:
        """Return the coverage of a file with this number of calls."""
        told = CallsTold(read=calls, least=calls, most=calls)
        return Coverage(self.explained + self.kept, self.explained, self.kept, calls=told)


def measure(path: Path, explained: Explained, importer: Importer, written: Sequence[WrittenCalls] = ()) -> Coverage:
    """Read the file a second time and return its coverage by the trajectories in `explained`.

    A text about what did not happen in the run, such as the other tasks of a benchmark, counts only if it was read. If
    the importer renames calls, compare only the number of calls. `written` are the patterns for calls as text, from all
    formats that match the file.
    """
    source = _Source(explained)
    source.written = written
    source.calls.renames, source.calls.answering = importer.renames, importer.answering
    for line, value in plain_values(path):
        source.add(value, line)
    return source.finish()


def refusal(path: Path, format: str, fault: str) -> UnreadableFile:
    """Return the error for a reading that leaves out calls, messages or most of the text."""
    advice = "Choose another --format, or import what was read with --accept-partial."
    return UnreadableFile(str(path), f"Read as {format}, the file is not complete. {fault} {advice}")
