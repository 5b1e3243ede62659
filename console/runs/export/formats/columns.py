"""The columns, cell kinds and rows of an exported table, for all formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

Row = Sequence[Any]
"""A value for each column, None for an empty cell; values past the last column are not written."""

Page = Sequence[Row]
"""Rows that fit in memory."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ColumnKind(StrEnum):
    """The kind of value in a column's cells.

    `time`: whole milliseconds since 1970 UTC; `json`: JSON text; `record`: JSON text, the whole line in JSON Lines.
    """

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    TRUTH = "truth"
    TIME = "time"
    JSON = "json"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class Column:
    """A named column and the kind of its cells."""

    name: str
    kind: ColumnKind = ColumnKind.TEXT


def iso(ms: int) -> str:
    """Format milliseconds since 1970 as ISO-8601 in UTC, such as `2026-01-31T12:00:00.000Z`."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"
