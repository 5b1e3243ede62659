"""Creation of a database, and its upgrade from any released version.

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
from storage.engine import BUSY_MS, Durability, configure, engine, mask_password, overwrite_freed, sqlite_path
from storage.errors import NewerSchema, NoDatabase, NotOurs, OlderSchema, StorageError
from storage.linked_rows import LINKED, postgres_triggers
from storage.private_files import create_private
from storage.run_counts import make_run_counts
from storage.tables import DatabaseKey, Table
from storage.tables.server_search import DEFINITION as SERVER_INDEX
from storage.tables.text_search import DEFINITION as TEXT_INDEX
from storage.tables.text_search import INDEX

# Any fixed number will do: it keeps two servers from upgrading one PostgreSQL database at a time.
_ADVISORY_LOCK = 7_142_026

_LATER_LINKED = {"0025": ("run_access",), "0026": ("run",)}
_LINKED_SINCE = {
    "0014": [name for name in LINKED if not any(name in names for names in _LATER_LINKED.values())],
    **_LATER_LINKED,
}
"""The tables that the audit chain covers from a revision on; the upgrade of an older database links their rows."""


@lru_cache(maxsize=1)
def revisions() -> tuple[str, ...]:
    """Return the revisions in `versions`, from the baseline to the latest."""
    return tuple(sorted(path.name.partition("_")[0] for path in Path(__file__).parent.glob("versions/[0-9]*.py")))


def head() -> str:
    """Return the revision of the current tables."""
    return revisions()[-1]


def migrate(url: str, *, create: bool = True) -> bool:
    """Create the database or upgrade it to the current tables; return true if it was created.

    Raise NoDatabase if the database is missing and `create` is false. Raise OlderSchema or NewerSchema if its revision
    is unknown, and NotOurs if the file is not a database of this console.
    """
    found = revision(url)
    if found == head():
        return False
    if found is None and not create:
        raise NoDatabase(missing_sentence(url))
    created = found is None and _create(url)
    if not created:
        upgrade(url)
    # The key that identifies the file must be in the file itself, not in its log.
    overwrite_freed(url)
    return created


def missing_sentence(url: str) -> str:
    """Return the error sentence for a database that is missing or empty."""
    path = sqlite_path(url)
    what = (
        f"{path} is an empty file"
        if path and path.exists()
        else f"The database {path or mask_password(url)} does not exist"
    )
    return (
        f"{what}. Correct INFERACT_DATA_DIR or INFERACT_DATABASE_URL, restore a backup (inferact db restore FILE), "
        "or start a new one (inferact serve)."
    )


def upgrade(url: str) -> None:
    """Run the missing revisions in one transaction; wait if another process is running them.

    Raise OlderSchema or NewerSchema if the revision is unknown, and StorageError if any row references a missing row.
    """
    # Alembic takes a third of a second to load, and nearly every start finds the database new or up to date.
    from alembic import command
    from alembic.config import Config

    found = revision(url)
    refuse_unknown(url, found)
    # An installed console has no alembic.ini.
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with open_alone(url) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        for since, names in _LINKED_SINCE.items():
            if (found or "") < since:
                audit_chain.link_all(connection, names)
        dangling = sqlite_path(url) and connection.exec_driver_sql("PRAGMA foreign_key_check").fetchone()
        if dangling:
            raise StorageError(
                f"Cannot upgrade the database: rows of table {dangling[0]!r} reference missing rows. The file is "
                "unchanged. Run inferact db check."
            )


def refuse_unknown(url: str, found: str | None) -> None:
    """Raise OlderSchema or NewerSchema if the database's revision `found` is unknown to this console."""
    if found is None or found in revisions():
        return
    what = sqlite_path(url) or "The database"
    if found > head():
        raise NewerSchema(f"{what} was written by a newer console (schema {found}). Upgrade the console to open it.")
    raise OlderSchema(
        f"{what} was written by an older console (schema {found}). With that version, export each run: inferact export "
        "trajectories --run NAME --out FILE.jsonl. Then import the files into a new database."
    )


@contextmanager
def open_alone(url: str) -> Iterator[Connection]:
    """Open a connection with one write transaction that excludes all other processes.

    On SQLite the connection does not enforce foreign keys, so that a migration can rebuild tables.
    """
    made = create_engine(url, poolclass=NullPool, hide_parameters=True)
    path = sqlite_path(url)
    if path is not None:
        create_private(path)
        event.listen(made, "connect", lambda raw, _record: configure(raw, Durability.FULL, foreign_keys=False))
        event.listen(made, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    with made.begin() as connection:
        if path is None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
        yield connection


def revision(url: str) -> str | None:
    """Read the revision of the tables, or None if the database is empty; raise NotOurs if the database is foreign."""
    path = sqlite_path(url)
    if path is not None:
        return file_revision(path)
    with engine(url).connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        found: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return found


def file_revision(path: Path) -> str | None:
    """Read the revision of an SQLite file, or None if the file is missing or empty; raise NotOurs if it is foreign."""
    if not path.exists() or not path.stat().st_size:
        return None
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_MS / 1_000)) as connection:
            return _read_revision(connection, path)
    except sqlite3.DatabaseError as error:
        raise NotOurs(f"{path} cannot be read as a database ({error}). Name another file.") from error


def _create(url: str) -> bool:
    """Create the current tables in an empty database; return False if the database is not empty."""
    with open_alone(url) as connection:
        if inspect(connection).get_table_names():
            return False
        Table.metadata.create_all(connection)
        make_text_index(connection)
        make_run_counts(connection)
        connection.execute(insert(DatabaseKey).values(id=1, key=secrets.token_hex(16)))
        audit_chain.begin(connection)
        if sqlite_path(url) is None:
            for statement in postgres_triggers():
                connection.exec_driver_sql(statement)
        # As Alembic creates it; Alembic reads this table before every later revision.
        connection.exec_driver_sql(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
        connection.exec_driver_sql(f"INSERT INTO alembic_version (version_num) VALUES ('{head()}')")
    return True


def make_text_index(connection: Connection) -> None:
    """Create the text index, and queue the trajectories in it; do nothing if the database has the index."""
    if not inspect(connection).has_table(INDEX):
        for statement in TEXT_INDEX if connection.dialect.name == "sqlite" else SERVER_INDEX:
            connection.exec_driver_sql(statement)


def _read_revision(connection: sqlite3.Connection, path: Path) -> str | None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return None
    if not {"alembic_version", "item"} <= tables:
        raise NotOurs(f"{path} is a database, but not one of this console. Name another file.")
    found: str | None = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    return found
