"""The handbook: chapters as Markdown files in this folder, and a data dictionary generated from the code."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from console.language import gettext_noop
from console.runs.export import KINDS
from console.trajectory.strict_yaml import read_data

CHAPTERS = {
    "reviewer": gettext_noop("Reviewer"),
    "researcher": gettext_noop("Researcher"),
    "developer": gettext_noop("Agent developer"),
    "operator": gettext_noop("Operator"),
    "figures": gettext_noop("What was measured"),
    "papers": gettext_noop("What differs from the papers"),
    "data": gettext_noop("Data dictionary"),
}
"""The titles of the chapters by their name in the address; the code generates the last chapter."""

_HERE = files(__package__)
_TYPES = {"time": "UTC time", "truth": "true or false", "json": "JSON", "record": "JSON"}


@cache
def chapter(name: str) -> str:
    """Return a chapter of CHAPTERS as Markdown, with second-level headings at the top."""
    return _dictionary() if name == "data" else (_HERE / f"{name}.md").read_text("utf-8")


@cache
def meanings() -> dict[str, str]:
    """Return the meaning of each export column by the column's name."""
    return read_data(_HERE / "columns.yaml", dict[str, str])


def _dictionary() -> str:
    above = "Every column that `inferact export KIND --run RUN --out FILE` and the page **Export** write."
    below = "For a study, `inferact export study --study NAME --out FILE.zip` adds `dictionary.csv` to its tables."
    return "\n\n".join([above, *map(_table, KINDS), below])


def _table(kind: str) -> str:
    rows = (
        f"| `{column.name}` | {_TYPES.get(column.kind, column.kind)} | {meanings()[column.name]} |"
        for column in KINDS[kind].columns
    )
    return "\n".join([f"## {kind}\n", "| column | type | holds |", "|---|---|---|", *rows])
