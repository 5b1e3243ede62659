"""The records of a JSON file, whichever way it holds them: one a line, in a list, in a list in an object, or alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.elements import elements
from console.runs.importers.parts.lines import BOM, broken_json, byte_lines, decoded
from console.runs.importers.parts.outline import base_of, outline
from console.runs.importers.records import Progress

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
