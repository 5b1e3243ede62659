"""The base class of all tables, and helpers for their definitions.

The base has its own registry, so that Streamlit can reload a page without defining a table twice.
"""

from enum import StrEnum

from sqlalchemy import CheckConstraint, MetaData
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

_NAMES = {"uq": "uq_%(table_name)s_%(column_0_N_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s"}
"""Name patterns of constraints; a migration can change only named constraints."""


class Table(SQLModel, registry=registry(metadata=MetaData(naming_convention=_NAMES))):
    """Base of all tables."""


class NumberedTable(Table):
    """Base of tables with an automatically numbered `id`."""

    id: int | None = Field(default=None, primary_key=True)


def one_of(column: str, words: type[StrEnum]) -> CheckConstraint:
    """Return a check constraint that limits the column to these words."""
    allowed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({allowed})", name=f"ck_{column}_known")
