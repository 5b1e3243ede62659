"""The records of a JSON file: one record per line, a list, an object with a list, or a single record.

`outline` lists the field paths in the first bytes of a file; these paths show the position of the records. `elements`
scans only brackets and strings to find the end of each record. So memory holds one record, every record keeps its line
number, and orjson parses at full speed.
"""

from __future__ import annotations

import json
import re
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.files import BOM, CUT, LINE_LIMIT_BYTES, TOO_LONG, broken_json, byte_lines, decode
from console.runs.importers.records import Progress

_WRAPPERS = ("results", "simulations", "trajectories", "records", "runs", "conversations", "data", "loglines")
"""Field names of a JSON object that may hold the list of records."""
BASES = ("", "[]", *(f".{name}[]" for name in _WRAPPERS))
"""The possible positions of records: a top-level value, in a list, in a list in an object."""

_DEPTH = 6
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
_GAP = r"[ \t\r\n,]*+"
_KEY = re.compile(rf"{_GAP}({_STRING})[ \t\r\n]*+:")
_VALUE = re.compile(rf"{_GAP}(?:([\[{{])|{_STRING}|-?\d[\d.eE+-]*+|true|false|null|-?(?:NaN|Infinity))")
_CLOSING = re.compile(rf"{_GAP}[\]}}]")


@lru_cache(maxsize=4)
def outline(head: bytes) -> frozenset[str]:
    """Return the field paths of the first top-level value, such as `[].traj[].role`; ignore text after invalid JSON."""
    return frozenset(_paths(head.decode(errors="replace")))


def _paths(text: str) -> Iterator[str]:
    """Yield the path of each key and plain value down to a depth of six; stop at invalid JSON."""
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
            trail[-1] = "." + (json.loads(key[1]) if "\\" in key[1] else key[1][1:-1])
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
    """Return the base from `BASES` that contains the records, or None if no alternative matches."""
    for base in BASES:
        if any(all(base + mark in paths for mark in marks) for marks in alternatives):
            return base
    return None


_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]"]', re.DOTALL)
_QUOTE, _LIST = ord('"'), ord("[")
_OPENING = frozenset(b"{[")
_CHUNK_BYTES = 2**18
_SEVERAL = "A second JSON document follows the first. Save each document as a file of its own, then import the files."
_GARBLED = (
    "This is not valid JSON: exactly one comma must separate two records. Fix the commas or export the log again."
)


