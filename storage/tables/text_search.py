"""The text index: an FTS5 table of the words in every trajectory, updated by triggers; `server_search` on PostgreSQL.

The index stores no text, so a trigger removes deleted or changed text by its old words. Triggers only queue new
trajectories. Separate transactions index their words, so that other writers do not wait long.
"""

from sqlalchemy import Connection

INDEX = "trajectory_words"
WAITING = f"{INDEX}_waiting"
COLUMNS = ("task", "actions", "observations", "thoughts")
"""The columns of the index: instruction and task id; actions, including a pending action; observations; thoughts."""


def _words(row: str) -> str:
    """Return the SQL of one row of the index: the trajectory's id and its texts."""
    step = "coalesce(group_concat(json_extract(step.value, '$.{0}'), char(10)), '')"
    task, pending = (
        f"coalesce(json_extract({row}.body, '$.{name}'), '')" for name in ("instruction", "critical_action")
    )
    key = f"coalesce(json_extract({row}.body, '$.task_id'), '')"
    texts = (
        f"{task} || char(10) || {key}",
        f"{step.format('action')} || char(10) || {pending}",
        step.format("observation"),
        step.format("thought"),
    )
    return f"{row}.trajectory_id, {', '.join(texts)}"


_NAMES = ", ".join(COLUMNS)
_IS_IN = f"EXISTS (SELECT 1 FROM {INDEX}_docsize WHERE id = old.trajectory_id)"
"""Condition for a removal: FTS5 reports a damaged file if SQL removes text that was never indexed."""
_WAIT = f"INSERT OR IGNORE INTO {WAITING} VALUES (new.trajectory_id);"
_TAKE_OUT = (
    f"INSERT INTO {INDEX} ({INDEX}, rowid, {_NAMES}) SELECT 'delete', {_words('old')} "
    "FROM json_each(old.body, '$.steps') AS step WHERE step.type = 'object';"
)
_CHANGES = "old.body <> new.body"

TOKENIZER = 'tokenize="unicode61 remove_diacritics 2"'
DEFINITION = (
    f"CREATE VIRTUAL TABLE {INDEX} USING fts5({_NAMES}, content='', {TOKENIZER})",
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
"""SQL that creates the index, its queue and the triggers of both, and queues existing trajectories."""

_NEXT = (
    f"SELECT w.trajectory_id, coalesce(length(b.body), 0) FROM {WAITING} AS w LEFT JOIN trajectory_body AS b "
    "ON b.trajectory_id = w.trajectory_id ORDER BY w.trajectory_id LIMIT 1000"
)
_MOST_CHARACTERS = 4 * 2**20
"""Maximum number of characters that one transaction indexes, except for those of its last trajectory."""
_INSERT = (
    f"INSERT INTO {INDEX} (rowid, {_NAMES}) SELECT {_words('stored')} FROM {WAITING} AS w "
    "CROSS JOIN trajectory_body AS stored LEFT JOIN json_each(stored.body, '$.steps') AS step ON step.type = 'object' "
    "WHERE w.trajectory_id <= ? AND stored.trajectory_id = w.trajectory_id AND json_valid(stored.body) "
    "GROUP BY w.trajectory_id"
)


def index_queued(connection: Connection) -> int:
    """Index the next queued trajectories within a write transaction; return the number of trajectories still queued."""
    last = characters = 0
    for key, length in connection.exec_driver_sql(_NEXT).all():
        last, characters = key, characters + length
        if characters > _MOST_CHARACTERS:
            break
    connection.exec_driver_sql(_INSERT, (last,))
    connection.exec_driver_sql(f"DELETE FROM {WAITING} WHERE trajectory_id <= ?", (last,))
    return waiting(connection)


def waiting(connection: Connection) -> int:
    """Return the number of trajectories in the queue of the index."""
    return int(connection.exec_driver_sql(f"SELECT count(*) FROM {WAITING}").scalar_one())


def compact_text_index(connection: Connection) -> None:
    """Rewrite an SQLite index without the words of deleted text; a deletion itself only marks them."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"INSERT INTO {INDEX} ({INDEX}) VALUES ('optimize')")
