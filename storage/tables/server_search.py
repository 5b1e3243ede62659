"""The text index on PostgreSQL: each trajectory's words as a tsvector, updated by triggers like the index on SQLite.

An SQLite index in memory finds the words, so that a search has the same results on both databases. The tsvector has no
places: `plain` holds the words of each column in their order, for phrases and for searches in one column.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, create_engine, false, literal_column, select, text

from storage.tables import text_search
from storage.tables.text_search import COLUMNS, INDEX, WAITING

_CHANGED = f"""CREATE FUNCTION {INDEX}_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF TG_OP = 'TRUNCATE' THEN DELETE FROM {INDEX}; DELETE FROM {WAITING}; RETURN NULL; END IF;
IF TG_OP = 'DELETE' THEN DELETE FROM {WAITING} WHERE trajectory_id = OLD.trajectory_id;
ELSE INSERT INTO {WAITING} VALUES (NEW.trajectory_id)
    ON CONFLICT (trajectory_id) DO UPDATE SET trajectory_id = excluded.trajectory_id; END IF;
IF TG_OP <> 'INSERT' THEN DELETE FROM {INDEX} WHERE trajectory_id = OLD.trajectory_id; END IF;
RETURN NULL; END $$"""
_TRIGGER = f"CREATE TRIGGER {INDEX}_%s AFTER %s ON trajectory_body FOR EACH %s EXECUTE FUNCTION {INDEX}_changed()"
DEFINITION = (
    f"CREATE TABLE {INDEX} (trajectory_id INTEGER PRIMARY KEY, words tsvector NOT NULL, plain TEXT[] NOT NULL)",
    f"CREATE INDEX {INDEX}_words ON {INDEX} USING gin (words)",
    f"CREATE TABLE {WAITING} (trajectory_id INTEGER PRIMARY KEY)",
    _CHANGED,
    _TRIGGER % ("added", "INSERT", "ROW"),
    _TRIGGER % ("changed", "UPDATE OF body", "ROW WHEN (OLD.body <> NEW.body)"),
    _TRIGGER % ("removed", "DELETE", "ROW"),
    _TRIGGER % ("emptied", "TRUNCATE", "STATEMENT"),
    f"INSERT INTO {WAITING} SELECT trajectory_id FROM trajectory_body",
)
"""SQL that creates the index, its queue and their triggers, and queues existing trajectories."""

_NEXT = (
    f"SELECT w.trajectory_id, coalesce(octet_length(b.body), 0) FROM {WAITING} w LEFT JOIN trajectory_body b "
    "ON b.trajectory_id = w.trajectory_id ORDER BY w.trajectory_id LIMIT 500 FOR UPDATE OF w SKIP LOCKED"
)
_MOST_CHARACTERS, _MOST_BYTES, _LONGEST_WORD = 2**21, 900_000, 500
_HUGE = " huge"
"""The only word of a text with more words than a tsvector holds; no search for a text has a word with a blank."""


def index_queued(connection: Connection) -> int:
    """Index the next queued trajectories within a write transaction; return the number of trajectories still queued.

    Rows that another process is indexing do not count if no others are left.
    """
    # Locked before they are read: a record that changes later is queued again.
    ids, characters = [], 0
    for key, length in connection.exec_driver_sql(_NEXT):
        if characters <= _MOST_CHARACTERS:
            ids.append(key)
        characters += length
    if not ids:
        return 0
    stored = "SELECT trajectory_id, body FROM trajectory_body WHERE trajectory_id = ANY(%s)"
    rows = _read_words(connection.exec_driver_sql(stored, (ids,)).all())
    for table in (INDEX, WAITING):
        connection.exec_driver_sql(f"DELETE FROM {table} WHERE trajectory_id = ANY(%s)", (ids,))
    if rows:
        connection.exec_driver_sql(f"INSERT INTO {INDEX} VALUES (%s, array_to_tsvector(%s), %s)", rows)
    return text_search.waiting(connection)


def _read_words(bodies: Sequence[Sequence[object]]) -> list[tuple[int, list[str], list[str]]]:
    """Return (id, words, words in order by column) of each record, as an SQLite index of these records has them."""
    found: defaultdict[int, dict[str, list[tuple[int, str]]]] = defaultdict(lambda: {name: [] for name in COLUMNS})
    made = create_engine("sqlite://")
    with made.connect() as memory:
        # JSON can contain half of a character, which has no UTF-8.
        driver: Any = memory.connection.driver_connection
        driver.text_factory = lambda word: word.decode(errors="replace")
        memory.exec_driver_sql("CREATE TABLE trajectory_body (trajectory_id INTEGER PRIMARY KEY, body TEXT)")
        for statement in text_search.DEFINITION:
            memory.exec_driver_sql(statement)
        memory.exec_driver_sql("INSERT INTO trajectory_body VALUES (?, ?)", [tuple(row) for row in bodies])
        while text_search.index_queued(memory):
            pass
        memory.exec_driver_sql(f"CREATE VIRTUAL TABLE temp.found USING fts5vocab(main, {INDEX}, instance)")
        for key, column, place, word in memory.exec_driver_sql('SELECT doc, col, "offset", term FROM temp.found'):
            found[key][column].append((place, word[:_LONGEST_WORD]))
    made.dispose()
    rows = []
    for key, columns in found.items():
        different = {word for words in columns.values() for _, word in words}
        is_huge = sum(len(word.encode()) for word in different) > _MOST_BYTES
        plain = [f" {' '.join(word for _, word in sorted(words))} " for words in columns.values()]
        rows.append((key, [_HUGE] if is_huge else list(different), plain))
    return rows


def find_words(words: Sequence[str], column: str | None) -> ColumnElement[bool]:
    """Return an SQL condition for trajectories with all words in the column, or anywhere if the column is None.

    A word that ends in `*` is a prefix; a word of several parts such as `rm-rf` is a phrase.
    """
    phrases = [(parts, word.endswith("*")) for word, parts in zip(words, _split(words), strict=True) if parts]
    if not phrases:
        return false()
    exact = [part for parts, is_prefix in phrases for part in (parts[:-1] if is_prefix else parts)]
    query = " & ".join([f"'{part}'" for part in exact] + [f"'{parts[-1]}':*" for parts, star in phrases if star])
    # A tsvector of one word may be that of a huge text.
    is_sure = column is None and all(len(parts) == 1 for parts, _ in phrases)
    read = "array_to_string(plain, chr(10))" if column is None else f"plain[{COLUMNS.index(column) + 1}]"
    likes = {f"like{at}": f"% {' '.join(parts)}{'' if star else ' '}%" for at, (parts, star) in enumerate(phrases)}
    is_there = " AND ".join(f"{read} LIKE :{name}" for name in likes)
    condition = f"words @@ CAST(:query AS tsquery) AND ({'length(words) > 1 OR ' if is_sure else ''}({is_there}))"
    ids: Select[Any] = select(literal_column("trajectory_id")).select_from(text(INDEX))
    found = ids.where(text(condition).bindparams(query=f"({query}) | '{_HUGE}'", **likes))
    return literal_column("trajectory.id").in_(found)


def _split(words: Sequence[str]) -> list[list[str]]:
    """Return the parts of each word as the index has them."""
    found: list[list[str]] = [[] for _ in words]
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(f"CREATE VIRTUAL TABLE sought USING fts5(word, {text_search.TOKENIZER})")
        memory.executemany("INSERT INTO sought (rowid, word) VALUES (?, ?)", enumerate(words))
        memory.execute("CREATE VIRTUAL TABLE temp.found USING fts5vocab(main, sought, instance)")
        for at, part in memory.execute('SELECT doc, term FROM temp.found ORDER BY doc, "offset"'):
            found[at].append(part[:_LONGEST_WORD])
    return found
