"""Engines and sessions: one pool per database, durability, way to begin and process, opened when first used."""

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
    """What a commit survives: `NORMAL` a killed process, `FULL` a power cut too."""

    NORMAL = "NORMAL"
    FULL = "FULL"


@contextmanager
def reading(url: str) -> Iterator[Session]:
    """A session that sees one state of the database; whatever it changes is rolled back."""
    with _in_words(url), Session(engine(url)) as session:
        yield session


@contextmanager
def writing(url: str, durability: Durability = Durability.FULL) -> Iterator[Session]:
    """A session in one write transaction, durable unless told otherwise: committed at the end, undone on any error.

    Raises DatabaseUnusable where the file cannot take it, or is no longer the one that was opened.
    """
    opened = engine(url, durability, writes=True)
    with _in_words(url), Session(opened, expire_on_commit=False) as session, session.begin():
        yield session
    check_file(opened)


def engine(url: str, durability: Durability = Durability.NORMAL, *, writes: bool = False) -> Engine:
    """The engine of this process for that database; makes the folder of a new SQLite file.

    One that writes takes SQLite's lock when its transaction begins, as a durable one does.
    """
    return _engine(url, durability, writes or durability is Durability.FULL, os.getpid())


def close(url: str) -> None:
    """Closes every idle connection of this process to that database; the next use opens new ones."""
    for opened in (engine(url), engine(url, writes=True), engine(url, Durability.FULL)):
        for idle in (_idle(opened, True), _idle(opened, False)):
            while idle:
                idle.pop().close()
        opened.dispose()
    path = sqlite_path(url)
    if path is not None:
        database_file(path).close()


def overwrite_freed(url: str) -> None:
    """Takes what was deleted out of SQLite's files, too, as far as nobody is reading what was there before.

    Deleting leaves zeros in the pages; the log of writes is what still holds their old state.
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
    """A question to be asked again and again: whether another connection has committed since it was asked last.

    SQLite answers it in microseconds; of a server nobody can say so, and the answer is always yes.
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


def shown(url: str) -> str:
    """The URL as it may be printed: without its password."""
    return make_url(url).render_as_string(hide_password=True)


def check_file(opened: Engine) -> None:
    """Raises DatabaseUnusable where the engine's file is no longer the one that this process has opened."""
    file = _file(opened)
    if file is not None:
        file.check()


def borrow(opened: Engine, *, waits: bool = True) -> Any:
    """A raw connection outside any transaction, set up already; hand it back with `give_back`.

    One that does not wait is refused at once where SQLite's lock is taken, so that its borrower sets the pace.
    """
    try:
        return _idle(opened, waits).pop()
    except IndexError:
        return _raw(opened, waits)


def give_back(opened: Engine, connection: Any, *, waits: bool = True) -> None:
    """Keeps a raw connection for the next borrower; a server's goes back to its pool, which tests it."""
    if opened.dialect.name == "sqlite":
        _idle(opened, waits).append(connection)
    else:
        connection.close()


def sqlite_path(url: str) -> Path | None:
    """The file of an SQLite URL, None for another database; raises StorageError for one in memory."""
    parts = make_url(url)
    if parts.get_backend_name() != "sqlite":
        return None
    if not parts.database or parts.database == ":memory:":
        raise StorageError("The console needs a database file; name one in INFERACT_DATABASE_URL (sqlite:////path).")
    return Path(parts.database)


def configure(dbapi_connection: Any, durability: Durability, *, foreign_keys: bool = True) -> None:
    """Sets up a fresh sqlite3 connection: autocommit until we say BEGIN, WAL, a patient lock, foreign keys."""
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
    # Two engines, and no execution option: an engine with one asks two sets of listeners about each statement.
    event.listen(made, "begin", partial(_begin, "BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED"))
    return made


def _before_connecting(path: Path) -> None:
    """Makes a new file private; where the file is known already, nothing new may be made in its place."""
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
    """Turns what SQLite says of its file into one sentence; errors of ours and of a server stay as they are."""
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
