"""Files of a study's result tables: writing and reading; each table equals the written table when it is read.

The YAML file of the data dictionary is the only definition of every column.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from console.errors import BadInput, Unknown
from console.runs.export import atomic_file
from console.runs.export.formats import FORMATS, Column, ColumnKind, Page, as_csv, read_csv
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
    return list(zip(*(_values(field, frame[field.name]) for field in fields), strict=True))


def _values(field: Field, column: pd.Series[Any]) -> list[Any]:
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


DICTIONARY = "dictionary.csv"
_ZIP = "zip"
_PAGE = 5_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def export(frames: Mapping[str, pd.DataFrame], path: Path, leaving: Callable[[], None]) -> int:
    """Write the decisions as csv, jsonl or parquet, or all tables as CSV files in a zip; return the number of rows.

    The file is written completely or not at all; `leaving` is called just before the file gets its name. Raise Unknown
    if the suffix is not supported, BadInput if the file cannot be written.
    """
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in (*FORMATS, _ZIP):
        raise Unknown("export format", suffix, [*FORMATS, _ZIP])
    with atomic_file(path) as stream:
        if suffix == _ZIP:
            stream.write(archive(frames))
            rows = sum(map(len, frames.values()))
        else:
            rows = _write("decisions", frames["decisions"], suffix, stream)
        leaving()
        return rows


def archive(frames: Mapping[str, pd.DataFrame]) -> bytes:
    """Return a zip with every table as CSV and the data dictionary."""
    return zip_files(csv_contents(frames))


def csv_contents(frames: Mapping[str, pd.DataFrame]) -> dict[str, bytes]:
    """Return every table and the data dictionary as CSV, by file name."""
    made = {}
    for name, frame in frames.items():
        stream = BytesIO()
        _write(name, frame, "csv", stream)
        made[f"{name}.csv"] = stream.getvalue()
    return made | {DICTIONARY: as_csv(table(factors_of(frames["decisions"])))}


def zip_files(contents: Mapping[str, bytes]) -> bytes:
    """Return a zip of these files, which are keyed by name."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in contents.items():
            packed.writestr(name, content)
    return stream.getvalue()


def write(frames: Mapping[str, pd.DataFrame], folder: Path) -> list[Path]:
    """Write every table and the data dictionary as CSV into the folder; create the folder if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failed:
        raise BadInput(f"{folder} cannot be created ({failed.strerror}). Choose another --out.") from failed
    written = []
    for name, content in csv_contents(frames).items():
        with atomic_file(folder / name) as stream:
            stream.write(content)
        written.append(folder / name)
    return written


def read(folder: Path) -> dict[str, pd.DataFrame]:
    """Read the tables that `write` wrote; raise BadInput if a table of all versions is missing."""
    files = {name: folder / f"{name}.csv" for name in FRAMES}
    return {
        name: table_of(name, []) if name in _LATER and not file.exists() else _read(name, file)
        for name, file in files.items()
    }


_LATER = ("plan", "history", "questionnaires", "scales", "page_times", "trace", "exclusions")


def factors_of(frame: pd.DataFrame) -> list[str]:
    """List the factors that have a column in a table of results."""
    return [str(name).removeprefix(FACTOR) for name in frame.columns if str(name).startswith(FACTOR)]


def _write(name: str, frame: pd.DataFrame, format: str, stream: BinaryIO) -> int:
    described = fields(name, factors_of(frame))
    cells = rows(described, frame)
    pages: list[Page] = [cells[start : start + _PAGE] for start in range(0, len(cells), _PAGE)]
    return FORMATS[format].write(columns(described), pages, stream)


def _read(name: str, path: Path) -> pd.DataFrame:
    try:
        with path.open(encoding="utf-8") as stream:
            header = stream.readline().rstrip("\n").split(",")
    except OSError as failed:
        raise BadInput(f"{path} cannot be read ({failed.strerror}). Export the results again.") from failed
    described = fields(name, [column.removeprefix(FACTOR) for column in header if column.startswith(FACTOR)])
    names = [field.name for field in described]
    # New columns are only added at the end, so an older export lacks the last columns.
    if header != names[: len(header)] or not header:
        raise BadInput(f"{path} does not have the columns of {name}. Export the results again.")
    raw = pd.DataFrame(list(read_csv(path)), columns=header, dtype="str").reindex(columns=names, fill_value="")
    return coerce(described, pd.DataFrame({field.name: _cells(field, raw[field.name]) for field in described}))


def _cells(field: Field, texts: pd.Series[Any]) -> pd.Series[Any]:
    missing = "" if field.filled else None
    parse = _PARSED.get(field.kind, str)
    return pd.Series([parse(text) if text else missing for text in texts.tolist()], dtype=object)


_PARSED: dict[ColumnKind, Callable[[str], Any]] = {
    ColumnKind.INTEGER: int,
    ColumnKind.NUMBER: float,
    ColumnKind.TRUTH: {"true": True, "false": False}.__getitem__,
    ColumnKind.TIME: lambda text: (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1),
}
