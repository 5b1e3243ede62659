"""From any older database, or from nothing, to the tables of today.

A schema change is one new file `versions/NNNN_what.py` with revision NNNN, and the same change in `storage.tables`.
"""

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path

from sqlalchemy import Connection, NullPool, create_engine, event, insert, inspect

from storage import audit_chain
from storage.database_file import create_private
from storage.engine import BUSY_MS, Durability, configure, engine, overwrite_freed, sqlite_path
from storage.errors import NotOurs
from storage.tables import DatabaseKey, Table

# Any fixed number will do: it keeps two servers from upgrading one PostgreSQL database at a time.
_ADVISORY_LOCK = 7_142_026


@lru_cache(maxsize=1)
def head() -> str:
    """The revision of today's tables: that of the last file in `versions`."""
    versions = Path(__file__).with_name("versions")
    return max(path.name for path in versions.glob("[0-9]*.py")).partition("_")[0]


def migrate(url: str) -> None:
    """Brings the database to today's tables, in one transaction; raises NewerSchema and NotOurs."""
    found = revision(url)
    if found == head():
        return
    if found is not None or not _create(url, head()):
        # Alembic takes a third of a second to load, and nearly every start finds the database new or up to date.
        from storage.migrations.upgrading import upgrade

        upgrade(url)
    # What tells the file from others has to stand in it, not in the log beside it.
    overwrite_freed(url)


@contextmanager
def alone_with(url: str) -> Iterator[Connection]:
    """One connection in one write transaction that no other process can be in at the same time.

    On SQLite it is without foreign keys, so that tables can be rebuilt.
    """
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


def revision(url: str) -> str | None:
    """The revision of the tables there, None for an empty database; raises NotOurs and changes nothing."""
    path = sqlite_path(url)
    if path is not None:
        return file_revision(path)
    with engine(url).connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        found: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return found


def file_revision(path: Path) -> str | None:
    """The revision of an SQLite file, None where there is no file or nothing in it; raises NotOurs."""
    if not path.exists() or not path.stat().st_size:
        return None
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_MS / 1_000)) as connection:
            return _read_revision(connection, path)
    except sqlite3.DatabaseError as error:
        raise NotOurs(f"{path} cannot be read as a database ({error}); name another file.") from error


def _create(url: str, revision: str) -> bool:
    """Makes today's tables in an empty database and says at which revision it is; False where it was not empty."""
    with alone_with(url) as connection:
        if inspect(connection).get_table_names():
            return False
        Table.metadata.create_all(connection)
        connection.execute(insert(DatabaseKey).values(id=1, key=secrets.token_hex(16)))
        audit_chain.begin(connection)
        # As Alembic makes it, which asks for it before every later step.
        connection.exec_driver_sql(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
        connection.exec_driver_sql(f"INSERT INTO alembic_version (version_num) VALUES ('{revision}')")
    return True


def _configure(dbapi_connection: object, _record: object) -> None:
    configure(dbapi_connection, Durability.FULL, foreign_keys=False)


def _read_revision(connection: sqlite3.Connection, path: Path) -> str | None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return None
    if not {"alembic_version", "item"} <= tables:
        raise NotOurs(f"{path} is a database, but not one of this console; name another file.")
    found: str | None = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    return found
