"""The handbook: chapters as Markdown files in this folder, and a data dictionary generated from the code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from console.language import gettext_noop
from console.runs.export import KINDS
from console.trajectory.strict_yaml import read_data

CHAPTERS = {
    "reviewer": gettext_noop("Reviewer"),
    "researcher": gettext_noop("Researcher"),
    "developer": gettext_noop("Agent developer"),
    "frameworks": gettext_noop("Agent frameworks"),
    "operator": gettext_noop("Operator"),
    "figures": gettext_noop("Measurements"),
    "papers": gettext_noop("What differs from the papers"),
    "data": gettext_noop("Data dictionary"),
}
"""The titles of the chapters by their name in the address; the code generates the last chapter."""

_HERE = files(__package__)
_CONFORMANCE = "(the table of approval-conformance)\n"
_TYPES = {"time": "UTC time", "truth": "true or false", "json": "JSON", "record": "JSON"}


@dataclass(frozen=True)
class _Tried:
    """A tested entry point of the gate; each cell is `ok`, `no`, or a word that `limits` explains."""

    version: str
    date: str
    cells: list[str]


@dataclass(frozen=True)
class _Conformance:
    """The file that `python -m tests.doors.approval_conformance --record` writes."""

    cases: list[str]
    ways: dict[str, _Tried]
    limits: dict[str, dict[str, str]]


@cache
def chapter(name: str) -> str:
    """Return a chapter of CHAPTERS as Markdown, with second-level headings at the top."""
    if name == "data":
        return _dictionary()
    text = (_HERE / f"{name}.md").read_text("utf-8")
    return text.replace(_CONFORMANCE, _draw_conformance()) if _CONFORMANCE in text else text


@cache
def meanings() -> dict[str, str]:
    """Return the meaning of each export column by the column's name."""
    return read_data(_HERE / "columns.yaml", dict[str, str])


def _draw_conformance() -> str:
    known = read_data(_HERE / "approval_conformance.yaml", _Conformance)
    numbers = [str(number) for number, _ in enumerate(known.cases, 1)]
    head = ["entry point", "version", "tried on", *numbers]
    rows = [[name, way.version, way.date, *way.cells] for name, way in known.ways.items()]
    table = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    cases = ", ".join(f"{number} {case}" for number, case in zip(numbers, known.cases, strict=True))
    limits = [f"- {way}, {case}: {says}" for way, cases in known.limits.items() for case, says in cases.items()]
    return "\n".join([*table, f"\nCases: {cases}.\n", *limits, ""])


def _dictionary() -> str:
    above = "This chapter lists every column of `inferact export KIND --run RUN --out FILE` and of the page **Export**."
    below = "For a study, `inferact export study --study NAME --out FILE.zip` adds `dictionary.csv` to its tables."
    return "\n\n".join([above, *map(_table, KINDS), below])


def _table(kind: str) -> str:
    rows = (
        f"| `{column.name}` | {_TYPES.get(column.kind, column.kind)} | {meanings()[column.name]} |"
        for column in KINDS[kind].columns
    )
    return "\n".join([f"## {kind}\n", "| column | type | holds |", "|---|---|---|", *rows])
