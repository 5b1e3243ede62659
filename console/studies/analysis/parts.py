"""What an analysis of a study states once for all who show it: its tables, its words, its charts and their order.

The page of results and the HTML report are two renderers of this list; neither has a word or a rounding of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from types import MappingProxyType

import pandas as pd

from console.studies.analysis.format import ColumnFormat
from console.studies.analysis.frames import REVIEWERS, Frames
from console.trajectory.data_files import read_data

Compute = Callable[[Frames], pd.DataFrame]


@dataclass(frozen=True, slots=True)
class ResultChoice:
    """A column whose values a page offers to choose from; `names` are what they are called there.

    A report speaks of every value in its turn; where not `every` counts, of the first alone.
    """

    column: str
    label: str
    key: str
    names: Mapping[str, str] = field(default_factory=dict)
    every: bool = True

    def name_of(self, value: str) -> str:
        """What the value is called where it is chosen."""
        return self.names.get(value, value)


@dataclass(frozen=True, slots=True)
class ResultPart:
    """A table of an analysis with what it says and how it is drawn.

    `title` is its heading, `about` says how to read it. There is a sentence and a chart (a name in CHARTS) for each
    value of the columns `apart`, or one chart of all where it is drawn `together`. `view` lays the table out; a view of
    texts is `printed` whole. `columns` says how cells of this table are written where format.COLUMNS does not.
    """

    table: str
    title: str
    about: str = ""
    sentence: Callable[[pd.DataFrame], str] | None = None
    chart: str = ""
    apart: tuple[str, ...] = ("reviewers",)
    together: bool = False
    view: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    printed: bool = False
    grid: bool = True
    columns: Mapping[str, ColumnFormat] = field(default_factory=dict)

    def laid_out(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The table as it is shown; without rows where it is not to be."""
        if not self.grid:
            return frame.iloc[:0]
        return self.view(frame) if self.view and len(frame) else frame


@dataclass(frozen=True, slots=True)
class Analysis:
    """One question to the results: `tab` on the page, `title` and `lead` in the report, `source` names the tidy tables.

    `tables` computes each table by its name from the tidy tables alone; names are unique over all analyses. It sees
    only those whom no exclusion rule leaves out, unless it is `of_everybody`.
    """

    tab: str
    title: str
    lead: str
    source: str
    tables: Mapping[str, Compute]
    parts: tuple[ResultPart, ...]
    choices: tuple[ResultChoice, ...] = ()
    of_everybody: bool = False

    def first(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows that a report speaks of and draws: the first value of each choice that counts alone."""
        for choice in self.choices:
            if not choice.every and choice.column in frame and len(frame):
                frame = frame[frame[choice.column] == frame[choice.column].iloc[0]]
        return frame


@dataclass(frozen=True, slots=True)
class AnalysisWords:
    """The words of an analysis, as its YAML file has them."""

    tab: str
    title: str
    lead: str
    source: str
    parts: tuple[ResultPart, ...]
    choices: tuple[ResultChoice, ...] = ()


def read_analysis(
    name: str,
    tables: Mapping[str, Compute],
    sentences: Mapping[str, Callable[[pd.DataFrame], str]] = MappingProxyType({}),
    views: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]] = MappingProxyType({}),
    *,
    of_everybody: bool = False,
) -> Analysis:
    """The analysis of the YAML file of that name; the first part of a table has that table's sentence and view."""
    words, says, lays_out = read_data(files(__package__) / f"{name}.yaml", AnalysisWords), {**sentences}, {**views}
    parts = tuple(
        replace(part, sentence=says.pop(part.table, None), view=lays_out.pop(part.table, None)) for part in words.parts
    )
    return Analysis(words.tab, words.title, words.lead, words.source, tables, parts, words.choices, of_everybody)


Of = str
"""Whom or what a sentence or a chart is about, empty for all of it."""


def sentences(part: ResultPart, frame: pd.DataFrame) -> Iterator[tuple[Of, str]]:
    """What the table says, of each in its turn; of a table without rows, why it says nothing."""
    if part.sentence:
        for of, rows in _each(frame, part.apart) if len(frame) else [("", frame)]:
            if said := part.sentence(rows):
                yield of, said


def charts(part: ResultPart, frame: pd.DataFrame) -> Iterator[tuple[Of, pd.DataFrame]]:
    """The rows that each chart of the part draws."""
    if part.chart and len(frame):
        yield from _each(frame, () if part.together else part.apart)


def _each(frame: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[Of, pd.DataFrame]]:
    there = [column for column in columns if column in frame]
    if not there:
        yield "", frame
        return
    for values, rows in frame.groupby(there, sort=False):
        yield ", ".join(_NAMES.get(str(value), str(value)) for value in values), rows


_NAMES = {kind: name for name, kind in REVIEWERS.items()}
