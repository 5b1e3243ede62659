"""The handbook: chapters of Markdown beside this file, most for one kind of user, and a dictionary of the exports."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from console.language import gettext_noop
from console.runs.export import KINDS
from console.trajectory.data_files import read_data

CHAPTERS = {
    "reviewer": gettext_noop("Reviewer"),
    "researcher": gettext_noop("Researcher"),
    "developer": gettext_noop("Agent developer"),
    "operator": gettext_noop("Operator"),
    "figures": gettext_noop("What was measured"),
    "data": gettext_noop("Data dictionary"),
}
"""The chapters' titles by the name that stands in the address; the last one is made from the code."""

_HERE = files(__package__)
_TYPES = {"time": "UTC time", "truth": "true or false", "json": "JSON", "record": "JSON"}


@cache
def chapter(name: str) -> str:
    """A chapter of CHAPTERS as Markdown; its highest headings are of the second level."""
    return _dictionary() if name == "data" else (_HERE / f"{name}.md").read_text("utf-8")


@cache
def meanings() -> dict[str, str]:
    """What each column of a run's exports holds, by its name."""
    return read_data(_HERE / "columns.yaml", dict[str, str])


def _dictionary() -> str:
    """Every column of every kind of export of a run, as Markdown tables."""
    above = "What `inferact export KIND --run RUN --out FILE` and the page **Export** write, column by column."
    below = "Of a study, `inferact export study --study NAME --out FILE.zip` packs `dictionary.csv` beside its tables."
    return "\n\n".join([above, *map(_table, KINDS), below])


def _table(kind: str) -> str:
    rows = (
        f"| `{column.name}` | {_TYPES.get(column.kind, column.kind)} | {meanings()[column.name]} |"
        for column in KINDS[kind].columns
    )
    return "\n".join([f"## {kind}\n", "| column | type | holds |", "|---|---|---|", *rows])
