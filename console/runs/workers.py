"""The workers of this database: each records a heartbeat, its job, and whether it must end.

The lock of a run lets one process at a time play, change or delete its trials.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from sqlalchemy import text
from sqlmodel import Session, col, delete, select, update

from console.database import database_url
from console.errors import Refused
from storage import tables
from storage.engine import engine, sqlite_path
from storage.tables import WorkerStatus

BEATS_EVERY_S = 5.0
GONE_MS = 30_000
"""Time in ms without a heartbeat after which a worker counts as gone; another worker continues its runs at once."""
GONE = "gone"
"""The status of a worker that stopped without saying so: it was killed, or cannot reach the database."""

_KEPT_MS = 7 * 86_400_000
_FAILURE = 300


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker as operators see it: its status, with `gone` for a missing heartbeat; times in ms since 1970."""

    worker_id: int
    name: str
    status: str
    job: str
    jobs_done: int
    failure: str
    started_ms: int
    seen_ms: int


def add_worker(session: Session, name: str, now_ms: int) -> int:
    """Record a new worker and return its id; forget workers that ended more than a week ago."""
    row = tables.Worker
    session.execute(delete(row).where(col(row.seen_ms) < now_ms - _KEPT_MS))
    made = tables.Worker(name=name, started_ms=now_ms, seen_ms=now_ms)
    session.add(made)
    session.flush()
    return made.id or 0


def record_heartbeat(session: Session, worker_id: int, now_ms: int) -> str | None:
    """Record that the worker is alive and return its status, or None if the database does not know the worker."""
    row = session.get(tables.Worker, worker_id)
    if row is None:
        return None
    row.seen_ms = now_ms
    session.add(row)
    return row.status


def record_job(session: Session, worker_id: int, job: str, now_ms: int, failure: str | None = None) -> None:
    """Record the worker's new job, or the end of its job if `job` is empty, with the reason of a failure."""
    row = session.get(tables.Worker, worker_id)
    if row is None:
        return
    row.jobs_done += bool(row.job and not job and failure is None)
    row.job, row.seen_ms = job, now_ms
    if failure is not None:
        row.failure = failure[:_FAILURE]
    session.add(row)


def end_worker(session: Session, worker_id: int, now_ms: int) -> None:
    """Record that the worker has stopped."""
    row = tables.Worker
    ended = {"status": WorkerStatus.STOPPED, "job": "", "seen_ms": now_ms}
    session.execute(update(row).where(col(row.id) == worker_id).values(**ended))


def drain_workers(session: Session, worker_ids: Sequence[int] | None = None) -> int:
    """Mark the named workers, or all, to end after their present job; return the number of marked workers."""
    row = tables.Worker
    working = col(row.status) == WorkerStatus.WORKING
    if worker_ids is not None:
        working &= col(row.id).in_(worker_ids)
    found = session.exec(select(row).where(working).with_for_update()).all()
    for one in found:
        one.status = WorkerStatus.DRAINING
        session.add(one)
    return len(found)


def list_workers(session: Session, now_ms: int) -> list[WorkerState]:
    """List the workers of the last week, those at work first, then by their last heartbeat."""
    rows = session.exec(select(tables.Worker).order_by(col(tables.Worker.seen_ms).desc())).all()
    found = [
        WorkerState(
            row.id or 0,
            row.name,
            GONE if row.status != WorkerStatus.STOPPED and row.seen_ms < now_ms - GONE_MS else row.status,
            row.job,
            row.jobs_done,
            row.failure,
            row.started_ms,
            row.seen_ms,
        )
        for row in rows
    ]
    return sorted(found, key=lambda one: one.status in (GONE, WorkerStatus.STOPPED))


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
