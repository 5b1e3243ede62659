"""Short transactions on raw connections: ten times as fast as the ORM, with the same guarantees."""

import random
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from sqlite3 import SQLITE_BUSY
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Dialect, text
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from storage.audit_chain import append_raw, link_touched
from storage.engine import BUSY_MS, Durability, borrow, check_file, engine, give_back
from storage.errors import DatabaseUnusable, StorageError, sentence_of

Row = tuple[Any, ...]

PAUSES_S = 0.001, 0.008
_NAME = re.compile(r":(\w+)")
_LOCK = re.compile(r"\s*FOR UPDATE[\w\s]*(?=\)?$)")


class Transaction:
    """A transaction that runs `storage.queue.statements`; values are int, float, str or None.

    The transaction commits at the end and rolls back after an error. It raises DatabaseUnusable if the database stays
    locked or another file has replaced the open one. The transaction checks the file when it begins and, with
    durability FULL, again after the commit.
    """

    __slots__ = ("_connection", "_cursor", "_dialect", "_durability", "_engine", "_sqlite_begin", "_url", "_waits")

    def __init__(
        self, url: str, durability: Durability = Durability.NORMAL, *, sqlite_begin: str = "IMMEDIATE"
    ) -> None:
        self._url, self._durability = url, durability
        self._sqlite_begin, self._waits = sqlite_begin, sqlite_begin != "IMMEDIATE"

    @classmethod
    def joined(cls, session: Session) -> Self:
        """Return a transaction that runs statements within the session's transaction, including its pending changes.

        Only the session commits, so do not use `with`. Refresh loaded objects of the session after a change, because
        the session does not update them.
        """
        session.flush()
        connection = session.connection()
        made = cls("")
        made._dialect, made._cursor = connection.dialect, connection.connection.cursor()
        return made

    def __enter__(self) -> Self:
        if not self._url:
            raise StorageError("These statements belong to a session, which commits them. Remove the `with`.")
        self._engine = engine(self._url, self._durability, writes=not self._waits)
        self._dialect = self._engine.dialect
        try:
            self._connection = borrow(self._engine, waits=self._waits)
        except (DBAPIError, self._dialect.loaded_dbapi.DatabaseError) as error:
            if (sentence := sentence_of(getattr(error, "orig", error))) is None:
                raise
            raise DatabaseUnusable(sentence) from error
        self._cursor = self._connection.cursor()
        if self._dialect.name == "sqlite":
            try:
                check_file(self._engine)
                _begin(self._cursor, self._sqlite_begin)
            except (sqlite3.DatabaseError, DatabaseUnusable) as error:
                give_back(self._engine, self._connection, waits=self._waits)
                if (sentence := sentence_of(error)) is None:
                    raise
                raise DatabaseUnusable(sentence) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                if not self._waits:
                    link_touched(self._cursor, server=self._dialect.name != "sqlite")
                self._connection.commit()
        except self._dialect.loaded_dbapi.DatabaseError as failure:
            error = failure
        finally:
            self._roll_back()
        if error is not None and (sentence := sentence_of(error)) is not None:
            raise DatabaseUnusable(sentence) from error
        if kind is None and error is not None:
            raise error
        if kind is None and self._durability is Durability.FULL:
            # The commit is acknowledged only after this check.
            check_file(self._engine)

    def _roll_back(self) -> None:
        # After a commit there is nothing left to roll back; after an error, or a failed commit, everything is.
        try:
            self._connection.rollback()
        except self._dialect.loaded_dbapi.OperationalError:
            if self._dialect.name == "sqlite":
                raise
            # The server is gone; it has rolled back, and the pool must open another connection.
            self._connection.invalidate()
        else:
            give_back(self._engine, self._connection, waits=self._waits)

    def append_event(self, **content: Any) -> None:
        """Append an event to the audit log; `content` holds the event's columns except id and salt."""
        append_raw(self._cursor, content, server=self._dialect.name != "sqlite")

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Return every row of the result."""
        words, arranged = _arrange_values(statement, self._dialect)
        # Fetch all rows, because SQLite cannot commit while a RETURNING is half read.
        found: list[Row] = self._cursor.execute(words, arranged(values)).fetchall()
        return found

    def row(self, statement: str, **values: Any) -> Row | None:
        """Return the first row of the result, or None if the result has no row."""
        # Not by way of `rows`: a claim asks so many times that one more call each would show.
        words, arranged = _arrange_values(statement, self._dialect)
        found: list[Row] = self._cursor.execute(words, arranged(values)).fetchall()
        return found[0] if found else None

    def run(self, statement: str, **values: Any) -> int:
        """Run the statement and return the number of changed rows."""
        words, arranged = _arrange_values(statement, self._dialect)
        changed: int = self._cursor.execute(words, arranged(values)).rowcount
        return changed

    def run_many(self, statement: str, values: Sequence[dict[str, Any]]) -> int:
        """Run the statement once for each set of values and return the number of changed rows."""
        words, arranged = _arrange_values(statement, self._dialect)
        self._cursor.executemany(words, [arranged(row) for row in values])
        changed: int = self._cursor.rowcount
        return changed


# SQLite's own waiting sleeps longer each time, so that one busy writer kept all others out for seconds.
def _begin(cursor: Any, mode: str) -> None:
    deadline = 0.0
    while True:
        try:
            cursor.execute(f"BEGIN {mode}")
            return
        except cursor.connection.OperationalError as error:
            deadline = deadline or time.monotonic() + BUSY_MS / 1_000
            if error.sqlite_errorcode & 0xFF != SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(*PAUSES_S))


@lru_cache(maxsize=256)
def render_sql(statement: str, dialect: Dialect) -> str:
    """Return the statement in the syntax of the database driver, with named values."""
    if dialect.name == "sqlite":
        return _LOCK.sub("", statement)
    return str(text(statement).compile(dialect=dialect))


@lru_cache(maxsize=256)
def _arrange_values(statement: str, dialect: Dialect) -> tuple[str, Callable[[dict[str, Any]], Any]]:
    """Return the statement and a function that arranges its values; SQLite gets positional values.

    SQLite binds named values slowly. Positional values save a tenth of the time that a claim spends outside its SQL
    statements.
    """
    words = render_sql(statement, dialect)
    if dialect.name != "sqlite":
        return words, dict
    # Python 3.14 refuses values for numbered places, so a repeated value is repeated.
    names, words = _NAME.findall(words), _NAME.sub("?", words)
    if len(names) > 1:
        return words, itemgetter(*names)
    return words, lambda values: (values[names[0]],) if names else ()
