"""Engines, sessions and the file of an SQLite database, all opened on first use.

There is one pool per database, durability, kind of transaction and process. A database file is readable only by its
user. Each transaction first verifies that the file is the one opened before, because SQLite does not detect the removal
or replacement of its open file.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from storage.audit_chain import link_touched
from storage.errors import HOW_TO_GO_ON, DatabaseUnusable, StorageError, sentence_of
from storage.linked_rows import note_changes_postgres, note_changes_sqlite
from storage.private_files import create_private, make_private

BUSY_MS = 30_000
_POOL: dict[str, Any] = {"pool_size": 8, "max_overflow": -1, "hide_parameters": True}
_FIRST_BYTES = 20
"""Number of header bytes to compare: they include the magic string, the page size and the journal mode."""
_LOG_HEADER, _FRAME_HEADER, _LOG_MAGIC = 32, 24, b"\x37\x7f\x06"


class Durability(StrEnum):
    """The durability of commits: `NORMAL` commits survive a killed process, `FULL` commits also a power cut."""

    NORMAL = "NORMAL"
    FULL = "FULL"


@contextmanager
def reading(url: str) -> Iterator[Session]:
    """Open a session that reads one state of the database; roll back any changes at the end."""
    with _translate_errors(url), Session(engine(url)) as session:
        yield session


@contextmanager
def writing(url: str, durability: Durability = Durability.FULL) -> Iterator[Session]:
    """Open a session in one write transaction; commit at the end, or roll back after an error.

    Raise DatabaseUnusable if the file cannot be written, or if another file has replaced it.
    """
    opened = engine(url, durability, writes=True)
    with _translate_errors(url), Session(opened, expire_on_commit=False) as session, session.begin():
        yield session
        session.flush()
        link_touched(session.connection().connection.cursor(), server=opened.dialect.name != "sqlite")
    check_file(opened)


def engine(url: str, durability: Durability = Durability.NORMAL, *, writes: bool = False) -> Engine:
    """Return this process's engine for the database; create the folder of a new SQLite file.

    If `writes` is true or the durability is FULL, a transaction takes SQLite's write lock when it begins.
    """
    return _engine(url, durability, writes or durability is Durability.FULL, os.getpid())


def close(url: str) -> None:
    """Close every idle connection of this process to the database; the next use opens new connections."""
    for opened in (engine(url), engine(url, writes=True), engine(url, Durability.FULL)):
        for idle in (_idle(opened, True), _idle(opened, False)):
            while idle:
                idle.pop().close()
        opened.dispose()
    if (file := _file(opened)) is not None:
        file.close()


def overwrite_freed(url: str) -> None:
    """Remove deleted content from SQLite's write-ahead log, unless a reader still uses the old state."""
    opened = engine(url)
    if opened.dialect.name == "sqlite":
        connection = borrow(opened)
        try:
            # Deleting overwrites content in the pages with zeros; only the WAL still contains the old content.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            give_back(opened, connection)


def mask_password(url: str) -> str:
    """Return the URL without its password, for printing."""
    return make_url(url).render_as_string(hide_password=True)


def check_file(opened: Engine) -> None:
    """Raise DatabaseUnusable if another file has replaced the file that this process opened."""
    if (file := _file(opened)) is not None:
        file.check()


def borrow(opened: Engine, *, waits: bool = True) -> Any:
    """Return a raw connection until `give_back`; the connection waits for SQLite's lock if `waits` is true."""
    try:
        return _idle(opened, waits).pop()
    except IndexError:
        pooled = opened.raw_connection()
    if opened.dialect.name != "sqlite":
        return pooled
    connection: Any = pooled.dbapi_connection
    pooled.detach()
    if not waits:
        connection.execute("PRAGMA busy_timeout=0")
    return connection


def give_back(opened: Engine, connection: Any, *, waits: bool = True) -> None:
    """Keep a raw SQLite connection for the next borrower, or return a PostgreSQL connection to its pool."""
    if opened.dialect.name == "sqlite":
        _idle(opened, waits).append(connection)
    else:
        connection.close()


