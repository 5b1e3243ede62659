"""The database at the URL in the settings or at another URL: creation and migration on first use, and sessions."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from sqlmodel import Session as Session

from console.settings import settings
from storage import engine
from storage.migrations import migrate
from storage.private_files import make_private_folder
from storage.queue import Queue

may_create: ContextVar[bool] = ContextVar("may_create", default=True)
"""True if the console may create a missing database: in a gate's process and in commands that start work."""


def database_url(url: str | None = None) -> str:
    """Prepare the database and return its URL, by default the URL in the settings.

    Raise NoDatabase if the database is missing and `may_create` is false.
    """
    return _ready(url or settings().database_url)


@contextmanager
def reading(url: str | None = None) -> Iterator[Session]:
    """Open a read-only session with a consistent snapshot of the database."""
    with engine.reading(database_url(url)) as session:
        yield session


@contextmanager
def writing(url: str | None = None, *, durable: bool = True) -> Iterator[Session]:
    """Open a session in one short write transaction; commit at the end of the block, or roll back on any error.

    A write with `durable=False` may be lost in a power cut, but not if the process is killed.
    """
    durability = engine.Durability.FULL if durable else engine.Durability.NORMAL
    with engine.writing(database_url(url), durability) as session:
        yield session


@contextmanager
def changes(url: str | None = None) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether another connection has committed since its last call.

    With SQLite a call takes microseconds; with PostgreSQL the function always returns True.
    """
    opened = engine.engine(database_url(url))
    if opened.dialect.name != "sqlite":
        yield lambda: True
        return
    connection, known = engine.borrow(opened), [-1]

    def changed() -> bool:
        before, known[0] = known[0], connection.execute("PRAGMA data_version").fetchone()[0]
        return known[0] != before

    try:
        yield changed
    finally:
        engine.give_back(opened, connection)


def review_queue(url: str | None = None) -> Queue:
    """Return the review queue of the database at this URL, by default the URL in the settings."""
    return _queue(database_url(url))


def now_ms() -> int:
    """Return the time in whole milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


@lru_cache(maxsize=8)
def _ready(url: str) -> str:
    if may_create.get() and engine.sqlite_path(url) is not None:
        make_private_folder(settings().data_dir)
    if migrate(url, create=may_create.get()):
        sys.stderr.write(f"Created a new database: {engine.mask_password(url)}\n")
    return url


@lru_cache(maxsize=8)
def _queue(url: str) -> Queue:
    return Queue(url)
