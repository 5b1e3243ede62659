"""The stored counts of each run, by blocks of 1,024 trajectory ids, so that a page does not count all rows of a run.

Triggers mark the block of each changed row. A reader takes the stored counts of the marked blocks out of the stored
totals and adds counts of the rows in these blocks, in one statement, so its counts are always exact. `fold` stores the
counts of marked blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import Any

from sqlalchemy import Connection, TextClause, inspect, text

from storage.engine import borrow, check_file, engine, give_back
from storage.tables import IS_CURRENT

COUNTS, CHANGED = "run_count", "run_count_changed"
_BLOCK, _AT_ONCE = 1_024, 64
_TOTAL = -1
"""The block of a run's stored totals, which include the stored counts of marked blocks."""
MANY = 16
"""The number of marked blocks from which a reader stores their counts."""
# Any fixed number will do: one process at a time stores counts in a PostgreSQL database.
_ADVISORY_LOCK = 7_142_038

_TRAJECTORIES = """
SELECT r.run_id, r.id / {size} AS block, r.trial,
       r.outcome || CASE WHEN r.carried_over THEN ' carried' ELSE '' END
                 || CASE WHEN r.released_by IS NULL THEN '' ELSE ' released' END AS name,
       '' AS who, count(*) AS n, {never}
FROM {rows} WHERE {among} GROUP BY 1, 2, 3, 4
UNION ALL
SELECT r.run_id, r.id / {size}, 0, 'import ' || r.import_id, '', count(*), {never}
FROM {rows} WHERE {among} AND r.import_id IS NOT NULL GROUP BY 1, 2, 4"""
_TASKS = """
SELECT r.run_id, r.id / {size} AS block, 0 AS trial, 'tasks' AS name, '' AS who, count(*) AS n, {never}
FROM {rows} WHERE {among} GROUP BY 1, 2"""
# A trajectory counts once under each name.
_ITEMS = """
SELECT s.run_id, s.trajectory_id / {size} AS block, s.trial, names.name, '' AS who,
       count(DISTINCT s.trajectory_id) AS n, CAST(NULL AS BIGINT) AS last_ms
FROM (SELECT r.run_id, r.trial, r.trajectory_id, r.kind = 'halted' AS is_halted, r.reviews_required = 0 AS is_logged,
             EXISTS (SELECT 1 FROM audit_draw d WHERE d.trajectory_id = r.trajectory_id AND d.step = r.step
                     AND d.kind = r.kind AND d.number < d.probability) AS is_audit
      FROM {rows} WHERE {among} AND NOT EXISTS (SELECT 1 FROM seeded_item k WHERE k.item_id = r.id)) AS s
CROSS JOIN (SELECT 'flagged' AS name UNION ALL SELECT 'stuck' UNION ALL SELECT 'audits' UNION ALL SELECT 'logged')
     AS names
WHERE CASE names.name WHEN 'stuck' THEN s.is_halted WHEN 'audits' THEN s.is_audit AND NOT s.is_halted
      WHEN 'logged' THEN s.is_logged AND NOT s.is_halted
      ELSE NOT (s.is_halted OR s.is_audit OR s.is_logged) END
GROUP BY 1, 2, 3, 4"""
_DECISIONS = """
SELECT r.run_id, r.trajectory_id / {size} AS block, r.trial,
       d.decision || CASE WHEN k.item_id IS NULL THEN '' ELSE ' known' END
                  || CASE WHEN d.annotator_kind = 'human' THEN '' ELSE ' simulated' END AS name,
       d.reviewer AS who, count(*) AS n, max(CASE WHEN d.door <> 'import' THEN d.decided_ms END) AS last_ms
FROM {rows} JOIN decision d ON d.item_id = r.id LEFT JOIN seeded_item k ON k.item_id = r.id
WHERE {among} AND {current} GROUP BY 1, 2, 3, 4, 5
UNION ALL
SELECT r.run_id, r.trajectory_id / {size}, r.trial, 'inspected', '', count(DISTINCT r.trajectory_id), {never}
FROM {rows} JOIN decision d ON d.item_id = r.id
WHERE {among} AND {current} AND NOT EXISTS (SELECT 1 FROM seeded_item k WHERE k.item_id = r.id)
GROUP BY 1, 2, 3"""