def sqlite_path(url: str) -> Path | None:
    """Return the file of an SQLite URL, or None for another database; raise StorageError for a database in memory."""
    parts = make_url(url)
    if parts.get_backend_name() != "sqlite":
        return None
    if not parts.database or parts.database == ":memory:":
        raise StorageError("The console needs a database file. Set INFERACT_DATABASE_URL to a file (sqlite:////path).")
    return Path(parts.database)


def configure(dbapi_connection: Any, durability: Durability, *, foreign_keys: bool = True) -> None:
    """Configure a new sqlite3 connection: autocommit until BEGIN, WAL, a long lock timeout and foreign keys."""
    dbapi_connection.isolation_level = None
    cursor = dbapi_connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    _switch_to_wal(cursor)
    cursor.execute(f"PRAGMA synchronous={durability}")
    cursor.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
    cursor.execute("PRAGMA wal_autocheckpoint=4000")
    cursor.execute("PRAGMA secure_delete=ON")
    cursor.close()


# The process id is in the key because neither a lock nor a socket survives a fork.
@lru_cache(maxsize=24)
def _engine(url: str, durability: Durability, writes: bool, pid: int) -> Engine:
    path = sqlite_path(url)
    if path is None:
        if writes:
            return _engine(url, durability, False, pid)
        relaxed = {"options": "-c synchronous_commit=off"} if durability is Durability.NORMAL else {}
        server = create_engine(url, pool_pre_ping=True, connect_args=relaxed, **_POOL)
        event.listen(server, "connect", note_changes_postgres)
        return server
    made = create_engine(url, **_POOL)
    event.listen(made, "do_connect", lambda *_: _database_file(path, os.getpid()).prepare())
    event.listen(made, "connect", lambda connection, _record: configure(connection, durability))
    if writes:
        event.listen(made, "connect", note_changes_sqlite)
    # Two engines and no execution option, which would call two sets of listeners for each statement.
    event.listen(made, "begin", partial(_begin, "BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED"))
    return made


@lru_cache(maxsize=64)
def _database_file(path: Path, pid: int) -> DatabaseFile:
    return DatabaseFile(path)


@lru_cache(maxsize=32)
def _file(opened: Engine) -> DatabaseFile | None:
    path = sqlite_path(opened.url.render_as_string(hide_password=False))
    return None if path is None else _database_file(path, os.getpid())


@contextmanager
def _translate_errors(url: str) -> Iterator[None]:
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


