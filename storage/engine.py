"""Engines and sessions: one pool per database, durability, kind of transaction and process, opened on first use."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from storage.database_file import DatabaseFile, create_private, database_file, make_private, sentence_of
from storage.errors import DatabaseUnusable, StorageError

BUSY_MS = 30_000
CHECKPOINT_PAGES = 4_000


class Durability(StrEnum):
    """The durability of commits: `NORMAL` survives a killed process, `FULL` survives a power cut as well."""

    NORMAL = "NORMAL"
    FULL = "FULL"


@contextmanager
def reading(url: str) -> Iterator[Session]:
    """Open a session that reads one state of the database; roll back any changes."""
    with _in_words(url), Session(engine(url)) as session:
        yield session


@contextmanager
def writing(url: str, durability: Durability = Durability.FULL) -> Iterator[Session]:
    """Open a session in one write transaction; commit at the end, or roll back after an error.

    Raise DatabaseUnusable if the file cannot be written, or if another file has replaced it.
    """
    opened = engine(url, durability, writes=True)
    with _in_words(url), Session(opened, expire_on_commit=False) as session, session.begin():
        yield session
    check_file(opened)


def engine(url: str, durability: Durability = Durability.NORMAL, *, writes: bool = False) -> Engine:
    """Return this process's engine for the database; create the folder of a new SQLite file.

    If `writes` is true or the durability is FULL, transactions take SQLite's write lock when they begin.
    """
    return _engine(url, durability, writes or durability is Durability.FULL, os.getpid())


def close(url: str) -> None:
    """Close every idle connection of this process to the database; the next use opens new ones."""
    for opened in (engine(url), engine(url, writes=True), engine(url, Durability.FULL)):
        for idle in (_idle(opened, True), _idle(opened, False)):
            while idle:
                idle.pop().close()
        opened.dispose()
    path = sqlite_path(url)
    if path is not None:
        database_file(path).close()


def overwrite_freed(url: str) -> None:
    """Remove deleted content from SQLite's write-ahead log, unless a reader still uses the old state.

    Deleting overwrites content in the pages with zeros; only the log still contains the old content.
    """
    opened = engine(url)
    if opened.dialect.name != "sqlite":
        return
    connection = borrow(opened)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        give_back(opened, connection)


@contextmanager
def changes(url: str) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether another connection has committed since its last call.

    SQLite answers within microseconds; on a server the function always returns True.
    """
    opened = engine(url)
    if opened.dialect.name != "sqlite":
        yield lambda: True
        return
    connection, known = borrow(opened), [-1]

    def changed() -> bool:
        before, known[0] = known[0], connection.execute("PRAGMA data_version").fetchone()[0]
        return known[0] != before

    try:
        yield changed
    finally:
        give_back(opened, connection)


def mask_password(url: str) -> str:
    """Return the URL without its password, for printing."""
    return make_url(url).render_as_string(hide_password=True)


def check_file(opened: Engine) -> None:
    """Raise DatabaseUnusable if another file has replaced the file that this process opened."""
    file = _file(opened)
    if file is not None:
        file.check()


def borrow(opened: Engine, *, waits: bool = True) -> Any:
    """Return a raw connection that is configured and not in a transaction; hand it back with `give_back`.

    If `waits` is false, the connection fails at once if SQLite is locked, so that the caller chooses when to retry.
    """
    try:
        return _idle(opened, waits).pop()
    except IndexError:
        return _raw(opened, waits)


def give_back(opened: Engine, connection: Any, *, waits: bool = True) -> None:
    """Keep a raw connection for the next borrower; return a server's connection to its pool."""
    if opened.dialect.name == "sqlite":
        _idle(opened, waits).append(connection)
    else:
        connection.close()


def sqlite_path(url: str) -> Path | None:
    """Return the file of an SQLite URL, or None for another database; raise StorageError if it is in memory."""
    parts = make_url(url)
    if parts.get_backend_name() != "sqlite":
        return None
    if not parts.database or parts.database == ":memory:":
        raise StorageError("The console needs a database file; set INFERACT_DATABASE_URL to one (sqlite:////path).")
    return Path(parts.database)


def configure(dbapi_connection: Any, durability: Durability, *, foreign_keys: bool = True) -> None:
    """Set up a new sqlite3 connection: autocommit until BEGIN, WAL, a long lock timeout, foreign keys."""
    dbapi_connection.isolation_level = None
    cursor = dbapi_connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    _switch_to_wal(cursor)
    cursor.execute(f"PRAGMA synchronous={durability}")
    cursor.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
    cursor.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
    cursor.execute("PRAGMA secure_delete=ON")
    cursor.close()


# The process id is in the key because neither a lock nor a socket survives a fork.
@lru_cache(maxsize=24)
def _engine(url: str, durability: Durability, writes: bool, pid: int) -> Engine:
    path = sqlite_path(url)
    if path is None:
        return _engine(url, durability, False, pid) if writes else _server_engine(make_url(url), durability)
    made = create_engine(url, pool_size=8, max_overflow=-1, hide_parameters=True)
    event.listen(made, "do_connect", lambda *_: _before_connecting(path))
    event.listen(made, "connect", lambda connection, _record: configure(connection, durability))
    # Two engines and no execution option, which would call two sets of listeners for each statement.
    event.listen(made, "begin", partial(_begin, "BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED"))
    return made


def _before_connecting(path: Path) -> None:
    """Make a file private, creating it if necessary; never create a file in place of a recorded one."""
    file = database_file(path)
    if file.is_learned:
        file.check()
    elif path.exists():
        make_private(path)
    else:
        create_private(path)


@lru_cache(maxsize=32)
def _file(opened: Engine) -> DatabaseFile | None:
    path = sqlite_path(opened.url.render_as_string(hide_password=False))
    return None if path is None else database_file(path)


@contextmanager
def _in_words(url: str) -> Iterator[None]:
    """Raise DatabaseUnusable for SQLite errors about the database file; re-raise other errors."""
    try:
        yield
    except DBAPIError as error:
        sentence = sentence_of(error.orig, sqlite_path(url))
        if sentence is None:
            raise
        raise DatabaseUnusable(sentence) from error


# For a local file, the bookkeeping of SQLAlchemy's pool costs as much as a third of a claim.
@lru_cache(maxsize=32)
def _idle(opened: Engine, waits: bool) -> deque[Any]:
    return deque()


def _raw(opened: Engine, waits: bool) -> Any:
    pooled = opened.raw_connection()
    if opened.dialect.name != "sqlite":
        return pooled
    connection: Any = pooled.dbapi_connection
    pooled.detach()
    if not waits:
        connection.execute("PRAGMA busy_timeout=0")
    return connection


def _server_engine(url: URL, durability: Durability) -> Engine:
    relaxed = {"options": "-c synchronous_commit=off"} if durability is Durability.NORMAL else {}
    return create_engine(
        url, pool_size=8, max_overflow=-1, pool_pre_ping=True, connect_args=relaxed, hide_parameters=True
    )


def _begin(statement: str, connection: Connection) -> None:
    check_file(connection.engine)
    connection.exec_driver_sql(statement)


def _switch_to_wal(cursor: Any) -> None:
    # Changing the journal mode does not wait for a lock as statements do, so two first starts could collide.
    if cursor.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        return
    deadline = time.monotonic() + BUSY_MS / 1_000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except cursor.connection.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