_JUDGED = """
SELECT r.run_id, r.id / {size} AS block, r.trial, v.detector AS name, '' AS who, count(DISTINCT r.id) AS n, {never}
FROM {rows} JOIN verdict v ON v.trajectory_id = r.id WHERE {among} AND NOT r.carried_over GROUP BY 1, 2, 3, 4"""
_PENDING = """
SELECT r.run_id, r.trajectory_id / {size} AS block, r.trial, r.kind AS name, '' AS who, count(*) AS n, {never}
FROM {rows} WHERE {among} AND r.open_slots > 0 GROUP BY 1, 2, 3, 4"""
# Each line has this key once in the JSON of its table; a text in the JSON has its quotation marks escaped.
_LINES = """
SELECT r.run_id, r.block, 0 AS trial, v.detector AS name, '' AS who,
       sum(length(v.requirements) - length(replace(v.requirements, '"standing":', ''))) / 11 AS n, {never}
FROM (SELECT DISTINCT r.run_id, r.trajectory_id / {size} AS block, r.verdict_id FROM {rows} WHERE {among}
      AND (EXISTS (SELECT 1 FROM decision d WHERE d.item_id = r.id AND {current} AND d.decision <> 'escalate')
           OR EXISTS (SELECT 1 FROM line_correction c WHERE c.item_id = r.id))) AS r
JOIN verdict v ON v.id = r.verdict_id WHERE v.requirements IS NOT NULL GROUP BY 1, 2, 4"""
_DAYS = """
SELECT r.run_id, r.trajectory_id / {size} AS block, 0 AS trial, CAST(d.decided_ms / 86400000 AS TEXT) AS name,
       d.reviewer AS who, count(*) AS n, CAST(NULL AS BIGINT) AS last_ms
FROM {rows} JOIN decision d ON d.item_id = r.id
WHERE {among} AND {current} AND d.decision <> 'escalate' GROUP BY 1, 2, 4, 5"""


@dataclass(frozen=True, slots=True)
class _Part:
    """What is counted of a table's rows: the table, the column that places a row in a block, and the select."""

    table: str
    key: str
    select: str

    def over(self, blocks: str, condition: str = "true") -> str:
        """Return the select over the blocks of a subquery, or over all blocks if the subquery is empty."""
        rows, among = f"{self.table} r", condition
        if blocks:
            rows = f"({blocks}) AS m CROSS JOIN {rows}"
            first = f"m.block * {_BLOCK}"
            among = f"r.{self.key} >= {first} AND r.{self.key} < {first} + {_BLOCK} AND {condition}"
        never = "CAST(NULL AS BIGINT) AS last_ms"
        return self.select.format(size=_BLOCK, rows=rows, among=among, current=IS_CURRENT, never=never)


PARTS = {
    "trajectory": _Part("trajectory", "id", _TRAJECTORIES),
    "task": _Part("task", "id", _TASKS),
    "item": _Part("item", "trajectory_id", _ITEMS),
    "decision": _Part("item", "trajectory_id", _DECISIONS),
    "judged": _Part("trajectory", "id", _JUDGED),
    "pending": _Part("item", "trajectory_id", _PENDING),
    "lines": _Part("item", "trajectory_id", _LINES),
    "days": _Part("item", "trajectory_id", _DAYS),
}
"""The parts of the counts by name. `who` and `last_ms`, the time of the latest decision made here, are of decisions.

By detector, `judged` counts attempts and `lines` the requirement lines of reviewed items. `pending` counts items by
kind, and `days` decisions without escalations by day since 1970 and reviewer.
"""


@dataclass(frozen=True, slots=True)
class _Watched:
    """A table with counted rows: the parts that it changes, the columns that matter, and a row's trajectory or task."""

    parts: tuple[str, ...]
    columns: str
    key: str = "{row}.trajectory_id"
    table: str = ""
    acts: tuple[str, ...] = ("insert", "update", "delete", "truncate")


_OF_ITEM = "(SELECT i.trajectory_id FROM item i WHERE i.id = {row}.item_id)"
_OF_DECISION = "item_id, reviewer, annotator_kind, decision, door, decided_ms, superseded"
_WATCHED: Mapping[str, _Watched] = {
    "trajectory": _Watched(
        ("trajectory", "judged"), "id, run_id, trial, outcome, carried_over, released_by, import_id", "{row}.id"
    ),
    "task": _Watched(("task",), "id, run_id", "{row}.id"),
    "verdict": _Watched(("judged", "lines"), "trajectory_id, detector, requirements"),
    "item": _Watched(
        ("item", "decision", "pending", "lines", "days"), "run_id, trial, trajectory_id, step, kind, reviews_required"
    ),
    "item_slots": _Watched(("pending", "lines"), "open_slots, verdict_id", table="item", acts=("update",)),
    "audit_draw": _Watched(("item",), "trajectory_id, step, kind, number, probability"),
    "seeded_item": _Watched(("item", "decision"), "item_id, trajectory_id"),
    "decision": _Watched(("decision", "lines", "days"), _OF_DECISION, _OF_ITEM),
    "line_correction": _Watched(("lines",), "item_id", _OF_ITEM),
}

