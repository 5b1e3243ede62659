"""The file of an SQLite database: private to its user, and verified to be the same file before every transaction.

SQLite does not notice if its open file is removed or replaced, and would write into a file that has no name.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from urllib.parse import quote

from storage.errors import DatabaseUnusable

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_OTHERS = 0o077
_FIRST_BYTES = 20
"""The header bytes with magic string, page size and journal mode (write-ahead log, or none in a backup)."""
_LOG_HEADER, _FRAME_HEADER, _LOG_MAGIC = 32, 24, b"\x37\x7f\x06"

_AGAIN = "stop the console, restore the file or a backup (inferact db restore FILE), and start it again"
_log = logging.getLogger(__name__)

_FileId = tuple[int, int]


class DatabaseFile:
    """The identity of a database's file and of its write-ahead log, as recorded by this process."""

    def __init__(self, path: Path) -> None:
        self._path, self._log_path = path, path.with_name(path.name + "-wal")
        self._path_text, self._log_text = str(path), str(self._log_path)
        self._lock = Lock()
        self._anchor: sqlite3.Connection | None = None
        self._key = ""
        self._header, self._log_header, self._first_bytes = -1, -1, b""
        self._id: _FileId = (0, 0)
        self._log_id: _FileId = (0, 0)
        self._seen: tuple[int, ...] = ()
        self._log_size = 0

    def check(self) -> None:
        """Raise DatabaseUnusable if the file or its log is not the one that this process opened; takes two stats."""
        # os.stat, since every claim pays for this and Path.stat costs half as much again.
        file, log = _stat(self._path_text), _stat(self._log_text)
        if file and log and (*_id(file), file.st_size, file.st_mtime_ns) == self._seen and self._is_log(log):
            return
        with self._lock:
            self._look()

    @property
    def is_learned(self) -> bool:
        """Return whether the file's identity is recorded, so that no other file may be opened in its place."""
        return self._anchor is not None

    def close(self) -> None:
        """Forget the file until the next check; the caller must close its own connections first."""
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

    def _look(self) -> None:
        """Check the file in full; raise DatabaseUnusable if anything other than SQLite changed it."""
        if self._anchor is None:
            self._learn()
            return
        file = self._present()
        if os.pread(self._header, _FIRST_BYTES, 0) != self._first_bytes:
            raise DatabaseUnusable(f"The database file {self._path} was damaged or overwritten; {_AGAIN}.")
        self._look_at_log()
        if self._key_there() != self._key:
            raise DatabaseUnusable(f"The database file {self._path} was replaced by another database; {_AGAIN}.")
        self._seen = (*_id(file), file.st_size, file.st_mtime_ns)

    def _learn(self) -> None:
        """Record the file's identity once it has a key; keep a connection open, so that the log is not deleted."""
        make_private(self._path)
        key = self._key_there() if self._path.exists() and self._path.stat().st_size else None
        if key is None:
            return
        anchor = _open(self._path)
        _read_key(anchor)
        if not self._log_path.exists():
            anchor.close()
            return
        file, log = self._path.stat(), self._log_path.stat()
        # Kept open: closing one would drop the locks that SQLite holds on that file in this process.
        self._header = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        self._log_header = os.open(self._log_path, os.O_RDONLY | os.O_CLOEXEC)
        self._first_bytes = os.pread(self._header, _FIRST_BYTES, 0)
        self._anchor, self._key, self._id, self._log_id = anchor, key, _id(file), _id(log)
        self._log_size, self._seen = log.st_size, (*_id(file), file.st_size, file.st_mtime_ns)

    def _present(self) -> os.stat_result:
        try:
            file = self._path.stat()
        except OSError:
            raise DatabaseUnusable(f"The database file {self._path} was removed; {_AGAIN}.") from None
        if _id(file) != self._id:
            raise DatabaseUnusable(f"The database file {self._path} was replaced by another; {_AGAIN}.")
        if not file.st_size:
            raise DatabaseUnusable(f"The database file {self._path} was emptied; {_AGAIN}.")
        return file

    def _look_at_log(self) -> None:
        """Raise DatabaseUnusable if the log is removed, replaced, cut or overwritten; first save a removed log."""
        log = self._log_there()
        if log is None:
            self._save_log()
            raise DatabaseUnusable(f"The log {self._log_path} of the database was removed; {_AGAIN}.")
        cut = DatabaseUnusable(f"The log {self._log_path} of the database was emptied or overwritten; {_AGAIN}.")
        if log.st_size and os.pread(self._log_header, len(_LOG_MAGIC), 0) != _LOG_MAGIC:
            raise cut
        if log.st_size < self._log_size and log.st_size < self._log_needed(cut):
            raise cut
        self._log_size = log.st_size

    def _log_there(self) -> os.stat_result | None:
        try:
            log = self._log_path.stat()
        except OSError:
            return None
        return log if _id(log) == self._log_id else None

    def _save_log(self) -> None:
        """Copy committed content into the database file from a log that is open but was removed."""
        if self._anchor is not None and not self._log_path.exists():
            with suppress(sqlite3.Error):
                self._anchor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _log_needed(self, cut: DatabaseUnusable) -> int:
        """Return the number of bytes that the log needs for its valid frames, or 0 if it has none."""
        if self._anchor is None:
            return 0
        try:
            frames = self._anchor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
            (page,) = self._anchor.execute("PRAGMA page_size").fetchone()
        except sqlite3.DatabaseError as broken:
            raise cut from broken
        return _LOG_HEADER + frames * (_FRAME_HEADER + page) if frames > 0 else 0

    def _key_there(self) -> str | None:
        """Return the key, read by a new connection without cached pages, or None if the database has no key."""
        try:
            with closing(_open(self._path)) as connection:
                return _read_key(connection)
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error):
                return None
            raise DatabaseUnusable(sentence_of(error, self._path) or f"{self._path}: {error}.") from error


