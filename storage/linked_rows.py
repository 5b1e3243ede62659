"""The rows that the audit chain covers, with their columns by part, their digests and their triggers.

On each connection of the console, triggers note the changed rows in a temporary table, and the commit links these rows.
Changes by another program have no note and no link, so `db check` finds them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson

_SIZE = 32
"""Number of hexadecimal digits in the digest of one part (128 bits)."""


@dataclass(frozen=True, slots=True)
class LinkedTable:
    """The linked columns of a table for who, what and when; `left_out` gives a reason for each other column.

    `run` is an SQL expression for the run of a row; by default the row is in the access chain. `only` is an SQL
    condition on {row}: the chain covers only rows that meet the condition.
    """

    who: tuple[str, ...] = ()
    what: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    run: str = "NULL"
    only: str = ""

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The linked columns by part, in the order of a digest."""
        return {"who": self.who, "what": self.what, "when": self.when}

    @property
    def columns(self) -> tuple[str, ...]:
        """The linked columns, in the order of a digest."""
        return self.who + self.what + self.when


def _names(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_SEEN = {"seen_ms": "changes with every request and grants nothing"}

LINKED: dict[str, LinkedTable] = {
    "ask": LinkedTable(
        who=("agent_id", "asker"),
        what=_names(
            "run_id digest trajectory_id item_id token step answer action decision_id policy_version rule tool"
        ),
        when=("asked_ms", "deadline_ms", "answered_ms"),
        left_out={
            "heartbeat_ms": "changes every two seconds of a wait; it can only end the wait",
            "beats": "says whether heartbeats are expected; it can only end the wait",
        },
        run="run_id",
    ),
    "item": LinkedTable(
        what=("run_id", "trajectory_id", "step", "kind", "terms"),
        when=("created_ms",),
        left_out={
            "trial": "the trial of its trajectory",
            "verdict_id": "points at what the detector said, which decides nothing",
            "priority": "the order in the queue",
            **dict.fromkeys(
                ("status", "open_slots", "reviews_required"), "the queue's count, compared with the slots and decisions"
            ),
        },
        run="run_id",
        only="{row}.terms <> '{{}}'",
    ),
    "decision": LinkedTable(
        who=("reviewer", "annotator_kind", "door"),
        what=_names(
            "item_id slot_id decision label feedback_type feedback_text edited_action action_digest submit_key "
            "revision superseded budget_cap budget_used seen_digest reason_codes marked_steps answers"
        ),
        when=("claimed_ms", "decided_ms", "withdrawn_ms", "delivered_ms"),
        left_out={"deliverable_ms": "the end of the undo time, which each next claim moves; delivery itself is linked"},
        run="(SELECT i.run_id FROM item i WHERE i.id = decision.item_id)",
    ),
    "intent": LinkedTable(
        what=("trajectory_id", "step", "action", "action_digest", "decision_id", "result_digest"),
        when=("started_ms", "finished_ms"),
        run="(SELECT t.run_id FROM trajectory t WHERE t.id = intent.trajectory_id)",
    ),
    "policy": LinkedTable(
        who=("author",), what=("run_id", "version", "text", "digest"), when=("created_ms",), run="run_id"
    ),
    "run": LinkedTable(
        what=_names(
            "name kind environment actor source_run_id study_id critical ends detector threshold seed budget_cap "
            "budget_percent halted_free feedback_mode reviews_per_item blind lease_ms undo_ms trials options tags hold"
        ),
        when=("created_ms", "archived_ms"),
        run="id",
    ),
    "person": LinkedTable(who=("name", "name_key"), what=("roles", "hold"), when=("created_ms", "disabled_ms")),
    "person_session": LinkedTable(
        who=("person_id", "browser", "address"),
        what=("token_hash",),
        when=("created_ms", "expires_ms", "ended_ms"),
        left_out=_SEEN,
    ),
    "invitation": LinkedTable(
        who=("person_id", "invited_by"), what=("token_hash", "roles"), when=("created_ms", "expires_ms", "used_ms")
    ),
    "agent": LinkedTable(
        who=("name", "name_key"),
        what=("token_hash", "old_token_hash"),
        when=("created_ms", "disabled_ms", "token_ms", "old_until_ms"),
        left_out=_SEEN,
    ),
    "run_access": LinkedTable(who=("entry", "entry_key"), what=("run_id",), run="run_id"),
    "group_member": LinkedTable(who=("name", "name_key", "person_id")),
    "agent_owner": LinkedTable(who=("agent_id", "owner")),
    "carried_check": LinkedTable(
        who=("agent_id",),
        what=_names(
            "run token digest task_key instruction_digest trial step action_digest begun answer feedback_text "
            "reason_codes marked_steps"
        ),
        when=("at_ms",),
    ),
    "replaced_policy": LinkedTable(
        who=("author",), what=("epoch", "run", "version", "text", "digest"), when=("created_ms", "chosen_ms")
    ),
    "note": LinkedTable(
        who=("author", "addressee"),
        what=("item_id", "decision_id", "text"),
        when=("created_ms",),
        run="(SELECT i.run_id FROM item i WHERE i.id = note.item_id)",
    ),
    "adjudication": LinkedTable(
        who=("adjudicator",),
        what=("study_id", "run_id", "unit", "revision", "label", "note"),
        when=("at_ms",),
        run="run_id",
    ),
}
"""All linked tables by name. Add a new column of these tables to a part or, with a reason, to `left_out`.

`tests/storage/not_linked.yaml` has all other tables, each with the reason.
"""

TOUCHED = "touched_row"
"""Name of each connection's temporary table with the table and id of each row that the transaction changed."""


def parts_digest(values: Sequence[Any], name: str, salt: str) -> str:
    """Return the digest of a row's linked columns: one digest each for who, what and when, joined by dots."""
    parts = []
    for part, columns, start, end in _slices(name):
        # Columns without a value are left out, so that a column that a later version adds changes no digest.
        # SQLite reads a boolean as a number; a copy in PostgreSQL has the same digest.
        told = {
            column: int(value) if isinstance(value, bool) else value
            for column, value in zip(columns, values[start:end], strict=True)
            if value is not None
        }
        parts.append(hashlib.sha256(_bytes([salt, name, part, told])).hexdigest()[:_SIZE])
    return ".".join(parts)


@cache
def _slices(name: str) -> list[tuple[str, tuple[str, ...], int, int]]:
    """Return each part of a table with its columns, and their start and end among all linked columns."""
    found, start = [], 0
    for part, columns in LINKED[name].parts.items():
        found.append((part, columns, start, start + len(columns)))
        start += len(columns)
    return found


def _bytes(value: list[Any]) -> bytes:
    try:
        return orjson.dumps(value, default=str)
    except orjson.JSONEncodeError:
        # Half a surrogate pair in an agent's text.
        return json.dumps(value).encode()


def changed_parts(name: str, before: str, after: str) -> str:
    """Return the names and columns of the parts in which two digests of a row differ, joined by "and"."""
    pairs = zip(LINKED[name].parts.items(), before.split("."), after.split("."), strict=False)
    return " and ".join(f"{part} ({', '.join(columns)})" for (part, columns), old, new in pairs if old != new)


@cache
def select_row(name: str) -> str:
    """Return the statement that reads the id, the linked columns and the run of one row."""
    table = LINKED[name]
    condition = f" AND {table.only.format(row=name)}" if table.only else ""
    return f"SELECT id, {', '.join(table.columns)}, {table.run} FROM {name} WHERE id = ?{condition}"


@cache
def select_rows(name: str) -> str:
    """Return the statement that reads the id and the linked columns of every linked row."""
    table = LINKED[name]
    condition = f" WHERE {table.only.format(row=name)}" if table.only else ""
    return f"SELECT id, {', '.join(table.columns)} FROM {name}{condition} ORDER BY id"


def note_changes_sqlite(connection: Any, _record: object) -> None:
    """Create triggers on a raw SQLite connection that note its changes of linked rows, if the tables exist.

    The triggers are temporary, so connections of other programs do not have them.
    """
    cursor = connection.cursor()
    cursor.execute("PRAGMA temp_store=MEMORY")
    cursor.execute(f"CREATE TEMP TABLE IF NOT EXISTS {TOUCHED} (name TEXT NOT NULL, row_id INTEGER NOT NULL)")
    tables = {name for (name,) in cursor.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")}
    if "row_salt" in tables:
        cursor.executescript("BEGIN;" + "".join(_sqlite_triggers(tables)) + "COMMIT;")
    cursor.close()


def _sqlite_triggers(tables: Collection[str]) -> Iterator[str]:
    for name, table in LINKED.items():
        if name not in tables:
            # The database is of an earlier schema, before its upgrade.
            continue
        rows = {"insert": ("new",), "update": ("old", "new"), "delete": ("old",)}
        for act, seen in rows.items():
            when = f" WHEN {' OR '.join(table.only.format(row=row) for row in seen)}" if table.only else ""
            what = f"UPDATE OF {', '.join(table.columns)}" if act == "update" else act.upper()
            yield (
                f"CREATE TEMP TRIGGER IF NOT EXISTS note_{name}_{act} AFTER {what} ON main.{name}{when} "
                f"BEGIN INSERT INTO {TOUCHED} VALUES ('{name}', {seen[0]}.id); END;"
            )


def note_changes_postgres(connection: Any, _record: object) -> None:
    """Create the temporary table for changed rows on a raw PostgreSQL connection; the triggers are in the schema."""
    cursor = connection.cursor()
    cursor.execute(f"CREATE TEMP TABLE IF NOT EXISTS {TOUCHED} (name text, row_id integer) ON COMMIT DELETE ROWS")
    cursor.close()
    connection.commit()


def postgres_triggers(names: Iterable[str] = tuple(LINKED), later: Collection[str] = ()) -> Iterator[str]:
    """Yield the statements that create the triggers of these tables in a PostgreSQL schema.

    `later` names columns that only a later revision adds to the tables and triggers. In a session without the temporary
    table the triggers do nothing, so the session's changes have no link.
    """
    yield f"""CREATE OR REPLACE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF to_regclass('pg_temp.{TOUCHED}') IS NOT NULL THEN
                INSERT INTO pg_temp.{TOUCHED}
                VALUES (TG_TABLE_NAME, CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END);
            END IF;
            RETURN NULL;
        END $$"""
    for name in names:
        columns = ", ".join(column for column in LINKED[name].columns if column not in later)
        yield (
            f"CREATE OR REPLACE TRIGGER note_{name} AFTER INSERT OR DELETE OR UPDATE OF {columns} "
            f"ON {name} FOR EACH ROW EXECUTE FUNCTION note_row()"
        )
