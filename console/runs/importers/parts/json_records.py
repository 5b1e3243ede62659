"""The records of a JSON file, whichever way it holds them: one a line, in a list, in a list in an object, or alone.

`outline` tells from a file's beginning which fields its first record has and so where the records are. `elements` is a
scanner of brackets and strings alone: it finds where each record ends without building anything, so that memory holds
one record, every record keeps its line number, and orjson then reads it at full speed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.lines import BOM, CUT, LINE_LIMIT_BYTES, TOO_LONG, broken_json, byte_lines, decoded
from console.runs.importers.records import Progress

_WRAPPERS = ("results", "simulations", "trajectories", "records", "runs", "conversations", "data")
"""Names under which a JSON object may hold the list of records."""
BASES = ("", "[]", *(f".{name}[]" for name in _WRAPPERS))
"""Where records may be: each is a top-level value, in a list, in a list in an object."""

_DEPTH = 6
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
_GAP = r"[ \t\r\n,]*+"
_KEY = re.compile(rf"{_GAP}({_STRING})[ \t\r\n]*+:")
_VALUE = re.compile(rf"{_GAP}(?:([\[{{])|{_STRING}|-?\d[\d.eE+-]*+|true|false|null)")
_CLOSING = re.compile(rf"{_GAP}[\]}}]")


@lru_cache(maxsize=4)
def outline(head: bytes) -> frozenset[str]:
    """The paths of the first top-level value, such as `[].traj[].role`; what comes after broken JSON is left out."""
    return frozenset(_paths(head.decode(errors="replace")))


def _paths(text: str) -> Iterator[str]:
    """The path of each key and each plain value, down to a depth of six; stops where the text is no JSON."""
    trail: list[str] = []
    position = 0
    while True:
        if trail and (closing := _CLOSING.match(text, position)):
            position = closing.end()
            trail.pop()
            if not trail:
                return
            continue
        if trail and trail[-1] != "[]":
            key = _KEY.match(text, position)
            if key is None:
                return
            position = key.end()
            trail[-1] = f".{json.loads(key[1])}"
            yield "".join(trail[:_DEPTH])
        value = _VALUE.match(text, position)
        if value is None:
            return
        position = value.end()
        if value[1]:
            trail.append("[]" if value[1] == "[" else "")
        elif len(trail) <= _DEPTH:
            yield "".join(trail)


def base_of(paths: frozenset[str], *alternatives: tuple[str, ...]) -> str | None:
    """Which of `BASES` the records are at; None if no alternative fits."""
    for base in BASES:
        if any(all(base + mark in paths for mark in marks) for marks in alternatives):
            return base
    return None


_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]"]', re.DOTALL)
_QUOTE, _LIST = ord('"'), ord("[")
_OPENING = frozenset(b"{[")
_CHUNK_BYTES = 2**18
_GARBLED = (
    "this is not valid JSON: between two records there is something else than one comma; repair or export it again"
)


def elements(path: Path, base: str, progress: Progress | None = None) -> Iterator[tuple[int, bytes]]:
    """The values at `base` (see `outline.base_of`), each with the line it begins on; raises UnreadableFile."""
    with path.open("rb") as stream:
        yield from _Scan(path, stream, progress, base).run()


def fields_before(path: Path, name: str) -> dict[str, Any]:
    """The fields of a file's one object that stand before the field of that name, as far as 8 MB hold them."""
    with path.open("rb") as stream:
        head = stream.read(2**23).removeprefix(BOM)
    level = 0
    for match in _TOKEN.finditer(head):
        kind = head[match.start()]
        level += 1 if kind in _OPENING else -1 if kind != _QUOTE else 0
        if level == 1 and match[0] == f'"{name}"'.encode() and head[match.end() :].lstrip().startswith(b":"):
            try:
                found = orjson.loads(head[: match.start()].rstrip().removesuffix(b",") + b"}")
            except orjson.JSONDecodeError:
                return {}
            return found if isinstance(found, dict) else {}
    return {}


