"""The text index: an FTS5 table over the words of every trajectory, which triggers keep; SQLite alone has it.

It holds no text of its own, so what is deleted or changed is taken out by the words that stood there before. What is
new only waits: taking its words in costs as much as storing it, and is done in transactions of its own.
Alone beside the tables because no class stands for it.
"""

from typing import Any

from sqlalchemy import Connection, MetaData, event

from storage.tables.base import Table

INDEX = "trajectory_words"
WAITING = f"{INDEX}_waiting"
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


_NAMES = ", ".join(COLUMNS)
_IS_IN = f"EXISTS (SELECT 1 FROM {INDEX}_docsize WHERE id = old.trajectory_id)"
"""FTS5 takes what is asked to leave and was never in for a damaged file."""
_WAIT = f"INSERT OR IGNORE INTO {WAITING} VALUES (new.trajectory_id);"
_TAKE_OUT = (
    f"INSERT INTO {INDEX} ({INDEX}, rowid, {_NAMES}) SELECT 'delete', {_words('old')} "
    "FROM json_each(old.body, '$.steps') AS step WHERE step.type = 'object';"
)
_CHANGES = "old.body <> new.body"

DEFINITION = (
    f"CREATE VIRTUAL TABLE {INDEX} USING fts5({_NAMES}, content='', tokenize=\"unicode61 remove_diacritics 2\")",
    f"CREATE TABLE {WAITING} (trajectory_id INTEGER PRIMARY KEY)",
    f"CREATE TRIGGER {INDEX}_added AFTER INSERT ON trajectory_body BEGIN {_WAIT} END",
    f"CREATE TRIGGER {INDEX}_left BEFORE UPDATE OF body ON trajectory_body "
    f"WHEN {_CHANGES} AND {_IS_IN} BEGIN {_TAKE_OUT} END",
    f"CREATE TRIGGER {INDEX}_changed AFTER UPDATE OF body ON trajectory_body WHEN {_CHANGES} BEGIN {_WAIT} END",
    f"CREATE TRIGGER {INDEX}_removed BEFORE DELETE ON trajectory_body WHEN {_IS_IN} BEGIN {_TAKE_OUT} END",
    f"CREATE TRIGGER {INDEX}_gone AFTER DELETE ON trajectory_body "
    f"BEGIN DELETE FROM {WAITING} WHERE trajectory_id = old.trajectory_id; END",
    f"INSERT INTO {WAITING} SELECT trajectory_id FROM trajectory_body",
)
"""The index, what waits for it, and the triggers that keep both; all that is there already waits."""

_NEXT = f"SELECT trajectory_id FROM {WAITING} ORDER BY trajectory_id LIMIT 500"


def take_in(connection: Connection) -> int:
    """Takes the words of the next 500 waiting trajectories in; returns how many still wait. In a write transaction."""
    if not has_text_index(connection):
        return 0
    connection.exec_driver_sql(
        f"INSERT INTO {INDEX} (rowid, {_NAMES}) SELECT {_words('stored')} FROM trajectory_body AS stored "
        "LEFT JOIN json_each(stored.body, '$.steps') AS step ON step.type = 'object' "
        f"WHERE stored.trajectory_id IN (SELECT b.trajectory_id FROM ({_NEXT}) AS n JOIN trajectory_body AS b "
        "ON b.trajectory_id = n.trajectory_id WHERE json_valid(b.body)) GROUP BY stored.trajectory_id"
    )
    connection.exec_driver_sql(f"DELETE FROM {WAITING} WHERE trajectory_id IN ({_NEXT})")
    return waiting(connection)


def waiting(connection: Connection) -> int:
    """How many trajectories a search does not see yet."""
    if not has_text_index(connection):
        return 0
    return int(connection.exec_driver_sql(f"SELECT count(*) FROM {WAITING}").scalar_one())


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