_START_AGAIN = f"DELETE FROM {COUNTS}", *(
    f"INSERT INTO {CHANGED} (part, block) SELECT DISTINCT '{name}', {part.key} / {_BLOCK} FROM {part.table} "
    "WHERE true ON CONFLICT DO NOTHING"
    for name, part in PARTS.items()
)  # fmt: skip
_TABLE = (
    f"CREATE TABLE {COUNTS} (run_id INTEGER NOT NULL, part TEXT NOT NULL, block INTEGER NOT NULL, "
    "trial INTEGER NOT NULL, name TEXT NOT NULL, who TEXT NOT NULL, n INTEGER NOT NULL, last_ms BIGINT, "
    "PRIMARY KEY (run_id, part, block, trial, name, who))"
)
_LAST = f"ix_{COUNTS}_last"
_INDEXES = (
    f"CREATE INDEX ix_{COUNTS}_block ON {COUNTS} (part, block)",
    # The latest decision of a reviewer, without the times of all blocks.
    f"CREATE INDEX {_LAST} ON {COUNTS} (run_id, part, trial, name, who, last_ms) WHERE last_ms IS NOT NULL",
)


def _differ(columns: str, unlike: str) -> str:
    return " OR ".join(f"OLD.{column} {unlike} NEW.{column}" for column in columns.split(", "))


def _sqlite() -> Iterator[str]:
    yield f"{_TABLE} WITHOUT ROWID"
    marks = "part TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (part, block)"
    yield f"CREATE TABLE {CHANGED} ({marks}) WITHOUT ROWID"
    yield from _INDEXES
    changed = {"insert": ("NEW",), "update": ("OLD", "NEW"), "delete": ("OLD",), "truncate": ()}
    for name, watched in _WATCHED.items():
        table = watched.table or name
        for act, rows in ((act, changed[act]) for act in watched.acts if changed[act]):
            is_update = act == "update"
            event = f"UPDATE OF {watched.columns} ON {table} WHEN {_differ(watched.columns, 'IS NOT')}"
            marks = "".join(
                f"INSERT INTO {CHANGED} SELECT '{part}', {key} / {_BLOCK} WHERE {key} IS NOT NULL "
                "ON CONFLICT DO NOTHING; "
                for part in watched.parts
                for key in (watched.key.format(row=row) for row in rows)
            )
            event = event if is_update else f"{act.upper()} ON {table}"
            yield f"CREATE TRIGGER {COUNTS}_{name}_{act} AFTER {event} BEGIN {marks}END"


def _postgresql() -> Iterator[str]:
    yield _TABLE
    # With its transaction in the key, a mark never waits for the mark of another transaction.
    yield (
        f"CREATE TABLE {CHANGED} (part TEXT NOT NULL, block INTEGER NOT NULL, "
        "writer xid8 NOT NULL DEFAULT pg_current_xact_id(), PRIMARY KEY (part, block, writer))"
    )
    yield from _INDEXES
    for name, watched in _WATCHED.items():
        parts = ", ".join(f"('{part}')" for part in watched.parts)
        old, new, row = (watched.key.format(row=row) for row in ("OLD", "NEW", "r"))
        mark = (
            f"INSERT INTO {CHANGED} (part, block) SELECT DISTINCT p.part, k.id / {_BLOCK} FROM ({{keys}}) AS k(id) "
            f"CROSS JOIN (VALUES {parts}) AS p(part) WHERE k.id IS NOT NULL ON CONFLICT DO NOTHING;"
        )
        of_update = mark.format(keys=f"SELECT {old} UNION SELECT {new}")
        of_rows = mark.format(keys=f"SELECT {row} FROM changed_rows r")
        yield (
            f"CREATE FUNCTION {COUNTS}_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF TG_OP = 'UPDATE' THEN {of_update} ELSIF TG_OP = 'TRUNCATE' THEN {'; '.join(_START_AGAIN)}; "
            f"ELSE {of_rows} END IF; RETURN NULL; END $$"
        )
        differ = _differ(watched.columns, "IS DISTINCT FROM")
        events = {
            "insert": "INSERT ON {} REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT",
            "delete": "DELETE ON {} REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT",
            "update": f"UPDATE OF {watched.columns} ON {{}} FOR EACH ROW WHEN ({differ})",
            "truncate": "TRUNCATE ON {} FOR EACH STATEMENT",
        }
        for act in watched.acts:
            on = events[act].format(watched.table or name)
            yield f"CREATE TRIGGER {COUNTS}_{name}_{act} AFTER {on} EXECUTE FUNCTION {COUNTS}_{name}()"


