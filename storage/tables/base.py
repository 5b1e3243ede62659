"""The base of all tables and what their definitions share.

The base has its own registry, so that a page reloaded by Streamlit never defines a table twice.
"""

from enum import StrEnum

from sqlalchemy import CheckConstraint, MetaData
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

_NAMES = {"uq": "uq_%(table_name)s_%(column_0_N_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s"}
"""Names of constraints, since a migration can only change a named one."""


class Table(SQLModel, registry=registry(metadata=MetaData(naming_convention=_NAMES))):
    """Base of all tables."""


class NumberedTable(Table):
    """Base of tables whose rows get a number at the insert."""

    id: int | None = Field(default=None, primary_key=True)


def one_of(column: str, words: type[StrEnum]) -> CheckConstraint:
    """Return a check constraint that the column holds one of the words."""
    allowed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({allowed})", name=f"ck_{column}_known")
