"""Copies of the whole database, taken and put back while the console runs."""

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from storage.check import file_problems
from storage.database_file import create_private
from storage.engine import BUSY_MS, close, overwrite_freed, sqlite_path
from storage.errors import NotOurs, StorageError
from storage.migrations import file_revision, migrate


def backup(url: str, target_path: str | Path) -> Path:
    """Copies the database to a new file that only its user can read, and returns its path.

    The file has its name only once it is whole and checked. Raises StorageError where one is there already.
    """
    target = Path(target_path).expanduser().absolute()
    source = _database_file(url)
    if not source.exists():
        raise StorageError(f"There is no database at {source} to back up.")
    target.parent.mkdir(parents=True, exist_ok=True)
    refuse_there(target)
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.unfinished")
    try:
        create_private(unfinished)
        _copy(source, unfinished)
        _refuse_unsound(unfinished)
        _sync(unfinished)
        try:
            # Linked and not renamed, so that a file of that name is never written over.
            target.hardlink_to(unfinished)
        except FileExistsError:
            refuse_there(target)
        _sync(target.parent)
    except sqlite3.Error as failed:
        raise StorageError(
            f"{target} was not written ({failed}); choose another place, or make room there."
        ) from failed
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def restore(url: str, source_path: str | Path) -> Path | None:
    """Puts a backup in the place of the database and migrates it; returns where the replaced one is kept.

    Safe while the console runs: its next transaction sees the restored rows. Raises NotOurs, NewerSchema and
    StorageError before anything is changed.
    """
    source, target = Path(source_path).expanduser().absolute(), _database_file(url)
    if not source.exists():
        raise StorageError(f"There is no backup at {source}.")
    if source == target:
        raise StorageError(f"{source} is the database itself; name the backup to restore.")
    if file_revision(source) is None:
        raise NotOurs(f"{source} is empty; name a backup made by `inferact db backup`.")
    _refuse_unsound(source)
    with TemporaryDirectory() as folder:
        # Made ready apart: a backup that cannot be migrated is refused in time, and a running console never sees it.
        ready = _ready(source, Path(folder) / "ready.db", _key(target))
        kept = _keep(target)
        create_private(target)
        _copy(ready, target, journal=None)
    # What tells the file from others has to stand in it, not in the log beside it.
    overwrite_freed(url)
    return kept


def _database_file(url: str) -> Path:
    path = sqlite_path(url)
    if path is None:
        raise StorageError("This database is on a server; back it up with its own tool (pg_dump).")
    return path


def _copy(source: Path, target: Path, journal: str | None = "DELETE") -> None:
    """Copies every page in one step, so that no writer in between can make it begin anew."""
    with closing(_open(source)) as origin, closing(_open(target)) as copy:
        origin.backup(copy)
        if journal is not None:
            # A backup travels as one file, without the -wal beside it.
            copy.execute(f"PRAGMA journal_mode={journal}")


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_MS / 1_000)


def _refuse_unsound(path: Path) -> None:
    try:
        problems = file_problems(path)
    except sqlite3.DatabaseError as error:
        problems = [f"It cannot be read ({error})."]
    if problems:
        raise StorageError(f"{path} is not sound. {problems[0]}")


def _ready(source: Path, copy: Path, key: str | None) -> Path:
    """A copy of the backup, migrated, with the key of the database whose place it takes."""
    create_private(copy)
    _copy(source, copy)
    url = f"sqlite:///{copy}"
    migrate(url)
    close(url)
    with closing(_open(copy)) as connection, connection:
        if key is not None:
            connection.execute("UPDATE database_key SET key = ?", (key,))
    return copy


def _key(target: Path) -> str | None:
    """The key of the database that is there, None where there is none or it cannot be read."""
    if not target.exists():
        return None
    try:
        with closing(_open(target)) as connection:
            row = connection.execute("SELECT key FROM database_key").fetchone()
    except sqlite3.DatabaseError:
        return None
    return row[0] if row else None


def _keep(target: Path) -> Path | None:
    if not target.exists() or not target.stat().st_size:
        return None
    kept = target.with_name(f"{target.name}.replaced-{_stamp()}")
    create_private(kept)
    try:
        _copy(target, kept)
    except sqlite3.DatabaseError:
        # Too damaged to be read as a database: kept as it lies, out of the way of the new one.
        kept.unlink(missing_ok=True)
        target.rename(kept)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                target.with_name(target.name + suffix).rename(kept.with_name(kept.name + suffix))
    return kept


def refuse_there(target: Path) -> None:
    """Raises StorageError where something has that name already."""
    if os.path.lexists(target):
        raise StorageError(f"{target} is already there; name a new file for the backup.")


def _sync(path: Path) -> None:
    """Waits until the file, or the names in a folder, would survive a power cut."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
