"""A verified copy of a whole database into an empty one, from SQLite to PostgreSQL or back.

The copy reads source and target once more and compares the digest of each table's rows, including the audit chains. It
commits only if all digests are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Integer, NullPool, create_engine, func, insert, make_url, select, text
from sqlalchemy import Table as SqlTable
from sqlalchemy.exc import DBAPIError

from storage.engine import engine, mask_password, sqlite_path
from storage.errors import StorageError
from storage.migrations import head, migrate, missing_sentence, open_alone, refuse_unknown, revision
from storage.run_counts import start_again
from storage.tables import Table

_PAGE = 500
_SEEDED = frozenset({"database_key", "chain_end"})
"""Tables with one row in a new database."""
NEWEST = "SELECT (SELECT max(id) FROM intent), (SELECT max(id) FROM decision), (SELECT max(id) FROM event)"
"""The highest ids of begun actions, decisions and events: a restore must include all of these rows."""
_DEADLOCK = "40P01"


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A copied table: its name, its number of rows, and the SHA-256 (hex) of the rows in the order of their keys."""

    name: str
    rows: int
    digest: str


def copy_database(source: str, target: str) -> list[CopiedTable]:
    """Copy all rows of the database at one URL into an empty database at another; return the copied tables.

    Raise StorageError if a database is unusable, the target has rows, or the copy differs from the source; the target
    then stays empty.
    """
    if make_url(source) == make_url(target):
        raise StorageError(f"{mask_password(target)} is the source itself. Name another database.")
    try:
        _require_current(source)
        migrate(target)
        with _snapshot(source) as read, open_alone(target) as write:
            _require_empty(write, target)
            copied = [_copy(read, write, table) for table in Table.metadata.sorted_tables]
            _continue_numbers(write)
            start_again(write)
            return copied
    except DBAPIError as failed:
        why = f"Cannot copy to {mask_password(target)}: {_reason(failed)} Nothing was copied."
        raise StorageError(f"{why} Correct the cause, then copy again.") from failed


def replace_rows(source: str, target: str, newest: tuple[int, ...] | None) -> bool:
    """Replace all rows of the PostgreSQL database at one URL by those at another (`source`), and return true.

    Return false if the target is in use, or if its `NEWEST` differs from the given one; the target is then unchanged.
    """
    names = ", ".join(table.name for table in Table.metadata.sorted_tables)
    try:
        with _snapshot(source) as read, open_alone(target) as write:
            write.exec_driver_sql(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")
            if newest is not None and tuple(write.exec_driver_sql(NEWEST).one()) != newest:
                return False
            write.exec_driver_sql(f"TRUNCATE {names}")
            for table in Table.metadata.sorted_tables:
                _copy(read, write, table)
            _continue_numbers(write)
            start_again(write)
    except DBAPIError as failed:
        if getattr(failed.orig, "sqlstate", "") != _DEADLOCK:
            raise
        return False
    return True


def _require_current(source: str) -> None:
    found = revision(source)
    refuse_unknown(source, found)
    if found is None:
        raise StorageError(missing_sentence(source))
    if found != head():
        raise StorageError(f"{mask_password(source)} is not up to date. Run inferact db upgrade there first.")


@contextmanager
def _snapshot(url: str) -> Iterator[Connection]:
    """Open a connection that reads one state of the database during concurrent writes."""
    if sqlite_path(url) is not None:
        with engine(url).begin() as connection:
            yield connection
        return
    made = create_engine(url, poolclass=NullPool, hide_parameters=True, isolation_level="REPEATABLE READ")
    with made.begin() as connection:
        yield connection


def _require_empty(connection: Connection, url: str) -> None:
    for table in Table.metadata.sorted_tables:
        rows = connection.execute(select(func.count()).select_from(table)).scalar_one()
        if rows > (table.name in _SEEDED):
            raise StorageError(f"{mask_password(url)} already has data in {table.name}. Name an empty database.")
        if rows:
            connection.execute(table.delete())


def _copy(read: Connection, write: Connection, table: SqlTable) -> CopiedTable:
    """Copy the rows of a table, read the copy again, and raise StorageError if its digest differs."""
    digest, rows = hashlib.sha256(), 0
    for page in _pages(read, table):
        digest.update(_bytes(page))
        rows += len(page)
        write.execute(insert(table), [dict(zip(table.columns.keys(), row, strict=True)) for row in page])
    again = hashlib.sha256()
    for page in _pages(write, table):
        again.update(_bytes(page))
    if again.digest() != digest.digest():
        raise StorageError(
            f"The copy of table {table.name} differs, so nothing was copied. Check the encoding of the target."
        )
    return CopiedTable(table.name, rows, digest.hexdigest())


def _pages(connection: Connection, table: SqlTable) -> Iterator[list[tuple[Any, ...]]]:
    """Yield all rows in pages, ordered by key in the same way on every database."""
    keys = list(table.primary_key.columns)
    ordered = [
        key if isinstance(key.type, Integer) else key.collate(_BYTEWISE[connection.dialect.name]) for key in keys
    ]
    found = connection.execute(select(table).order_by(*ordered).execution_options(yield_per=_PAGE))
    for page in found.partitions(_PAGE):
        yield [tuple(row) for row in page]


_BYTEWISE = {"sqlite": "BINARY", "postgresql": "C"}


def _bytes(page: Sequence[tuple[Any, ...]]) -> bytes:
    return b"\n".join(orjson.dumps(row, default=_plain) for row in page) + b"\n"


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else str(value)


def _continue_numbers(connection: Connection) -> None:
    """Set PostgreSQL's next row numbers above all copied numbers, and for events also above those of erased events."""
    if connection.dialect.name == "sqlite":
        return
    for table in Table.metadata.sorted_tables:
        if "id" not in table.columns or not isinstance(table.columns["id"].type, Integer):
            continue
        sequence = connection.execute(text(f"SELECT pg_get_serial_sequence('{table.name}', 'id')")).scalar_one()
        if sequence is None:
            continue
        last = f"SELECT coalesce(max(id), 0) FROM {table.name}"
        if table.name == "event":
            last = f"SELECT greatest(({last}), (SELECT coalesce(max(event_id), 0) FROM event_link))"
        connection.execute(text(f"SELECT setval('{sequence}', ({last}) + 1, false)"))


def _reason(failed: DBAPIError) -> str:
    """Return the first line of the database's error message as a sentence."""
    return str(failed.orig or failed).strip().partition("\n")[0].rstrip(".") + "."
