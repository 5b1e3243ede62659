"""The text index: an FTS5 table of the words in every trajectory, updated by triggers; only on SQLite.

The index stores no text, so a trigger removes deleted or changed text by its old words. Triggers only queue new
trajectories. Separate transactions index their words, so that other writers do not wait long.
"""

from collections.abc import Iterator
from contextlib import closing

import orjson
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
"""SQL that creates the index, its queue and the triggers of both, and queues existing trajectories."""

_MOST, _MOST_CHARACTERS = 1_000, 4 * 2**20
"""Maximum numbers of trajectories and characters that one transaction indexes."""
_TEXTS = ("action", "observation", "thought")
_INSERT = f"INSERT INTO {INDEX} (rowid, {_NAMES}) VALUES (?, ?, ?, ?, ?)"
_INSERT_AS_TRIGGERS_DO = (
    f"INSERT INTO {INDEX} (rowid, {_NAMES}) SELECT {_words('stored')} FROM trajectory_body AS stored "
    "LEFT JOIN json_each(stored.body, '$.steps') AS step ON step.type = 'object' "
    "WHERE stored.trajectory_id = ? AND json_valid(stored.body) GROUP BY stored.trajectory_id"
)


def index_queued(connection: Connection) -> int:
    """Index the next queued trajectories within a write transaction; return the number of trajectories still queued."""
    if not has_text_index(connection):
        return 0
    rows, others, last = [], [], 0
    for last, body in _next(connection):
        words = _words_of(body)
        if words is None:
            others.append((last,))
        else:
            rows.append((last, *words))
    if rows:
        connection.exec_driver_sql(_INSERT, rows)
    for one in others:
        connection.exec_driver_sql(_INSERT_AS_TRIGGERS_DO, one)
    connection.exec_driver_sql(f"DELETE FROM {WAITING} WHERE trajectory_id <= ?", (last,))
    return waiting(connection)


def _next(connection: Connection) -> Iterator[tuple[int, str]]:
    """Yield (id, record) of the next trajectories to index; a deleted trajectory has an empty record."""
    waiting = connection.exec_driver_sql(
        f"SELECT w.trajectory_id, coalesce(b.body, '') FROM {WAITING} AS w LEFT JOIN trajectory_body AS b "
        f"ON b.trajectory_id = w.trajectory_id ORDER BY w.trajectory_id LIMIT {_MOST}"
    )
    characters = 0
    with closing(waiting):
        for key, body in waiting:
            yield key, body
            characters += len(body)
            if characters > _MOST_CHARACTERS:
                return


def _words_of(body: str) -> tuple[str, ...] | None:
    """Return the columns that SQL would compute for the record, at two thirds of the cost; None if only SQL can do so.

    SQL computes the text to remove from the index, so both results must be equal. The results differ for a NUL, so only
    SQL handles such records.
    """
    if "\\u0000" in body:
        return None
    try:
        record = orjson.loads(body)
        steps = [step for step in record["steps"] if isinstance(step, dict)]
        pending = record.get("critical_action") or ""
        action, observation, thought = ("\n".join([step[name] for step in steps]) for name in _TEXTS)
        task = f"{_text(record['instruction'])}\n{_text(record['task_id'])}"
        return task, f"{action}\n{_text(pending)}", observation, thought
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def waiting(connection: Connection) -> int:
    """Return the number of trajectories in the queue of the index."""
    if not has_text_index(connection):
        return 0
    return int(connection.exec_driver_sql(f"SELECT count(*) FROM {WAITING}").scalar_one())


_OF_STEPS = {"actions": "action", "observations": "observation", "thoughts": "thought"}
_READ = {
    "sqlite": (
        "CASE WHEN json_valid({body}) THEN {part} ELSE {body} END",
        "json_extract({body}, '$.{name}')",
        "(SELECT json_group_array(json_extract(value, '$.{name}')) FROM json_each({body}, '$.steps'))",
    ),
    "postgresql": (
        "CASE WHEN position('\\u0000' in {body}) = 0 THEN {part} ELSE {body} END",
        "CAST(CAST({body} AS jsonb) -> '{name}' AS text)",
        "CAST(jsonb_path_query_array(CAST({body} AS jsonb), '$.steps[*].{name}') AS text)",
    ),
}
"""SQL per dialect for a search without the index: a part of a readable record, one field, one field of all steps."""


def text_of(place: str, dialect: str, body: str = "trajectory_body.body") -> str:
    """Return the SQL of one column's text, for a search without the index."""
    whole, field, steps = _READ[dialect]
    fields = ("instruction", "task_id") if place == "task" else ("critical_action",) if place == "actions" else ()
    parts = [f"coalesce({field.format(body=body, name=name)}, '')" for name in fields]
    parts += [steps.format(body=body, name=_OF_STEPS[place])] if place in _OF_STEPS else []
    return whole.format(body=body, part=" || ' ' || ".join(parts))


def compact_text_index(connection: Connection) -> None:
    """Rewrite the index without the words of deleted text; a deletion itself only marks them."""
    if has_text_index(connection):
        connection.exec_driver_sql(f"INSERT INTO {INDEX} ({INDEX}) VALUES ('optimize')")


def has_text_index(connection: Connection) -> bool:
    """Return whether the database has the text index."""
    if connection.dialect.name != "sqlite":
        return False
    found = connection.exec_driver_sql(f"SELECT 1 FROM sqlite_master WHERE name = '{INDEX}'")
    return found.first() is not None
