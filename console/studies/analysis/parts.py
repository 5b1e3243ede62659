"""The declaration of an analysis, which page and report render: its tables, texts and charts in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from types import MappingProxyType

import pandas as pd

from console.studies.analysis.format import ColumnFormat
from console.studies.analysis.frames import NAMES, Frames
from console.trajectory.strict_yaml import read_data

Compute = Callable[[Frames], pd.DataFrame]


@dataclass(frozen=True, slots=True)
class ResultChoice:
    """A column to select on a page, with labels in `names`; a report shows the first value if `every` is False."""

    column: str
    label: str
    key: str
    names: Mapping[str, str] = field(default_factory=dict)
    every: bool = True

    def name_of(self, value: str) -> str:
        """Return the label of the value in the selection."""
        return self.names.get(value, value)


@dataclass(frozen=True, slots=True)
class ResultPart:
    """A table of an analysis with its sentences and charts.

    `title` is the heading; `about` explains how to read the table. `sentence` and `chart` (a name in CHARTS) apply to
    each value of the columns `apart`; if `together` is True, one chart shows all values. `view` changes the layout of
    the table. If `printed` is True, the report shows all rows of a view of strings. `columns` overrides format.COLUMNS
    for this table.
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
        """Return the table in its layout for display, without rows if the table is hidden."""
        if not self.grid:
            return frame.iloc[:0]
        return self.view(frame) if self.view and len(frame) else frame


@dataclass(frozen=True, slots=True)
class AnalysisWords:
    """The texts of an analysis, as in its YAML file.

    `tab` is the label on the page, `title` and `lead` open the section in the report, `source` names the tidy tables.
    """

    tab: str
    title: str
    lead: str
    source: str
    parts: tuple[ResultPart, ...]
    choices: tuple[ResultChoice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis(AnalysisWords):
    """One question about the results.

    `tables` maps each table name, unique across all analyses, to the function that computes the table from the tidy
    tables alone. Excluded participants are left out unless `of_everybody` is True.
    """

    tables: Mapping[str, Compute]
    of_everybody: bool = False

    def first(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows for a report: if `every` is False for a choice, keep only its first value."""
        for choice in self.choices:
            if not choice.every and choice.column in frame and len(frame):
                frame = frame[frame[choice.column] == frame[choice.column].iloc[0]]
        return frame


def read_analysis(
    name: str,
    tables: Mapping[str, Compute],
    sentences: Mapping[str, Callable[[pd.DataFrame], str]] = MappingProxyType({}),
    views: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]] = MappingProxyType({}),
    *,
    of_everybody: bool = False,
) -> Analysis:
    """Read the analysis from its YAML file; sentence and view of a table belong to the first part that shows it."""
    words, says, lays_out = read_data(files(__package__) / f"{name}.yaml", AnalysisWords), {**sentences}, {**views}
    parts = tuple(
        replace(part, sentence=says.pop(part.table, None), view=lays_out.pop(part.table, None)) for part in words.parts
    )
    texts = (words.tab, words.title, words.lead, words.source, parts, words.choices)
    return Analysis(*texts, tables=tables, of_everybody=of_everybody)


Of = str
"""The subject of a sentence or chart; empty if it covers the whole table."""


def sentences(part: ResultPart, frame: pd.DataFrame) -> Iterator[tuple[Of, str]]:
    """Return the sentences on the table or, if the table is empty, a sentence with the reason."""
    if part.sentence:
        for of, rows in _each(frame, part.apart) if len(frame) else [("", frame)]:
            if said := part.sentence(rows):
                yield of, said


def charts(part: ResultPart, frame: pd.DataFrame) -> Iterator[tuple[Of, pd.DataFrame]]:
    """Iterate over the rows of each chart in the part."""
    if part.chart and len(frame):
        yield from _each(frame, () if part.together else part.apart)


def _each(frame: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[Of, pd.DataFrame]]:
    there = [column for column in columns if column in frame]
    if not there:
        yield "", frame
        return
    for values, rows in frame.groupby(there, sort=False):
        yield ", ".join(NAMES.get(str(value), str(value)) for value in values), rows
