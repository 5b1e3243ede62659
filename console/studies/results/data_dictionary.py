"""The data dictionary: every column of every table of results, what it means, in which unit, of which type.

A table of FRAMES is read from the database, exported and read back by the lines of the YAML file beside this one alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from console.runs.export.formats import Column, ColumnKind
from console.trajectory.data_files import read_data

FACTOR = "factor_"
"""Before the name of each factor of the design, as a column; alone it stands for a column of each of them."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column: its name, the type of its cells, what they mean, and their unit where they have one.

    In a `filled` column of texts an empty cell is an empty text, elsewhere it is a missing one.
    """

    name: str
    kind: ColumnKind
    meaning: str
    unit: str = ""
    filled: bool = False


_TYPES = {
    ColumnKind.TEXT: "str",
    ColumnKind.JSON: "str",
    ColumnKind.INTEGER: "Int64",
    ColumnKind.NUMBER: "float64",
    ColumnKind.TRUTH: "boolean",
    ColumnKind.TIME: "datetime64[ms, UTC]",
}

FRAMES = read_data(files(__package__) / "data_dictionary.yaml", dict[str, tuple[Field, ...]])
"""The tables of results, each with its columns in order."""


def fields(frame: str, factors: Iterable[str]) -> list[Field]:
    """The columns of a table of FRAMES in a design with these factors."""
    levels = [Field(FACTOR + name, ColumnKind.TEXT, f"level of factor {name}") for name in factors]
    return [found for field in FRAMES[frame] for found in (levels if field.name == FACTOR else [field])]


def columns(fields: Sequence[Field]) -> list[Column]:
    """The columns as the export formats know them."""
    return [Column(field.name, field.kind) for field in fields]


def typed(fields: Sequence[Field], cells: pd.DataFrame) -> pd.DataFrame:
    """The table of these columns with their types; times are given as milliseconds since 1970, None is missing."""
    return pd.DataFrame({field.name: _series(field, cells[field.name]) for field in fields})


def table_of(frame: str, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """The table of that name, which no design's factors widen, with these rows."""
    columns = fields(frame, ())
    return typed(columns, pd.DataFrame(rows, columns=[field.name for field in columns], dtype=object))


def _series(field: Field, values: Any) -> pd.Series[Any]:
    if field.kind is not ColumnKind.TIME:
        return pd.Series(values, dtype=_TYPES[field.kind])
    moments: Any = pd.to_datetime(pd.Series(values, dtype="Int64"), unit="ms", utc=True)
    milliseconds: pd.Series[Any] = moments.astype(_TYPES[ColumnKind.TIME])
    return milliseconds


def rows(fields: Sequence[Field], frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The table's rows as the export formats take them: times as milliseconds, None where a cell is missing."""
    return list(zip(*(_cells(field, frame[field.name]) for field in fields), strict=True))


def _cells(field: Field, column: pd.Series[Any]) -> list[Any]:
    there = column.notna().tolist()
    plain = column.astype("int64") if field.kind is ColumnKind.TIME and all(there) else column
    if field.kind is ColumnKind.TIME and not all(there):
        plain = column.fillna(pd.Timestamp(0, unit="ms", tz="UTC")).astype("int64")
    return [value if known else None for value, known in zip(plain.tolist(), there, strict=True)]


def table(factors: Iterable[str]) -> pd.DataFrame:
    """The dictionary itself. Columns: table, column, type, unit, meaning."""
    names = list(factors)
    told = [
        (frame, field.name, str(field.kind), field.unit, field.meaning)
        for frame in FRAMES
        for field in fields(frame, names)
    ]
    return pd.DataFrame(told, columns=["table", "column", "type", "unit", "meaning"])
