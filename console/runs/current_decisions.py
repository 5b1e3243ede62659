"""Current decisions: the last revision of each reviewer's decision on an item, unless it was undone."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from storage import tables


def is_current(decision: Any = tables.Decision) -> ColumnElement[bool]:
    """Return the SQL condition that a decision is current; `decision` is the table, an alias or a subquery's `c`."""
    return col(decision.superseded).is_(False)


def current_decisions() -> SelectOfScalar[tables.Decision]:
    """Return a select statement for current decisions; the caller adds filters and order."""
    return select(tables.Decision).where(is_current())
