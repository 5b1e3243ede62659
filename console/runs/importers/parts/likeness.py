"""Descriptions of files without a known format: the nearest format, or the reason why there is nothing to review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.json_records import BASES, base_of, json_records, outline
from console.trajectory.strict_yaml import read_data

_FIELDS = 6
CANONICAL_LINE = orjson.dumps(
    {
        "task_id": "t1",
        "instruction": "Pay the bill",
        "steps": [{"thought": "", "action": "pay[5 dollars]", "observation": "paid"}],
    }
).decode()
"""One canonical line, as an example to follow if no format fits."""
_AIM = "See `inferact trajectory import --help` for the formats and an example line."


def likeness(path: Path, head: bytes, marks: Mapping[str, tuple[tuple[str, ...], ...]]) -> str:
    """Return a sentence on a file whose format was not recognised; `marks` are the marks of each format."""
    if (broken := _break(path, head)) is not None:
        return f"It looks like JSON, but its first record is invalid. {broken}"
    paths = outline(head)
    looks = _looks(head, paths)
    near = max(_nearest(paths, marks), key=lambda one: one[:3], default=None)
    if near is None or near[0] <= 0:
        return f"It looks like {looks}, which no known format has. {_AIM}"
    _, _, name, lacking = near
    lacks = f"lacks {', '.join(mark.lstrip('.') for mark in lacking)}" if lacking else "holds other values"
    return f"It looks like {looks}. The nearest format is {name}, but the file {lacks}. {_AIM}"


def _break(path: Path, head: bytes) -> str | None:
    """Return a sentence on the JSON error in the first record, or None if it is valid or not JSON."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        next(json_records(path, None), None)
    except UnreadableFile as refused:
        return f"On line {refused.line}: {refused.reason}" if refused.line else refused.reason
    return None


def _looks(head: bytes, paths: frozenset[str]) -> str:
    first = next((line for line in head.split(b"\n") if line.strip()), b"").decode(errors="replace").strip()
    if not paths:
        separator = next((one for one in ("\t", ",", ";") if first.count(one) > 1), None)
        if separator and "{" not in first:
            return f"a table with the columns {', '.join(first.split(separator)[:_FIELDS])}"
        return f"text that begins with {first[:60]!r}"
    base = next((one for one in reversed(BASES) if any(path.startswith(f"{one}.") for path in paths)), "")
    under = (path[len(base) + 1 :] for path in paths if path.startswith(f"{base}."))
    named = sorted({name for path in under if (name := path.lstrip(".").partition(".")[0].partition("[")[0])})
    listed = "JSON objects" if not base else f"a JSON list of objects{f' under {base[1:-2]}' if base != '[]' else ''}"
    return f"{listed} with the fields {', '.join(named[:_FIELDS])}" if named else "JSON without any named field"


def _nearest(
    paths: Iterable[str], marks: Mapping[str, tuple[tuple[str, ...], ...]]
) -> Iterator[tuple[float, int, str, tuple[str, ...]]]:
    """Yield (share of marks present, minus number of marks, format, missing marks) for each alternative and base."""
    known = frozenset(paths)
    for name, alternatives in marks.items():
        for alternative in alternatives:
            for base in BASES:
                lacking = tuple(mark for mark in alternative if base + mark not in known)
                begun = sum("[]" in mark and base + mark.partition("[]")[0] in known for mark in lacking)
                yield 1 - (len(lacking) - begun / 2) / len(alternative), -len(alternative), name, lacking


@dataclass(frozen=True, slots=True)
class CompanionFile:
    """A file that accompanies logs: the paths that identify it, and a sentence why it has nothing to review."""

    marks: tuple[str, ...]
    sentence: str


_COMPANIONS = read_data(files(__package__) / "companions.yaml", tuple[CompanionFile, ...])
_SENTENCES = "This is a list of texts without actions, such as WebShop's human goals. Import the log of a run."


def refuse_companion(path: Path, head: bytes) -> None:
    """Raise UnreadableFile, with the reason, if the file accompanies logs and has nothing to review."""
    paths = outline(head)
    told = (one.sentence for one in _COMPANIONS if base_of(paths, one.marks) is not None)
    if sentence := _SENTENCES if paths == {"[]"} else next(told, None):
        raise UnreadableFile(str(path), sentence)
