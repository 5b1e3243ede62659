"""The values of any file as plain JSON or text lines, without code of a format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.files import BOM, LINE_LIMIT_BYTES, byte_lines
from console.runs.importers.parts.json_records import (
    BASES,
    HEAD_BYTES,
    LONG_HEAD_BYTES,
    elements,
    fields_before,
    outlines,
    parse_json,
)


def plain_values(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) of a file's JSON values or text lines, for any format."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES).removeprefix(BOM)
    if not head.lstrip().startswith((b"{", b"[")):
        for line, raw in byte_lines(path):
            yield line, raw.decode(errors="replace")
        return
    # A record of JSON lines may hold a list under a name that elsewhere holds the records.
    lines = _has_json_lines(path)
    base = "" if lines else _base(path, head)
    if base:
        yield 1, fields_before(path, base[1:-2]) if base != "[]" else {}
    for line, raw in byte_lines(path) if lines else elements(path, base):
        if raw.strip():
            try:
                yield line, parse_json(raw, path, line).value
            except UnreadableFile:
                yield line, raw.decode(errors="replace")


def _has_json_lines(path: Path) -> bool:
    """Return whether the first line is a JSON value and another line follows."""
    with path.open("rb") as stream:
        first = stream.readline(LINE_LIMIT_BYTES)
        if not stream.read(HEAD_BYTES).strip():
            return False
    try:
        orjson.loads(first.removeprefix(BOM))
    except orjson.JSONDecodeError:
        return False
    return True


def _base(path: Path, head: bytes) -> str:
    if head.lstrip().startswith(b"["):
        return "[]"
    with path.open("rb") as stream:
        beginning = stream.read(LONG_HEAD_BYTES)
    # A search for the names takes much less time than the outline of a long file.
    bases = [base for base in (*BASES[2:], ".samples[]") if f'"{base[1:-2]}"'.encode() in beginning]
    known = outlines(path) if bases else ()
    found = (one for paths in known for one in bases if any(told.startswith(f"{one}.") for told in paths))
    return next(found, "")


def leaf_texts(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from leaf_texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from leaf_texts(one)


_PRINTED = re.compile(r"\[\{\w+=|, \w+=\w+\}\]\Z")
_BETWEEN = re.compile(r"[\[{]+\w+=|\}*, \{?\w+=[\[{]?|[\]}]+")


def printed_texts(line: str) -> list[str]:
    """Return the texts of a message that Java prints as a list of maps, such as `[{text=Pay, type=text}]`, or [].

    If some texts have several words, return only these.
    """
    if line[:2] != "[{" and line[-2:] != "}]":
        return []
    pieces = [one.strip() for one in _BETWEEN.split(line)] if _PRINTED.search(line) else []
    return [one for one in pieces if " " in one] or [one for one in pieces if one]
