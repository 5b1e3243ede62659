"""What a file without a known format looks like: what the nearest one has and it lacks, or why it holds no run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.json_records import BASES, base_of, json_records, outline
from console.trajectory.data_files import read_data

_FIELDS = 6
CANONICAL_LINE = orjson.dumps(
    {
        "task_id": "t1",
        "instruction": "Pay the bill",
        "steps": [{"thought": "", "action": "pay[5 dollars]", "observation": "paid"}],
    }
).decode()
"""One line of the console's own form, to aim at where no format fits."""
_AIM = "`inferact trajectory import --help` lists the formats and shows a line to aim at"


def likeness(path: Path, head: bytes, marks: Mapping[str, tuple[tuple[str, ...], ...]]) -> str:
    """One sentence on the file for somebody whose log was not recognised; `marks` tell each format."""
    if (broken := _break(path, head)) is not None:
        return f"it looks like JSON, but its first record cannot be read: {broken}"
    paths = outline(head)
    looks = _looks(head, paths)
    near = max(_nearest(paths, marks), key=lambda one: one[:3], default=None)
    if near is None or near[0] <= 0:
        return f"it looks like {looks}, and no known format has such records; {_AIM}"
    _, _, name, lacking = near
    lacks = f"lacks {', '.join(mark.lstrip('.') for mark in lacking)}" if lacking else "holds other values"
    return f"it looks like {looks}; the nearest format is {name}, but it {lacks}; {_AIM}"


def _break(path: Path, head: bytes) -> str | None:
    """Where the first record breaks, None where it does not, or where this is no JSON."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        next(json_records(path, None), None)
    except UnreadableFile as refused:
        return f"line {refused.line}: {refused.reason}" if refused.line else refused.reason
    return None


def _looks(head: bytes, paths: frozenset[str]) -> str:
    first = next((line for line in head.split(b"\n") if line.strip()), b"").decode(errors="replace").strip()
    if not paths:
        separator = next((one for one in ("\t", ",", ";") if first.count(one) > 1), None)
        if separator and "{" not in first:
            return f"a table with the columns {', '.join(first.split(separator)[:_FIELDS])}"
        return f"text that begins with {first[:60]!r}"
    base = next((one for one in reversed(BASES) if any(path.startswith(f"{one}.") for path in paths)), "")
    named = sorted(
        {path[len(base) :].lstrip(".").partition(".")[0].partition("[")[0] for path in paths if _under(path, base)}
    )
    listed = "JSON objects" if not base else f"a JSON list of objects{f' under {base[1:-2]}' if base != '[]' else ''}"
    return f"{listed} with the fields {', '.join(named[:_FIELDS])}" if named else "JSON without any named field"


def _under(path: str, base: str) -> bool:
    return path.startswith(f"{base}.") and len(path) > len(base) + 1


def _nearest(
    paths: Iterable[str], marks: Mapping[str, tuple[tuple[str, ...], ...]]
) -> Iterator[tuple[float, int, str, tuple[str, ...]]]:
    """(how much of its marks is there, less their number, the format, which are not), for each way to tell each."""
    known = frozenset(paths)
    for name, alternatives in marks.items():
        for alternative in alternatives:
            for base in BASES:
                lacking = tuple(mark for mark in alternative if base + mark not in known)
                begun = sum("[]" in mark and base + mark.partition("[]")[0] in known for mark in lacking)
                yield 1 - (len(lacking) - begun / 2) / len(alternative), -len(alternative), name, lacking


@dataclass(frozen=True, slots=True)
class CompanionFile:
    """A file that lies beside logs: the paths that tell it, and why there is nothing to review in it."""

    marks: tuple[str, ...]
    sentence: str


_COMPANIONS = read_data(files(__package__) / "companions.yaml", tuple[CompanionFile, ...])
_SENTENCES = "this is a list of texts, such as WebShop's human goals, without any actions; import the log of a run"


def companion_sentence(head: bytes) -> str | None:
    """Why the file has nothing to review in it, or None where it is no known companion."""
    paths = outline(head)
    if "[]" in paths and not any(path != "[]" for path in paths):
        return _SENTENCES
    return next((one.sentence for one in _COMPANIONS if base_of(paths, one.marks) is not None), None)