class DatabaseFile:
    """The identity of a database's file and of its write-ahead log, as recorded by this process."""

    def __init__(self, path: Path) -> None:
        self._path, self._log_path = path, path.with_name(path.name + "-wal")
        self._path_text, self._log_text = str(path), str(self._log_path)
        self._lock = Lock()
        self._anchor: sqlite3.Connection | None = None
        self._key = ""
        self._header, self._log_header, self._first_bytes = -1, -1, b""
        self._id = self._log_id = 0, 0
        self._seen: tuple[int, ...] = ()
        self._log_size = 0

    def check(self) -> None:
        """Raise DatabaseUnusable if the file or its log differs from the opened one; the check costs two stat calls."""
        # os.stat, since every claim pays for this and Path.stat costs half as much again.
        file, log = _stat(self._path_text), _stat(self._log_text)
        if file and log and _state(file) == self._seen and self._is_log(log):
            return
        with self._lock:
            self._verify()

    def prepare(self) -> None:
        """Create the file if necessary and make it private; never create a file in place of a recorded one."""
        if self._anchor is not None:
            self.check()
        elif self._path.exists():
            make_private(self._path)
        else:
            create_private(self._path)

    def close(self) -> None:
        """Discard the recorded identity until the next check; the caller must first close all other connections."""
        with self._lock:
            anchor, self._anchor, self._seen = self._anchor, None, ()
            if anchor is not None:
                anchor.close()
                os.close(self._header)
                os.close(self._log_header)

    def _is_log(self, log: os.stat_result) -> bool:
        if _id(log) != self._log_id or log.st_size < self._log_size:
            return False
        self._log_size = log.st_size
        return not log.st_size or os.pread(self._log_header, 3, 0) == _LOG_MAGIC

    def _verify(self) -> None:
        """Check the file in full; raise DatabaseUnusable if a program other than SQLite changed it."""
        if self._anchor is None:
            self._record_identity()
            return
        if (file := _stat(self._path_text)) is None:
            raise self._unusable("was removed")
        if _id(file) != self._id:
            raise self._unusable("was replaced by another")
        if not file.st_size:
            raise self._unusable("was emptied")
        if os.pread(self._header, _FIRST_BYTES, 0) != self._first_bytes:
            raise self._unusable("was damaged or overwritten")
        self._verify_log(self._anchor)
        # A new connection has no cached pages.
        with closing(_open(self._path)) as connection:
            if self._read_key(connection) != self._key:
                raise self._unusable("was replaced by another database")
        self._seen = _state(file)

    def _record_identity(self) -> None:
        """Record the identity of a database with a key; keep a connection open, so that SQLite keeps the WAL file."""
        make_private(self._path)
        if not (self._path.exists() and self._path.stat().st_size):
            return
        anchor = _open(self._path)
        key = self._read_key(anchor)
        if key is None or not self._log_path.exists():
            anchor.close()
            return
        file, log = self._path.stat(), self._log_path.stat()
        # Kept open: closing one would drop the locks that SQLite holds on that file in this process.
        self._header = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        self._log_header = os.open(self._log_path, os.O_RDONLY | os.O_CLOEXEC)
        self._first_bytes = os.pread(self._header, _FIRST_BYTES, 0)
        self._anchor, self._key, self._id, self._log_id = anchor, key, _id(file), _id(log)
        self._log_size, self._seen = log.st_size, _state(file)

    def _unusable(self, what: str) -> DatabaseUnusable:
        return DatabaseUnusable(f"The database file {self._path} {what}. {HOW_TO_GO_ON}.")

    def _verify_log(self, anchor: sqlite3.Connection) -> None:
        """Raise DatabaseUnusable if the WAL was removed, replaced or truncated; copy a removed WAL to the file."""
        # Other threads commit meanwhile, so each size is compared with an earlier state of the log.
        known, log = self._log_size, _stat(self._log_text)
        if log is None or _id(log) != self._log_id:
            if not self._log_path.exists():
                with suppress(sqlite3.Error):
                    anchor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            raise DatabaseUnusable(f"The write-ahead log {self._log_path} was removed. {HOW_TO_GO_ON}.")
        cut = DatabaseUnusable(f"The write-ahead log {self._log_path} was emptied or overwritten. {HOW_TO_GO_ON}.")
        magic = os.pread(self._log_header, len(_LOG_MAGIC), 0)
        if magic and magic != _LOG_MAGIC:
            raise cut
        if log.st_size < known and _log_needed(anchor, cut) > os.fstat(self._log_header).st_size:
            raise cut
        self._log_size = log.st_size

    def _read_key(self, connection: sqlite3.Connection) -> str | None:
        """Return the database's key, or None if the database has no key."""
        try:
            row = connection.execute("SELECT key FROM database_key").fetchone()
            return row[0] if row else None
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error):
                return None
            raise _describe(error, self._path) from error


def _open(path: Path) -> sqlite3.Connection:
    address = f"file:{quote(str(path))}?mode=rw"
    try:
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.DatabaseError as error:
        raise _describe(error, path) from error


def _describe(error: sqlite3.DatabaseError, path: Path) -> DatabaseUnusable:
    return DatabaseUnusable(sentence_of(error, path) or f"{path}: {error}.")


def _log_needed(anchor: sqlite3.Connection, cut: DatabaseUnusable) -> int:
    """Return the bytes that the write-ahead log needs for its valid frames, or 0 if it has no valid frame."""
    try:
        frames = anchor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
        (page,) = anchor.execute("PRAGMA page_size").fetchone()
    except sqlite3.DatabaseError as broken:
        raise cut from broken
    return _LOG_HEADER + frames * (_FRAME_HEADER + page) if frames > 0 else 0


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116
    except OSError:
        return None


def _id(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
