"""The text index: an FTS5 table over the words of every trajectory, which triggers keep; SQLite alone has it.

It holds no text of its own, so what is deleted or changed is taken out by the words that stood there before.
Alone beside the tables because no class stands for it.
"""

from typing import Any

from sqlalchemy import Connection, MetaData, event

from storage.tables.base import Table

INDEX = "trajectory_words"
COLUMNS = ("task", "actions", "observations", "thoughts")
"""What each column holds: the instruction and the task's id, the actions with one that waits, what came back, why."""


def _words(row: str) -> str:
    """The cells of one row of the index: the trajectory's id and its texts."""
    step = "coalesce(group_concat(json_extract(step.value, '$.{0}'), char(10)), '')"
    task, pending = (
        f"coalesce(json_extract({row}.body, '$.{name}'), '')" for name in ("instruction", "critical_action")
    )
    key = f"coalesce(json_extract({row}.body, '$.task_id'), '')"
    texts = (f"{task} || char(10) || {key}", f"{step.format('action')} || char(10) || {pending}",
             step.format("observation"), step.format("thought"))  # fmt: skip
    return f"{row}.trajectory_id, {', '.join(texts)}"


def _of(row: str) -> str:
    return f"{_words(row)} FROM json_each({row}.body, '$.steps') AS step WHERE step.type = 'object'"


_NAMES = ", ".join(COLUMNS)
_HAS_OLD = f"EXISTS (SELECT 1 FROM {INDEX}_docsize WHERE id = old.trajectory_id)"
"""FTS5 takes what is asked to leave and was never in for a damaged file."""

_ADD = f"INSERT INTO {INDEX} (rowid, {_NAMES}) SELECT {_of('new')};"
_TAKE_OUT = f"INSERT INTO {INDEX} ({INDEX}, rowid, {_NAMES}) SELECT 'delete', {_of('old')};"

DEFINITION = (
    f"CREATE VIRTUAL TABLE {INDEX} USING fts5({_NAMES}, content='', tokenize=\"unicode61 remove_diacritics 2\")",
    f"CREATE TRIGGER {INDEX}_added AFTER INSERT ON trajectory_body WHEN json_valid(new.body) BEGIN {_ADD} END",
    f"CREATE TRIGGER {INDEX}_left BEFORE UPDATE OF body ON trajectory_body "
    f"WHEN json_valid(old.body) AND old.body <> new.body AND {_HAS_OLD} BEGIN {_TAKE_OUT} END",
    f"CREATE TRIGGER {INDEX}_changed AFTER UPDATE OF body ON trajectory_body "
    f"WHEN json_valid(new.body) AND old.body <> new.body BEGIN {_ADD} END",
    f"CREATE TRIGGER {INDEX}_removed BEFORE DELETE ON trajectory_body WHEN json_valid(old.body) BEGIN {_TAKE_OUT} END",
)
"""The index and the triggers that keep it."""

FILL = (
    f"INSERT INTO {INDEX} (rowid, {_NAMES}) SELECT {_words('stored')} FROM trajectory_body AS stored "
    "LEFT JOIN json_each(stored.body, '$.steps') AS step ON step.type = 'object' "
    "WHERE stored.trajectory_id IN (SELECT trajectory_id FROM trajectory_body WHERE json_valid(body)) "
    "GROUP BY stored.trajectory_id"
)
"""Takes in every trajectory of a database from before there was the index."""


def make_text_index(connection: Connection) -> None:
    """Makes the empty index where the database is an SQLite that has FTS5; elsewhere a search reads every text."""
    if connection.dialect.name != "sqlite" or not _has_fts5(connection):
        return
    for statement in DEFINITION:
        connection.exec_driver_sql(statement)


def compact_text_index(connection: Connection) -> None:
    """Writes the index anew without the words of what was deleted, which it only marks otherwise."""
    if has_text_index(connection):
        connection.exec_driver_sql(f"INSERT INTO {INDEX} ({INDEX}) VALUES ('optimize')")


def has_text_index(connection: Connection) -> bool:
    """Whether the database has the index."""
    if connection.dialect.name != "sqlite":
        return False
    found = connection.exec_driver_sql(f"SELECT 1 FROM sqlite_master WHERE name = '{INDEX}'")
    return found.first() is not None


def _has_fts5(connection: Connection) -> bool:
    options = connection.exec_driver_sql("PRAGMA compile_options").scalars()
    return "ENABLE_FTS5" in set(options)


def _after_create(_target: MetaData, connection: Connection, **_: Any) -> None:
    make_text_index(connection)


event.listen(Table.metadata, "after_create", _after_create)
