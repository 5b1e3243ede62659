"""The errors of the store."""

import sqlite3
from pathlib import Path

HOW_TO_GO_ON = "Stop the console, restore the file or a backup (inferact db restore FILE), and start the console again"


class StorageError(Exception):
    """The database request failed."""

    def __init__(self, text: str = "", **fields: object) -> None:
        super().__init__(text.format(**fields) if fields else text)
        # A reader's language has the text before its fields are filled in.
        self.text, self.fields = text, fields

    def __str__(self) -> str:
        return super().__str__() or (self.__doc__ or "")


class NewerSchema(StorageError):
    """A newer version of the console wrote this database. Upgrade the console to open it."""


class OlderSchema(StorageError):
    """A version before the first release wrote this database. Export the data with that version."""


class NoDatabase(StorageError):
    """The database does not exist. Create a database with `inferact serve`."""


class NotOurs(StorageError):
    """The file is not a database of this console. Name another file."""


class DatabaseUnusable(StorageError):
    """The database cannot be used in its present state. Nothing was stored."""


class NoSuchItem(StorageError):
    """This review item does not exist."""


class QueueRefusal(StorageError):
    """The item is not in the state that this request needs."""


class BudgetSpent(QueueRefusal):
    """The inspection budget is spent. Raise the budget or release a claim."""


class NotYours(QueueRefusal):
    """Another reviewer has claimed this item, or your claim has expired. Open the item again."""


class AlreadyDecided(QueueRefusal):
    """You have already reviewed this item."""


class AlreadyDelivered(QueueRefusal):
    """The decision has already reached the agent and can no longer be undone."""


_CUT = "08"
_SERVER = (
    (_CUT, "The connection to the database server was cut, so the change may be missing; reload, then try again."),
    ("57P0", "The database server is stopping, so the change may be missing; reload, then try again."),
    ("40", "The database is busy, so the change was not stored; try again in a moment."),
    ("53", "The database server has no space or connection left, so the change was not stored; ask its operator."),
    ("25006", "The database server accepts no changes now, so the change was not stored; ask its operator."),
)
"""Sentences by the beginning of PostgreSQL's error state; an error without a state is a cut connection."""


def sentence_of(error: BaseException | None, path: Path | None = None) -> str | None:
    """Describe an error about SQLite's file or PostgreSQL's server in one sentence; return None for any other error."""
    if type(error).__module__.startswith("psycopg"):
        state = getattr(error, "sqlstate", None) or _CUT
        return next((sentence for begin, sentence in _SERVER if state.startswith(begin)), None)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if not code:
        return None
    named = f"The database file {path}" if path else "The database file"
    return {
        sqlite3.SQLITE_FULL: "The disk is full, so the change was not stored; free some space, then try again.",
        sqlite3.SQLITE_READONLY: f"{named} cannot be written, so the change was not stored; "
        "give its user write permission, then try again.",
        sqlite3.SQLITE_BUSY: f"The database is busy ({error}), so the change was not stored. Try again in a moment.",
        sqlite3.SQLITE_IOERR: f"{named} cannot be read or written ({error}), so the change was not stored; "
        "check the disk, then try again.",
        sqlite3.SQLITE_CORRUPT: f"{named} is damaged ({error}). {HOW_TO_GO_ON}.",
        sqlite3.SQLITE_NOTADB: f"{named} is damaged ({error}). {HOW_TO_GO_ON}.",
    }.get(code)
