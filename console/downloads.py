"""A table of a page as a file."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pandas as pd

from console.exports import FORMATS, Column, Kind


def as_csv(frame: pd.DataFrame) -> bytes:
    """The table as CSV that a spreadsheet opens without running any cell; what is missing is an empty cell."""
    columns = [Column(str(name), _kind(frame[name])) for name in frame.columns]
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    stream = BytesIO()
    FORMATS["csv"].write(columns, [list(rows)], stream)
    return stream.getvalue()


_KINDS = {"b": Kind.TRUTH, "i": Kind.INTEGER, "u": Kind.INTEGER, "f": Kind.NUMBER}


def _kind(column: pd.Series[Any]) -> Kind:
    return _KINDS.get(column.dtype.kind, Kind.TEXT)
