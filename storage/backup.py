"""Backups of the whole database, which can be made and restored while the console runs."""

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from storage.check import file_problems
from storage.engine import BUSY_MS, close, overwrite_freed, sqlite_path
from storage.errors import NotOurs, StorageError
from storage.migrations import file_revision, migrate
from storage.private_files import create_private


def backup(url: str, target_path: str | Path) -> Path:
    """Copy the database to a new file that only its user can read, and return the file's path.

    The file gets its name when it is complete and checked. Raise StorageError if the name is taken or the copy fails.
    """
    target = Path(target_path).expanduser().absolute()
    source = _database_file(url)
    if not source.exists():
        raise StorageError(f"Nothing to back up at {source}: the database is missing. Check INFERACT_DATABASE_URL.")
    target.parent.mkdir(parents=True, exist_ok=True)
    refuse_there(target)
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.unfinished")
    try:
        create_private(unfinished)
        _copy(source, unfinished)
        _refuse_unsound(unfinished)
        _sync(unfinished)
        try:
            # Linked, not renamed, so that an existing file is never overwritten.
            target.hardlink_to(unfinished)
        except FileExistsError:
            refuse_there(target)
        _sync(target.parent)
    except sqlite3.Error as failed:
        raise StorageError(f"{target} was not written ({failed}); choose another path or free some space.") from failed
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def restore(url: str, source_path: str | Path) -> Path | None:
    """Replace the database with a backup, migrated to the current tables; return the path of the replaced file.

    Safe while the console runs: the next transaction reads the restored rows. Raise NotOurs, OlderSchema, NewerSchema
    or StorageError if the backup cannot be used; the database is then unchanged.
    """
    source, target = Path(source_path).expanduser().absolute(), _database_file(url)
    if not source.exists():
        raise StorageError(f"The backup {source} does not exist; name a backup file.")
    if source == target:
        raise StorageError(f"{source} is the database itself; name a backup to restore.")
    if file_revision(source) is None:
        raise NotOurs(f"{source} is empty; name a backup made by `inferact db backup`.")
    _refuse_unsound(source)
    with TemporaryDirectory() as folder:
        # Migrated in a folder of its own, so that a backup that cannot be migrated never reaches a running console.
        ready = _ready(source, Path(folder) / "ready.db", _key(target))
        kept = _keep(target)
        create_private(target)
        _copy(ready, target, journal=None)
    # The key that identifies the file must be in the file itself, not in its log.
    overwrite_freed(url)
    return kept


def _database_file(url: str) -> Path:
    path = sqlite_path(url)
    if path is None:
        raise StorageError("This is a PostgreSQL database. Back it up with pg_dump.")
    return path


def _copy(source: Path, target: Path, journal: str | None = "DELETE") -> None:
    """Copy every page in one step, so that no other writer can make the copy start again."""
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
    """Return a migrated copy of the backup, with the key of the database that it replaces."""
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
    """Return the key of the present database, or None if the database is missing or cannot be read."""
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
        # Too damaged to be read as a database: kept as it is, under another name.
        kept.unlink(missing_ok=True)
        target.rename(kept)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                target.with_name(target.name + suffix).rename(kept.with_name(kept.name + suffix))
    return kept


def refuse_there(target: Path) -> None:
    """Raise StorageError if the name is taken."""
    if os.path.lexists(target):
        raise StorageError(f"{target} already exists; name a new file for the backup.")


def _sync(path: Path) -> None:
    """Wait until the file, or the names in a folder, would survive a power cut."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
