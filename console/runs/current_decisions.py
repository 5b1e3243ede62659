"""Current decisions: of each reviewer's answer to an item the last revision, unless it was taken back."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from storage import tables


def is_current(decision: Any = tables.Decision) -> ColumnElement[bool]:
    """The condition that a decision is current; `decision` holds its columns: the table, its `c`, or an alias."""
    return col(decision.superseded).is_(False)


def current_decisions() -> SelectOfScalar[tables.Decision]:
    """The select of current decisions, to which the caller adds whose and in which order."""
    return select(tables.Decision).where(is_current())
