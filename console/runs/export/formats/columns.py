"""What a table that leaves the console is made of, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

Row = Sequence[Any]
"""A value for each column, None for an empty cell; values past the last column are nobody's and not written."""

Page = Sequence[Row]
"""Some rows, few enough to hold in memory."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ColumnKind(StrEnum):
    """What the cells of a column hold.

    `time`: whole milliseconds since 1970 UTC; `json`: text that is JSON; `record`: JSON that fills a line of its own.
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
    """A named column and what its cells hold."""

    name: str
    kind: ColumnKind = ColumnKind.TEXT


def iso(ms: int) -> str:
    """ISO-8601 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"
