"""Number and table formats for readers: few digits, dashes for missing values, long texts as notes below the table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from console.analysis.charts.studies import AGREEMENT_MEASURES
from console.analysis.statistics.estimates import contrast_title
from console.analysis.statistics.estimates import number as number
from console.language import counted
from console.trajectory.strict_yaml import read_data

P_VALUES = ("p", "p_holm", "p_adjusted", "p_equivalent", "simple_p")
"""The columns that hold p-values."""

_NOTES = ("note", "method")
_DASH, _DIGITS = "–", 3
_SHOWN = AGREEMENT_MEASURES | read_data(files(__package__) / "cells.yaml", dict[str, str])


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """A column's heading (default: its name) and decimals (default: three, and none for whole numbers)."""

    heading: str = ""
    digits: int | None = None


COLUMNS: dict[str, ColumnFormat] = {
    "low": ColumnFormat("95% low"),
    "high": ColumnFormat("95% high"),
    "sd": ColumnFormat("SD"),
    "median_seconds": ColumnFormat(digits=1),
}
"""The formats of columns that occur in several tables."""


def heading(column: str, columns: Mapping[str, ColumnFormat]) -> str:
    """Return the heading of the column."""
    return _format(column, columns).heading or column.replace("_", " ")


def format_signed(value: float) -> str:
    """Return a difference with its sign, zero without a sign, or a dash if the difference is missing."""
    return _DASH if pd.isna(value) else number(value, "+.3f")


def p_value(value: float) -> str:
    """Return a p-value with three digits, or "< 0.001"."""
    if pd.isna(value):
        return _DASH
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def span(row: Mapping[str, Any], form: str, unit: str = "") -> str:
    """Return the interval of a row in brackets, or an empty string if the row has no interval."""
    return "" if pd.isna(row["low"]) else f" ({number(row['low'], form)} to {number(row['high'], form)}{unit})"


def list_names(names: Iterable[str]) -> str:
    """Return the names as a phrase: "a", "a and b", "a, b and c"."""
    return " and ".join(", ".join(names).rsplit(", ", 1))


def name_reviewers(reviewers: str) -> str:
    """Return a kind of reviewers as a noun: "people" or "simulated reviewers"."""
    return reviewers if reviewers == "people" else f"{reviewers} reviewers"


def lower_first(note: str) -> str:
    """Return a note in the form that continues a sentence."""
    return f"{note[:1].lower()}{note[1:]}"


def over(row: Mapping[str, Any], participants: int) -> str:
    """Return "over n participants" for a mean over `n` of them, or "over n of m participants" if some have no value."""
    some = f"{row['n']:,} of " if row["n"] < participants else ""
    return f"over {some}{counted(participants, 'participant')}"


def why_open(row: Mapping[str, Any]) -> str:
    """Return the reason why a row has no interval, as the end of a sentence, or an empty text."""
    return f", without an interval: {lower_first(str(row['note']))}" if pd.isna(row["low"]) else "."


def by_figure(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the rows of the table as dictionaries, keyed by their value in the column `figure`."""
    return {str(row["figure"]): {str(name): cell for name, cell in row.items()} for row in table.to_dict("records")}


def cell_text(cell: Any, column: str = "", columns: Mapping[str, ColumnFormat] = COLUMNS) -> str:
    """Return one cell as text, with the decimals of its column, or a dash if the cell is missing."""
    if pd.isna(cell):
        return _DASH
    if isinstance(cell, float):
        return _float_text(cell, column, columns)
    if column in ("measure", "figure", "purpose", "seeded", "decisions") and isinstance(cell, str):
        return _SHOWN.get(cell, cell)
    if column == "contrast":
        return contrast_title(str(cell))
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


def _float_text(cell: float, column: str, columns: Mapping[str, ColumnFormat]) -> str:
    if column in P_VALUES:
        return p_value(cell)
    digits = _format(column, columns).digits
    if digits is None and cell.is_integer() and abs(cell) > 1:
        return number(cell, ",.0f")
    digits = _DIGITS if digits is None else digits
    return number(cell, f",.{digits}f")


def number_texts(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Replace long texts by numbers; return the table and, in the order of the numbers, the distinct texts."""
    columns = [column for column in _NOTES if column in frame]
    notes = tuple(dict.fromkeys(text for column in columns for text in frame[column] if text))
    numbers = {text: str(place) for place, text in enumerate(notes, 1)} | {"": ""}
    return frame.assign(**{column: frame[column].map(numbers) for column in columns}), notes


def readable(frame: pd.DataFrame, hidden: Collection[str] = ()) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the table with readable texts and without hidden or empty columns; also return its notes."""
    shown, notes = number_texts(frame.drop(columns=[column for column in hidden if column in frame]))
    filled = [column for column in shown if len(shown) and (shown[column].notna() & (shown[column] != "")).any()]
    texts = {column: [cell_text(cell, column) for cell in shown[column]] for column in filled if column == "measure"}
    return shown[filled].assign(**texts), notes


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of strings: its header, the columns that hold numbers, its rows, and its notes."""

    head: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def text_table(frame: pd.DataFrame, columns: Mapping[str, ColumnFormat] = COLUMNS) -> TextTable:
    """Return the table as a TextTable."""
    shown, notes = readable(frame)
    texts = [[cell_text(cell, str(column), columns) for cell in shown[column]] for column in shown]
    return TextTable(
        head=tuple(heading(str(column), columns) for column in shown),
        numeric=tuple(pd.api.types.is_numeric_dtype(shown[column]) for column in shown),
        rows=tuple(zip(*texts, strict=True)),
        notes=notes,
    )


def _format(column: str, columns: Mapping[str, ColumnFormat]) -> ColumnFormat:
    return columns.get(column) or COLUMNS.get(column) or ColumnFormat()