def database_file(path: Path) -> DatabaseFile:
    """Return this process's record of that file."""
    return _database_file(path, os.getpid())


def make_private(path: Path) -> None:
    """Restrict a database's file and the files beside it to their user; log a warning if others had access."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        _tighten(path.with_name(name), PRIVATE_FILE)


def make_private_folder(folder: Path) -> None:
    """Create the folder, or restrict an existing one to its user; leave shared folders as they are."""
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    if not folder.stat().st_mode & stat.S_ISVTX and folder != Path.home():
        _tighten(folder, PRIVATE_FOLDER)


def create_private(path: Path) -> None:
    """Create an empty file that only its user can read, unless the file exists."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))


def sentence_of(error: BaseException | None, path: Path | None = None) -> str | None:
    """Describe an SQLite error about the file in one sentence; return None for any other error."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    named = f"The database file {path}" if path else "The database file"
    return {
        sqlite3.SQLITE_FULL: "The disk is full, so this was not stored; free some space, then try again.",
        sqlite3.SQLITE_READONLY: f"{named} cannot be written, so this was not stored; "
        "give its user write permission, then try again.",
        sqlite3.SQLITE_BUSY: f"The database is busy ({error}), so this was not stored; try again in a moment.",
        sqlite3.SQLITE_IOERR: f"{named} cannot be read or written ({error}), so this was not stored; "
        "check the disk, then try again.",
        sqlite3.SQLITE_CORRUPT: f"{named} is damaged ({error}); {_AGAIN}.",
        sqlite3.SQLITE_NOTADB: f"{named} is damaged ({error}); {_AGAIN}.",
    }.get(code)


# The process id is in the key because neither a lock nor an open connection survives a fork.
@lru_cache(maxsize=64)
def _database_file(path: Path, pid: int) -> DatabaseFile:
    return DatabaseFile(path)


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None, check_same_thread=False)


def _read_key(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT key FROM database_key").fetchone()
    return row[0] if row else None


def _tighten(path: Path, mode: int) -> None:
    try:
        found = path.stat()
        if not found.st_mode & _OTHERS or found.st_uid != os.getuid():
            return
        path.chmod(mode)
        _log.warning("%s was open to other users of this machine; now only its user can read it.", path)
    except FileNotFoundError:
        return
    except OSError as refused:
        _log.warning(
            "%s is open to other users of this machine, and its permissions cannot be changed (%s).", path, refused
        )


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116
    except OSError:
        return None


def _id(found: os.stat_result) -> _FileId:
    return found.st_dev, found.st_ino
