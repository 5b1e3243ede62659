"""The data dictionary: every column of every table of results; its YAML file is their only definition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from console.runs.export.formats import Column, ColumnKind
from console.trajectory.strict_yaml import read_data

FACTOR = "factor_"
"""The prefix of a factor's column; without a factor's name, it stands for the columns of all factors."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column; an empty cell is an empty string in a `filled` string column, else a missing value."""

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
    """Return the columns of a table in FRAMES, for a design with these factors."""
    levels = [Field(FACTOR + name, ColumnKind.TEXT, f"level of factor {name}") for name in factors]
    return [found for field in FRAMES[frame] for found in (levels if field.name == FACTOR else [field])]


def columns(fields: Sequence[Field]) -> list[Column]:
    """Return the columns as the export formats expect them."""
    return [Column(field.name, field.kind) for field in fields]


def coerce(fields: Sequence[Field], cells: pd.DataFrame) -> pd.DataFrame:
    """Return the table with typed columns. Times are given in milliseconds since 1970; None is a missing value."""
    return pd.DataFrame({field.name: _series(field, cells[field.name]) for field in fields})


def table_of(frame: str, rows: Sequence[tuple[Any, ...] | dict[str, Any]]) -> pd.DataFrame:
    """Return these rows as the named table, which has no factor columns."""
    columns = fields(frame, ())
    return coerce(columns, pd.DataFrame(list(rows), columns=[field.name for field in columns], dtype=object))


def _series(field: Field, values: Any) -> pd.Series[Any]:
    if field.kind is not ColumnKind.TIME:
        return pd.Series(values, dtype=_TYPES[field.kind])
    moments: Any = pd.to_datetime(pd.Series(values, dtype="Int64"), unit="ms", utc=True)
    milliseconds: pd.Series[Any] = moments.astype(_TYPES[ColumnKind.TIME])
    return milliseconds


def rows(fields: Sequence[Field], frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the table's rows for the export formats: times are milliseconds, missing cells are None."""
    return list(zip(*(_cells(field, frame[field.name]) for field in fields), strict=True))


def _cells(field: Field, column: pd.Series[Any]) -> list[Any]:
    there = column.notna().tolist()
    plain = column.astype("int64") if field.kind is ColumnKind.TIME and all(there) else column
    if field.kind is ColumnKind.TIME and not all(there):
        plain = column.fillna(pd.Timestamp(0, unit="ms", tz="UTC")).astype("int64")
    return [value if known else None for value, known in zip(plain.tolist(), there, strict=True)]


def table(factors: Iterable[str]) -> pd.DataFrame:
    """Return the dictionary itself. Columns: table, column, type, unit, meaning."""
    names = list(factors)
    told = [
        (frame, field.name, str(field.kind), field.unit, field.meaning)
        for frame in FRAMES
        for field in fields(frame, names)
    ]
    return pd.DataFrame(told, columns=["table", "column", "type", "unit", "meaning"])
