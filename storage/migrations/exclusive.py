"""One connection in one write transaction, which no other process can be in at the same time."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, NullPool, create_engine, event

from storage.database_file import create_private
from storage.engine import Durability, configure, sqlite_path

# Any fixed number will do: it keeps two servers from upgrading one PostgreSQL database at a time.
_ADVISORY_LOCK = 7_142_026


@contextmanager
def alone_with(url: str) -> Iterator[Connection]:
    """One connection in one write transaction, on SQLite without foreign keys, so that tables can be rebuilt."""
    made = create_engine(url, poolclass=NullPool, hide_parameters=True)
    path = sqlite_path(url)
    if path is not None:
        create_private(path)
        event.listen(made, "connect", _configure)
        event.listen(made, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    with made.begin() as connection:
        if path is None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
        yield connection


def _configure(dbapi_connection: object, _record: object) -> None:
    configure(dbapi_connection, Durability.FULL, foreign_keys=False)