@dataclass(slots=True)
class _Scan:
    path: Path
    stream: BinaryIO
    progress: Progress | None
    base: str
    buffer: bytes = b""
    position: int = 0
    """Where the next token is looked for."""
    kept: int = 0
    """The end of the last value, or the beginning of the present one: what lies before is no longer needed."""
    line: int = 1
    """The line of `kept`."""
    level: int = 0
    inside: bool = False
    """Whether the list of records is open; always true for records that are top-level values."""
    reading: bool = False
    """Whether a value has begun and not ended."""
    first: bool = True
    ended: bool = False
    """Whether the last bracket is closed, so that nothing may follow."""
    key: bytes = b""
    done: int = 0

    @property
    def depth(self) -> int:
        """How many brackets are open around a record."""
        return 0 if not self.base else 1 if self.base == "[]" else 2

    def run(self) -> Iterator[tuple[int, bytes]]:
        self.inside = self.depth == 0
        while self._refill():
            yield from self._tokens()
        if self.level > 0:
            raise self._unclosed()
        if self.level < 0 or self.buffer[self.kept :].strip():
            raise self._garbled(len(self.buffer))

    def _refill(self) -> bool:
        """Reads on; a record that does not fit doubles the window, so that no byte is scanned more than twice."""
        self.buffer, self.position, self.kept = self.buffer[self.kept :], self.position - self.kept, 0
        if len(self.buffer) > LINE_LIMIT_BYTES:
            raise UnreadableFile(str(self.path), TOO_LONG, self.line)
        chunk = self.stream.read(max(_CHUNK_BYTES, len(self.buffer)))
        self.buffer += chunk if self.done else chunk.removeprefix(BOM)
        self.done += len(chunk)
        if chunk and self.progress is not None:
            self.progress(self.done)
        return bool(chunk)

    def _tokens(self) -> Iterator[tuple[int, bytes]]:
        for match in _TOKEN.finditer(self.buffer, self.position):
            start, end = match.span()
            kind = self.buffer[start]
            if kind == _QUOTE and end - start == 1:
                self.position = start
                return
            if self.ended:
                raise self._garbled(start)
            if self.inside and self.level == self.depth and not self._begin(start, closing=kind in b"}]"):
                self.inside = False
            self.level += 1 if kind in _OPENING else -1 if kind != _QUOTE else 0
            self.ended = self.level < 0 or (self.level == 0 and self.depth > 0)
            if self.reading and self.level == self.depth:
                line, value = self.line, self.buffer[self.kept : end]
                self._keep(end)
                self.reading = False
                yield line, value
            elif not self.inside:
                self._outside(kind, start, end)
        self.position = len(self.buffer)

    def _begin(self, start: int, *, closing: bool) -> bool:
        """Starts a value, after the right gap; False where the list ends instead."""
        gap = self.buffer[self.kept : start].strip()
        if gap != (b"" if self.first or closing or not self.depth else b","):
            raise self._garbled(start)
        self._keep(start)
        self.first, self.reading = False, not closing
        return not closing

    def _outside(self, kind: int, start: int, end: int) -> None:
        if kind == _QUOTE and self.level == 1:
            self.key = self.buffer[start + 1 : end - 1]
        elif kind == _LIST and self.level == self.depth and self.first and self._is_base():
            self.inside = True
        self._keep(end)

    def _is_base(self) -> bool:
        return self.depth == 1 or self.key == self.base[1:-2].encode()

    def _keep(self, position: int) -> None:
        self.line += self.buffer.count(b"\n", self.kept, position)
        self.kept = position

    def _unclosed(self) -> UnreadableFile:
        """A bracket missing in the middle looks like an end that is missing; JSON itself tells which."""
        rest = self.buffer[self.kept :].rstrip()
        try:
            orjson.loads(rest if self.reading else b"{}")
        except orjson.JSONDecodeError as broken:
            return broken_json(broken, rest, self.path, self.line)
        return UnreadableFile(str(self.path), CUT, self.line + rest.count(b"\n"))

    def _garbled(self, position: int) -> UnreadableFile:
        return UnreadableFile(str(self.path), _GARBLED, self.line + self.buffer.count(b"\n", self.kept, position))


HEAD_BYTES = 2**16

_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_GOES_ON_NEXT_LINE = (b"{", b"[", b",", b":")


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value and the line it begins on; `replaced` counts characters that no text can hold."""

    line: int
    value: Any
    replaced: int = 0

    @property
    def notes(self) -> dict[str, Any]:
        """What a trajectory's `extra` should say about it."""
        return {"replaced_characters": self.replaced} if self.replaced else {}


def json_records(path: Path, progress: Progress | None, *alternatives: tuple[str, ...]) -> Iterator[Record]:
    """The records that carry the marks of one of the alternatives; raises UnreadableFile where the JSON is broken."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES).removeprefix(BOM)
    base = base_of(outline(head), *alternatives)
    if base is None:
        base = "[]" if head.lstrip().startswith(b"[") else ""
    if base or _spread_over_lines(head):
        for line, raw in elements(path, base, progress):
            yield parsed(raw, path, line)
    else:
        yield from _one_a_line(path, progress)


def objects(path: Path, progress: Progress | None, *alternatives: tuple[str, ...]) -> Iterator[Record]:
    """The same, each of them an object; raises UnreadableFile at one that is not."""
    for record in json_records(path, progress, *alternatives):
        if not isinstance(record.value, dict):
            raise UnreadableFile(str(path), "this record is not a JSON object", record.line)
        yield record


def parsed(raw: bytes, path: Path, line: int) -> Record:
    """The JSON value; half characters (lone surrogates) are replaced, so that the text can be stored."""
    try:
        return Record(line, orjson.loads(raw))
    except orjson.JSONDecodeError as broken:
        text = decoded(raw, path, line)
        if _LONE_SURROGATE.search(text):
            return _mended(text, path, line)
        raise broken_json(broken, raw, path, line) from broken


def required_list(record: Record, path: Path, name: str) -> list[Any]:
    """The list of that name; raises UnreadableFile where it is missing or is something else."""
    value = record.value.get(name)
    if not isinstance(value, list):
        raise UnreadableFile(str(path), f'"{name}" is missing or is not a list, so there are no steps', record.line)
    return value


def _spread_over_lines(head: bytes) -> bool:
    first = head.lstrip().split(b"\n", 1)[0].strip()
    if not first.endswith(_GOES_ON_NEXT_LINE):
        return False
    try:
        orjson.loads(first)
    except orjson.JSONDecodeError:
        return True
    return False


def _one_a_line(path: Path, progress: Progress | None) -> Iterator[Record]:
    for line, raw in byte_lines(path, progress):
        if not raw.isspace() and raw:
            yield parsed(raw, path, line)


def _mended(text: str, path: Path, line: int) -> Record:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as broken:
        raise broken_json(broken, text.encode(), path, line) from broken
    except RecursionError as deep:
        raise UnreadableFile(str(path), "the JSON is nested too deeply", line) from deep
    clean, replaced = _without_surrogates(value)
    return Record(line, clean, replaced)


def _without_surrogates(value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        return _SURROGATES.subn("\ufffd", value)
    if isinstance(value, Mapping):
        pairs = [(_without_surrogates(key), _without_surrogates(item)) for key, item in value.items()]
        return {key[0]: item[0] for key, item in pairs}, sum(key[1] + item[1] for key, item in pairs)
    if isinstance(value, list):
        items = [_without_surrogates(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    return value, 0
