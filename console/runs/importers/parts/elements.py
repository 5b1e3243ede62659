"""The values in a JSON document one by one, as the bytes that they were written in, with their lines.

A scanner of brackets and strings alone: it finds where each record ends without building anything, so that memory holds
one record, every record keeps its line number, and orjson then reads it at full speed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.lines import BOM, CUT, LINE_LIMIT_BYTES, TOO_LONG, broken_json
from console.runs.importers.records import Progress

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