def _drop(connection: Connection) -> None:
    """Drop the tables, triggers and functions of another version, if there are any."""
    made = (
        f"SELECT 'FUNCTION IF EXISTS ' || proname || '() CASCADE' FROM pg_proc WHERE starts_with(proname, '{COUNTS}')"
    )
    if connection.dialect.name == "sqlite":
        made = f"SELECT 'TRIGGER ' || name FROM sqlite_master WHERE type = 'trigger' AND name LIKE '{COUNTS}%'"
    found = connection.exec_driver_sql(made).scalars().all()
    for dropped in (*found, f"TABLE IF EXISTS {COUNTS}", f"TABLE IF EXISTS {CHANGED}"):
        connection.exec_driver_sql(f"DROP {dropped}")


def make_run_counts(connection: Connection) -> None:
    """Create the tables and triggers, and store the counts of existing rows; do nothing if they are up to date."""
    found = inspect(connection)
    if found.has_table(COUNTS) and _LAST in [index["name"] for index in found.get_indexes(COUNTS)]:
        return
    _drop(connection)
    for statement in _sqlite() if connection.dialect.name == "sqlite" else _postgresql():
        connection.exec_driver_sql(statement)
    start_again(connection)


def start_again(connection: Connection) -> None:
    """Discard all stored counts and store them again."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
    for statement in _START_AGAIN:
        connection.exec_driver_sql(statement)

    def run(statement: str) -> Sequence[Any]:
        found = connection.exec_driver_sql(statement)
        return found.all() if found.returns_rows else ()

    while _store(run):
        pass


def read(
    connection: Connection, run_id: int, *parts: str, who: str | None = None
) -> list[tuple[int, str, str, int, int | None]]:
    """Return (trial, name, who, number, latest time in ms or None) of the run's rows of these parts, or of `who`."""
    rows = connection.execute(_reading(parts, who is not None), {"run": run_id, "who": who})
    return [(trial, name, of, int(n), last_ms) for trial, name, of, n, last_ms in rows]


@cache
def _reading(parts: tuple[str, ...], by_one: bool) -> TextClause:
    columns, selects = "trial, name, who, n, last_ms", []
    by = " AND who = :who" if by_one else ""
    for name in parts:
        of_part = f"run_id = :run AND part = '{name}'"
        # The time of a total cannot do without the times of marked blocks.
        last = (
            f"(SELECT last_ms FROM {COUNTS} c WHERE c.{of_part} AND c.trial = t.trial AND c.name = t.name "
            f"AND c.who = t.who AND last_ms IS NOT NULL AND {_IS_UNMARKED} ORDER BY last_ms DESC LIMIT 1)"
        )
        stored = f"SELECT trial, name, who, {{}} AS n, {{}} AS last_ms FROM {COUNTS} t WHERE {of_part}{by} AND block"
        selects.append(f"{stored.format('n', last if name == 'decision' else 'last_ms')} = {_TOTAL}")
        marked = f"SELECT block FROM marked_{name}"
        selects.append(f"{stored.format('-n', 'CAST(NULL AS BIGINT)')} IN ({marked})")
        # Adding 0 hides the indexes that begin with the run, so that only the rows of the marked blocks are read.
        counted = PARTS[name].over(marked, "r.run_id + 0 = :run")
        selects.append(f"SELECT {columns} FROM ({counted}) AS part_{name} WHERE true{by}")
    rows = f"({' UNION ALL '.join(selects)}) AS every"
    # PostgreSQL starts no parallel workers for the scan of a named query: they would take most of the time.
    grouped = "GROUP BY trial, name, who HAVING sum(n) <> 0 ORDER BY trial, name, who"
    known = (f"marked_{name} AS (SELECT DISTINCT block FROM {CHANGED} WHERE part = '{name}')" for name in parts)
    return text(f"WITH {', '.join(known)} SELECT trial, name, who, sum(n), max(last_ms) FROM {rows} {grouped}")


_IS_UNMARKED = f"NOT EXISTS (SELECT 1 FROM {CHANGED} m WHERE m.part = c.part AND m.block = c.block)"


