"""The database of the settings, or the one of a URL: migrated on first use, opened for reading or for writing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache

from sqlmodel import Session as Session

from console.settings import settings
from storage import engine
from storage.database_file import make_private_folder
from storage.migrations import migrate
from storage.queue import Queue


def database_url(url: str | None = None) -> str:
    """That URL, or the one of the settings, its database created and migrated."""
    return _ready(url or settings().database_url)


@contextmanager
def reading(url: str | None = None) -> Iterator[Session]:
    """A session that sees one state of the database and writes nothing."""
    with engine.reading(database_url(url)) as session:
        yield session


@contextmanager
def writing(url: str | None = None, *, durable: bool = True) -> Iterator[Session]:
    """A session in one short write transaction: committed at the end, rolled back on any error.

    One that is not durable may be lost in a power cut, never when a process is killed.
    """
    durability = engine.Durability.FULL if durable else engine.Durability.NORMAL
    with engine.writing(database_url(url), durability) as session:
        yield session


def changes(url: str | None = None) -> AbstractContextManager[Callable[[], bool]]:
    """A question to be asked again and again: whether another connection has committed since it was asked last."""
    return engine.changes(database_url(url))


def review_queue(url: str | None = None) -> Queue:
    """The review queue of that database, or of the settings'."""
    return _queue(database_url(url))


def now_ms() -> int:
    """Whole milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


@lru_cache(maxsize=8)
def _ready(url: str) -> str:
    if engine.sqlite_path(url) is not None:
        make_private_folder(settings().data_dir)
    migrate(url)
    return url


@lru_cache(maxsize=8)
def _queue(url: str) -> Queue:
    return Queue(url)
