"""The lock of a run: one process at a time plays, changes or deletes its trials."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from sqlalchemy import text

from console.database import database_url
from console.errors import Refused
from storage import tables
from storage.engine import engine, sqlite_path

_SPACE = 0x1AF


def lock_run(run: tables.Run) -> AbstractContextManager[None]:
    """Lock the run for this engine; raise Refused if another process works on the run."""
    return _on_file(run) if sqlite_path(database_url()) else _on_server(run)


@contextmanager
def _on_file(run: tables.Run) -> Iterator[None]:
    # An open SQLite transaction is the only file lock that Python offers on every system.
    path = sqlite_path(database_url())
    lock = sqlite3.connect(f"{path}.run-{run.id}.lock", timeout=0, isolation_level=None, check_same_thread=False)
    try:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise _busy(run) from None
        yield
    finally:
        lock.close()


@contextmanager
def _on_server(run: tables.Run) -> Iterator[None]:
    key = {"space": _SPACE, "run": run.id}
    server = engine(database_url()).execution_options(isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        if not connection.execute(text("SELECT pg_try_advisory_lock(:space, :run)"), key).scalar():
            raise _busy(run)
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:space, :run)"), key)


def _busy(run: tables.Run) -> Refused:
    return Refused(f"Another process is working on run {run.name!r}. Wait for it, or stop it first.")