def elements(path: Path, base: str, progress: Progress | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (first line, bytes) of each value at `base` (see `base_of`); raise UnreadableFile for invalid JSON."""
    with path.open("rb") as stream:
        yield from _Scan(path, stream, progress, base).run()


def fields_before(path: Path, name: str) -> dict[str, Any]:
    """Return the fields before the field `name` in a file's single object, within the first 8 MB."""
    with path.open("rb") as stream:
        head = stream.read(2**23).removeprefix(BOM)
    level = 0
    for match in _TOKEN.finditer(head):
        kind = head[match.start()]
        level += 1 if kind in _OPENING else -1 if kind != _QUOTE else 0
        if level == 1 and match[0] == f'"{name}"'.encode() and head[match.end() :].lstrip().startswith(b":"):
            try:
                found = parse_json(head[: match.start()].rstrip().removesuffix(b",") + b"}", path, 1).value
            except UnreadableFile:
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
    """The position at which the search for the next token starts."""
    kept: int = 0
    """The end of the last value, or the start of the current value; the scan no longer needs earlier bytes."""
    line: int = 1
    """The line number at the position `kept`."""
    level: int = 0
    inside: bool = False
    """True if the list of records is open; always true for top-level records."""
    reading: bool = False
    """True if a value is open."""
    first: bool = True
    ended: bool = False
    """True if the last bracket is closed, so that no further value may follow."""
    key: bytes = b""
    done: int = 0

    @property
    def depth(self) -> int:
        """The number of open brackets around a record."""
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
        """Read more bytes; double the window for a long record, so that the scan reads each byte at most twice."""
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
        depth = self.depth
        for match in _TOKEN.finditer(self.buffer, self.position):
            start, end = match.span()
            kind = self.buffer[start]
            if kind == _QUOTE:
                if end - start == 1:
                    self.position = start
                    return
                if self.reading and self.level > depth:
                    continue
            if self.ended:
                is_next = self.depth > 1 and kind in _OPENING and not self.buffer[self.kept : start].strip()
                raise self._garbled(start, _SEVERAL if is_next else _GARBLED)
            if self.inside and self.level == depth and not self._begin(start, closing=kind in b"}]"):
                self.inside = False
            self.level += 1 if kind in _OPENING else -1 if kind != _QUOTE else 0
            self.ended = self.level < 0 or (self.level == 0 and depth > 0)
            if self.reading and self.level == depth:
                line, value = self.line, self.buffer[self.kept : end]
                self._keep(end)
                self.reading = False
                yield line, value
            elif not self.inside:
                self._outside(kind, start, end)
        self.position = len(self.buffer)

    def _begin(self, start: int, *, closing: bool) -> bool:
        """Start a value after a valid separator; return False if the list ends instead."""
        gap = self.buffer[self.kept : start].strip()
        if gap != (b"" if self.first or closing or not self.depth else b","):
            raise self._garbled(start)
        self._keep(start)
        self.first, self.reading = False, not closing
        return not closing

    def _outside(self, kind: int, start: int, end: int) -> None:
        if kind == _QUOTE and self.level == 1:
            self.key = self.buffer[start + 1 : end - 1]
        elif kind == _LIST and self.level == self.depth and self.first:
            self.inside = self.depth == 1 or self.key == self.base[1:-2].encode()
        self._keep(end)

    def _keep(self, position: int) -> None:
        self.line += self.buffer.count(b"\n", self.kept, position)
        self.kept = position

    def _unclosed(self) -> UnreadableFile:
        """Return the JSON parser's error for an unclosed bracket, else the error for a truncated file."""
        rest = self.buffer[self.kept :].rstrip()
        try:
            orjson.loads(rest if self.reading else b"{}")
        except orjson.JSONDecodeError as broken:
            return broken_json(broken, rest, self.path, self.line)
        return UnreadableFile(str(self.path), CUT, self.line + rest.count(b"\n"))

    def _garbled(self, position: int, reason: str = _GARBLED) -> UnreadableFile:
        return UnreadableFile(str(self.path), reason, self.line + self.buffer.count(b"\n", self.kept, position))


HEAD_BYTES, LONG_HEAD_BYTES = 2**16, 2**23


def outlines(path: Path) -> Iterator[frozenset[str]]:
    """Yield the outline of the first 64 KB, then of the first 8 MB if the file is longer: records may begin late."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
        yield outline(head.removeprefix(BOM))
        if len(head) == HEAD_BYTES:
            yield outline((head + stream.read(LONG_HEAD_BYTES - HEAD_BYTES)).removeprefix(BOM))


_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NOT_A_NUMBER = re.compile(r"[:,\[]\s*-?(?:NaN|Infinity)\b")
"""Numbers that Python writes, but JSON does not allow."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_GOES_ON_NEXT_LINE = (b"{", b"[", b",", b":")


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value with its first line; `replaced` counts replaced characters that text cannot contain."""

    line: int
    value: Any
    replaced: int = 0

    @property
    def notes(self) -> dict[str, Any]:
        """Notes on the record for the trajectory's `extra`."""
        return {"replaced_characters": self.replaced} if self.replaced else {}


def json_records(path: Path, progress: Progress | None, *alternatives: tuple[str, ...]) -> Iterator[Record]:
    """Yield the records at the base, else a list's elements, else one record of the file or of each line.

    Raise UnreadableFile for invalid JSON.
    """
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES).removeprefix(BOM)
    base = next((base for paths in outlines(path) if (base := base_of(paths, *alternatives)) is not None), None)
    if base is None:
        base = "[]" if head.lstrip().startswith(b"[") else ""
    if base or _spread_over_lines(head):
        for line, raw in elements(path, base, progress):
            yield parse_json(raw, path, line)
    else:
        for line, raw in byte_lines(path, progress):
            if raw and not raw.isspace():
                yield parse_json(raw, path, line)


def objects(path: Path, progress: Progress | None, *alternatives: tuple[str, ...]) -> Iterator[Record]:
    """Yield the objects of `json_records`; raise UnreadableFile if a record is not an object."""
    for record in json_records(path, progress, *alternatives):
        if not isinstance(record.value, dict):
            reason = "This record is not a JSON object. Fix the record or remove it, then import again."
            raise UnreadableFile(str(path), reason, record.line)
        yield record


def parse_json(raw: bytes, path: Path, line: int) -> Record:
    """Return the parsed JSON value; replace lone surrogates, and replace NaN and Infinity by null."""
    try:
        return Record(line, orjson.loads(raw))
    except orjson.JSONDecodeError as broken:
        text = decode(raw, path, line)
        if _LONE_SURROGATE.search(text) or _NOT_A_NUMBER.search(text):
            return _mended(text, path, line)
        raise broken_json(broken, raw, path, line) from broken


def read_required_list(record: Record, path: Path, name: str) -> list[Any]:
    """Return the list in the field `name`; raise UnreadableFile if the field is missing or is not a list."""
    value = record.value.get(name)
    if not isinstance(value, list):
        reason = f'"{name}" is missing or is not a list, so the record has no steps. Export the log again.'
        raise UnreadableFile(str(path), reason, record.line)
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


def _mended(text: str, path: Path, line: int) -> Record:
    try:
        value = json.loads(text, parse_constant=lambda _name: None, parse_int=_whole_number)
    except json.JSONDecodeError as broken:
        raise broken_json(broken, text.encode(errors="replace"), path, line) from broken
    except RecursionError as deep:
        raise UnreadableFile(
            str(path), "The JSON is nested too deeply. Flatten the JSON, then import again.", line
        ) from deep
    clean, replaced = _without_surrogates(value)
    return Record(line, clean, replaced)


def _whole_number(digits: str) -> int | float:
    """Return the number as orjson reads it: beyond 64 bits as a float."""
    return int(digits) if abs(float(digits)) < 2**63 else float(digits)


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


_IN_MEMORY = 16 * 2**20
GROUP_LIMIT_BYTES = 128 * 2**20
_TOO_LONG = "The session or trace that begins here is longer than 128 MB. Split the session or trace."


def group_records(records: Iterable[tuple[str, int, Any]], path: Path) -> Iterator[tuple[str, list[Record]]]:
    """Group (key, line, value) by key and yield (key, records), in the order of each key's first record.

    Raise UnreadableFile if the records of one key exceed 128 MB of JSON.
    """
    # Three numbers a record, (line, start, bytes), packed: a large file has a million of them.
    places: dict[str, array[int]] = {}
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        for key, line, value in records:
            raw = orjson.dumps(value)
            places.setdefault(key, array("q")).extend((line, spool.tell(), len(raw)))
            spool.write(raw)
        for key, entries in places.items():
            if sum(entries[2::3]) > GROUP_LIMIT_BYTES:
                raise UnreadableFile(str(path), _TOO_LONG, entries[0])
            yield key, [_read(spool, *entries[at : at + 3]) for at in range(0, len(entries), 3)]


def _read(spool: Any, line: int, start: int, size: int) -> Record:
    spool.seek(start)
    return Record(line, orjson.loads(spool.read(size)))


def first_values(head: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects on the first complete lines of a file."""
    for raw in head.split(b"\n"):
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            yield value
