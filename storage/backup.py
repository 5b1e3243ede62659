"""Backups of the whole database as an SQLite file; creation and restore work while the console runs."""

import os
import re
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy.exc import DBAPIError

from storage.check import file_problems, find_audit_problems
from storage.engine import BUSY_MS, close, mask_password, overwrite_freed, sqlite_path
from storage.errors import NotOurs, StorageError
from storage.migrations import file_revision, head, migrate
from storage.new_epoch import RestoreReport, begin_epoch
from storage.private_files import create_private
from storage.transfer import NEWEST, copy_database, replace_rows

_TOO_BUSY = "{} changes too fast to be replaced. Stop the console and its agents, then try again."
_TRIES = 5
_DATED = re.compile(r"console-\d{8}T\d{6}Z\.db")
_NO_ORIGIN = {"actor": "console", "door": "", "place": ""}


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore: the path of the replaced file (None if it was missing), and counts of the changes."""

    kept: Path | None
    went_back: RestoreReport


def backup(url: str, target_path: str | Path) -> Path:
    """Copy the database to a new file that only its user can read, and return the file's path.

    The file gets its name when it is complete and checked. Raise StorageError if the name is taken or the copy fails.
    """
    target = Path(target_path).expanduser().absolute()
    source = sqlite_path(url)
    if source is not None and not source.exists():
        raise StorageError(f"The database {source} is missing, so it cannot be backed up. Check INFERACT_DATABASE_URL.")
    target.parent.mkdir(parents=True, exist_ok=True)
    refuse_there(target)
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.unfinished")
    try:
        create_private(unfinished)
        if source is not None:
            _copy(source, unfinished)
        else:
            _copy_server(url, unfinished)
        _refuse_unsound(unfinished)
        _sync(unfinished)
        try:
            # Linked, not renamed, so that an existing file is never overwritten.
            target.hardlink_to(unfinished)
        except FileExistsError:
            refuse_there(target)
        _sync(target.parent)
    except sqlite3.Error as failed:
        raise StorageError(f"{target} was not written ({failed}). Choose another path or free some space.") from failed
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def name_in_folder(folder: str | Path, at: datetime) -> Path:
    """Return the path of a backup in a folder of backups, named by its time in the format that `remove_old` expects.

    Raise StorageError if the path exists and is not a folder.
    """
    where = Path(folder).expanduser().absolute()
    if where.exists() and not where.is_dir():
        raise StorageError(f"{where} is not a folder. Name a folder that keeps the backups.")
    return where / f"console-{at.astimezone(UTC):%Y%m%dT%H%M%SZ}.db"


def remove_old(made: Path, keep: int) -> list[Path]:
    """Remove older backups in the folder of the new backup `made`, keep `keep` backups, and return the removed paths.

    Count only files named by `name_in_folder`. Never remove the new backup, even if another backup has a later time.
    """
    dated = sorted((path for path in made.parent.iterdir() if _DATED.fullmatch(path.name)), reverse=True)
    old = [path for path in dated if path != made][keep - 1 :]
    for path in old:
        path.unlink(missing_ok=True)
    return old


def restore(
    url: str,
    source_path: str | Path,
    *,
    keep_access: bool = False,
    accept_changed: bool = False,
    origin: Mapping[str, str] | None = None,
) -> Restored:
    """Replace the database with a backup, migrated to the current tables, and begin a new epoch (`storage.new_epoch`).

    A restore is safe while the console runs: the next transaction reads the restored rows. `origin` holds the event's
    actor, door (entry point) and place. Raise NotOurs, OlderSchema, NewerSchema or StorageError if the backup is
    unusable, or if its audit log was changed without `accept_changed`; the database is then unchanged.
    """
    source, target = Path(source_path).expanduser().absolute(), sqlite_path(url)
    _require_backup(source, target)
    if target is None:
        migrate(url)
    about = {"kind": "database restored", "subject": str(source), **(origin or _NO_ORIGIN)}
    for _ in range(_TRIES):
        with TemporaryDirectory() as folder:
            # Migrated in a folder of its own, so that a backup that cannot be migrated never reaches a running console.
            ready, replaced = Path(folder) / "ready.db", Path(folder) / "replaced.db"
            _copy_migrated(source, ready)
            changed = _list_changes(source, ready, accept_changed)
            kept = _keep(target) if target else backup(url, source.with_name(f"{source.name}.replaced-{_stamp()}"))
            try:
                unread = _copy_replaced(kept, ready, replaced)
                went_back = begin_epoch(ready, replaced, about, keep_access=keep_access, unread=unread, changed=changed)
                newest = None if kept is None or unread else _newest(kept)
                if target is None:
                    is_current = replace_rows(f"sqlite:///{ready}", url, newest)
                else:
                    is_current = newest is None or _newest(target) == newest
            except BaseException:
                _put_back(kept, target)
                raise
            finally:
                close(f"sqlite:///{ready}")
            if not is_current:
                # An action began, or a person decided, since the copy; it must be carried over too.
                _put_back(kept, target)
                continue
            if target is not None:
                create_private(target)
                _copy(ready, target, journal=None)
        # The key that identifies the file must be in the file itself, not in its log.
        overwrite_freed(url)
        return Restored(kept, went_back)
    raise StorageError(_TOO_BUSY.format(target or mask_password(url)))


def _require_backup(source: Path, target: Path | None) -> None:
    if not source.exists():
        raise StorageError(f"The backup {source} does not exist. Name a backup file.")
    if source == target:
        raise StorageError(f"{source} is the database itself. Name a backup to restore.")
    if file_revision(source) is None:
        raise NotOurs(f"{source} is empty. Name a backup made by `inferact db backup`.")
    _refuse_unsound(source)


def _copy_server(url: str, target: Path) -> None:
    """Copy every row of one state of a PostgreSQL database."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        copy_database(url, f"sqlite:///{copy}")
        close(f"sqlite:///{copy}")
        _copy(copy, target)


