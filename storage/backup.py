"""Copies of the whole database, taken and put back while the console runs."""

import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from storage.check import file_problems
from storage.engine import BUSY_MS, sqlite_path
from storage.errors import NotOurs, StorageError
from storage.migrations import file_revision, head, migrate


def backup(url: str, target_path: str | Path) -> Path:
    """Copies the database to a new file, checks the copy and returns its path; raises StorageError if one is there."""
    target = Path(target_path).expanduser().absolute()
    source = _database_file(url)
    if not source.exists():
        raise StorageError(f"There is no database at {source} to back up.")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Made here and only here, so that a file of that name is never written over.
        target.open("xb").close()
    except FileExistsError:
        raise StorageError(f"{target} is already there; name a new file for the backup.") from None
    try:
        _copy(source, target)
        _refuse_unsound(target)
    except BaseException:
        target.unlink()
        raise
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
    _rehearse(source)
    kept = _keep(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _copy(source, target, journal=None)
    migrate(url)
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


def _rehearse(source: Path) -> None:
    """Migrates a throwaway copy of an older backup, so that one that cannot be migrated is refused in time."""
    if file_revision(source) == head():
        return
    with TemporaryDirectory() as folder:
        trial = Path(folder) / "trial.db"
        _copy(source, trial)
        migrate(f"sqlite:///{trial}")


def _keep(target: Path) -> Path | None:
    if not target.exists() or not target.stat().st_size:
        return None
    kept = target.with_name(f"{target.name}.replaced-{_stamp()}")
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


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