def fold(url: str, seconds: float | None = None, *, least: int = MANY) -> None:
    """Store the counts of the marked blocks if there are at least so many, for about `seconds` or until all are stored.

    Do nothing if another process is writing to SQLite or storing counts, or if the database cannot be written: readers
    then count the rows in the marked blocks.
    """
    opened = engine(url, writes=True)
    end = None if seconds is None else monotonic() + seconds
    check_file(opened)
    connection = borrow(opened, waits=False)
    try:
        cursor = connection.cursor()

        def run(statement: str) -> list[Any]:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

        left = len(run(f"SELECT DISTINCT part, block FROM {CHANGED} LIMIT {least}")) >= least
        while left and (end is None or monotonic() < end):
            connection.rollback()
            if opened.dialect.name == "sqlite":
                run("BEGIN IMMEDIATE")
            elif run(f"SELECT pg_try_advisory_xact_lock({_ADVISORY_LOCK})") != [(True,)]:
                return
            left = _store(run)
            connection.commit()
    except opened.dialect.loaded_dbapi.DatabaseError:
        return
    finally:
        connection.rollback()
        give_back(opened, connection, waits=False)


def _store(run: Callable[[str], Sequence[Any]]) -> bool:
    """Store the counts of some marked blocks within a write transaction; return whether any blocks were marked."""
    marked = run(f"SELECT DISTINCT part, block FROM {CHANGED} ORDER BY part, block LIMIT {_AT_ONCE}")
    for name, part in PARTS.items():
        blocks = [block for of_part, block in marked if of_part == name]
        if blocks:
            own = f"part = '{name}' AND block IN ({', '.join(map(str, blocks))})"
            # Unmarked first: a row that another transaction changes later is marked again.
            run(f"DELETE FROM {CHANGED} WHERE {own}")
            _take_out(run, own)
            among = part.over(" UNION ALL ".join(f"SELECT {block} AS block" for block in blocks))
            run(
                f"INSERT INTO {COUNTS} SELECT run_id, '{name}', block, trial, name, who, n, last_ms FROM ({among}) AS c"
            )
            run(_ADD_UP.format(n="sum(n)", own=own))
            run(f"DELETE FROM {COUNTS} WHERE part = '{name}' AND block = {_TOTAL} AND n = 0")
    return bool(marked)


def _take_out(run: Callable[[str], object], own: str) -> None:
    """Delete the stored counts of some blocks, and take them out of the totals."""
    run(_ADD_UP.format(n="-sum(n)", own=own))
    run(f"DELETE FROM {COUNTS} WHERE {own}")


def forget_reviewers(connection: Connection) -> None:
    """Delete the stored counts of decisions that have changed, so that no name stays in them."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
    for part in ("decision", "days"):
        own = f"part = '{part}' AND block IN (SELECT block FROM {CHANGED} WHERE part = '{part}')"
        _take_out(connection.exec_driver_sql, own)
        connection.exec_driver_sql(f"DELETE FROM {COUNTS} WHERE part = '{part}' AND block = {_TOTAL} AND n = 0")


_ADD_UP = f"""
INSERT INTO {COUNTS} (run_id, part, block, trial, name, who, n)
SELECT run_id, part, {_TOTAL}, trial, name, who, {{n}} FROM {COUNTS} WHERE {{own}}
GROUP BY run_id, part, trial, name, who
ON CONFLICT (run_id, part, block, trial, name, who) DO UPDATE SET n = {COUNTS}.n + excluded.n"""


def wrong_counts() -> str:
    """Return the statement that finds (run, part, first id of the block) of wrong stored counts."""
    plain = [
        f"SELECT run_id, '{name}' AS part, block, trial, name, who, n, last_ms FROM ({part.over('')}) AS of_{name}"
        for name, part in PARTS.items()
    ]
    totals = f"SELECT run_id, part, {_TOTAL}, trial, name, who, sum(n), CAST(NULL AS BIGINT) FROM {COUNTS}"
    plain.append(f"{totals} WHERE block >= 0 GROUP BY run_id, part, trial, name, who")
    stored, counted = (
        f"SELECT run_id, part, block, trial, name, who, n, last_ms FROM {rows} c WHERE {_IS_UNMARKED}"
        for rows in (COUNTS, f"({' UNION ALL '.join(plain)})")
    )
    ways = [f"SELECT * FROM ({one} EXCEPT {other}) AS more" for one, other in ((stored, counted), (counted, stored))]
    return (
        f"SELECT coalesce(r.name, CAST(w.run_id AS TEXT)), w.part, w.block * {_BLOCK} FROM ({' UNION '.join(ways)}) "
        "AS w LEFT JOIN run r ON r.id = w.run_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