def _copy(source: Path, target: Path, journal: str | None = "DELETE") -> None:
    """Copy every page in one step, so that another writer cannot restart the copy."""
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
        problems = [f"The file cannot be read ({error})."]
    if problems:
        raise StorageError(f"{path} is damaged. {problems[0]} Check the disk, or name another file.")


def _copy_migrated(source: Path, copy: Path) -> None:
    create_private(copy)
    _copy(source, copy)
    if file_revision(copy) != head():
        url = f"sqlite:///{copy}"
        migrate(url)
        close(url)


def _list_changes(source: Path, ready: Path, accept_changed: bool) -> tuple[str, ...]:
    """Return the audit problems of the migrated backup; raise StorageError if it has problems that are not accepted."""
    url = f"sqlite:///{ready}"
    found = tuple(find_audit_problems(url))
    close(url)
    if found and not accept_changed:
        raise StorageError(
            f"{source} was changed outside the console. {found[0]} Name another backup, or accept the changes with "
            "--accept-changed."
        )
    return found


def _copy_replaced(kept: Path | None, ready: Path, copy: Path) -> str:
    """Copy and migrate the replaced database and copy its key to `ready`; return "" or the reason if it is unreadable.

    If the replaced database is missing or unreadable, copy `ready` instead, so that no row differs.
    """
    unread = ""
    try:
        if kept is not None and file_revision(kept) is not None:
            _copy_migrated(kept, copy)
            with closing(_open(copy)) as old, closing(_open(ready)) as new, new:
                new.execute("UPDATE database_key SET key = ?", old.execute("SELECT key FROM database_key").fetchone())
            return ""
    except (StorageError, sqlite3.DatabaseError, DBAPIError) as error:
        unread = str(error)
        copy.unlink(missing_ok=True)
    create_private(copy)
    _copy(ready, copy)
    return unread


def _newest(path: Path) -> tuple[int, ...]:
    """Return the highest ids of begun actions, decisions and events: a restore must include all of these rows."""
    with closing(_open(path)) as connection:
        found: tuple[int, ...] = connection.execute(NEWEST).fetchone()
    return found


def _keep(target: Path) -> Path | None:
    if not target.exists() or not target.stat().st_size:
        return None
    kept = target.with_name(f"{target.name}.replaced-{_stamp()}")
    create_private(kept)
    try:
        _copy(target, kept)
    except sqlite3.DatabaseError:
        # Too damaged to be read as a database: kept as it is, under another name.
        target.replace(kept)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                target.with_name(target.name + suffix).rename(kept.with_name(kept.name + suffix))
    return kept


def _put_back(kept: Path | None, target: Path | None) -> None:
    """Undo `_keep` after a failed restore: remove the copy, or rename the kept file to the database's name."""
    if kept is None:
        return
    if target is None or target.exists():
        kept.unlink()
        return
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            kept.with_name(kept.name + suffix).rename(target.with_name(target.name + suffix))


def refuse_there(target: Path) -> None:
    """Raise StorageError if the file already exists."""
    if os.path.lexists(target):
        raise StorageError(f"{target} already exists. Name a new file for the backup.")


def _sync(path: Path) -> None:
    """Write the file, or the names in a folder, to disk, so that they survive a power cut."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
