"""The handbook: chapters as Markdown files in this folder, and a data dictionary generated from the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from console.language import _, gettext_noop
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
_HEAD, _FENCE = re.compile(r"^## (.+)$", re.MULTILINE), re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_COMMANDS = re.compile(r"^```$(?=\n(?:inferact|pip|python) )", re.MULTILINE)
"""The openings of blocks of commands."""
_WIDE = re.compile(r"((?:^\|(?:[^|\n]*\|){7,}\n)+)", re.MULTILINE)
"""A Markdown table of seven columns or more."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
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
    titles: dict[str, str]


@cache
def chapter(name: str) -> str:
    """Return a chapter of CHAPTERS as Markdown, with second-level headings at the top."""
    if name == "data":
        return _dictionary()
    text = (_HERE / f"{name}.md").read_text("utf-8")
    return text.replace(_CONFORMANCE, _draw_conformance()) if _CONFORMANCE in text else text


def mark_commands(text: str) -> str:
    """Return the chapter with its blocks of commands as shell code, whose flags a page keeps on one line."""
    return _COMMANDS.sub("```sh", text)


def split_wide_tables(text: str) -> Iterator[str | list[dict[str, str]]]:
    """Yield the Markdown between wide tables as text, and the rows of each wide table, which a narrow page scrolls."""
    for part in _WIDE.split(text):
        if _WIDE.fullmatch(part):
            head, _rule, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines())
            yield [dict(zip(head, row, strict=True)) for row in rows]
        else:
            yield part


def contents_html(name: str) -> str:
    """Return links to the second-level headings of a chapter as HTML; Streamlit names a heading by its words."""
    heads = _HEAD.findall(_FENCE.sub("", chapter(name)))
    links = "".join(f'<li><a href="#{_anchor(head)}">{escape(head)}</a></li>' for head in heads)
    title = escape(_("Contents"))
    folded = f"<details><summary>{title} ({len(heads)})</summary><ol>{links}</ol></details>"
    return f'<nav class="ia-contents" aria-label="{title}">{folded}</nav>'


def _anchor(head: str) -> str:
    """Return the id that Streamlit gives to a heading: its words in lower case, with words in CamelCase split."""
    return "-".join(word.lower() for word in _WORD.findall(head.replace("'", "")))


@cache
def meanings() -> dict[str, str]:
    """Return the meaning of each export column by the column's name."""
    return read_data(_HERE / "columns.yaml", dict[str, str])


def _draw_conformance() -> str:
    known = read_data(_HERE / "approval_conformance.yaml", _Conformance)
    table = ["| Entry point | Version | Tried on | Cases as expected | Limit |", "|---|---|---|---|---|"]
    for name, way in known.ways.items():
        held = f"{way.cells.count('ok')} of {len(known.cases)}"
        limits = "; ".join(f"{case}: {says}" for case, says in known.limits.get(name, {}).items())
        failed = "; ".join(case for case, cell in zip(known.cases, way.cells, strict=True) if cell == "no")
        row = (known.titles.get(name, name), way.version, way.date, held, "; ".join(filter(None, (limits, failed))))
        table.append(f"| {' | '.join(row)} |")
    return "\n".join([*table, f"\nThe cases: {', '.join(known.cases)}.\n"])


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
