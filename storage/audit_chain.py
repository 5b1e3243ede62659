"""The audit chain: each event's digest is hashed with the previous hash, so that any change of an event is detected.

The chain holds digests and ids only. The content of an event can be erased: its link stays, and the event that records
the erasure lists the erased event. A separate row holds the end of the chain.

Each transaction also adds a link with the digests of the rows that it changed (`storage.linked_rows`); a link of rows
has no event. Each digest is salted, and the salt goes with the row.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from storage.linked_rows import LINKED, TOUCHED, changed_parts, parts_digest, select_row, select_rows
from storage.tables import ChainEnd, Event, EventLink, RowSalt, Table

_event = Table.metadata.tables[str(Event.__tablename__)]
_link = Table.metadata.tables[str(EventLink.__tablename__)]
_end = Table.metadata.tables[str(ChainEnd.__tablename__)]
_salt = Table.metadata.tables[str(RowSalt.__tablename__)]

_CONTENT = ("run_id", "at_ms", "actor", "kind", "subject", "detail", "door", "place", "before", "after", "salt")
_NO_ROWS = "[]"
_PAGE = 1_000
_SHOWN = 20
"""How many changed rows of one table are named; the rest are only counted."""

READ_TOUCHED = f"SELECT DISTINCT name, row_id FROM {TOUCHED} ORDER BY name, row_id"
FORGET_TOUCHED = f"DELETE FROM {TOUCHED}"
READ_END = "SELECT event_id, events, hash FROM chain_end"
SALT_ROW = """INSERT INTO row_salt (name, row_id, salt) VALUES (?, ?, ?)
ON CONFLICT (name, row_id) DO UPDATE SET salt = excluded.salt"""
_LINK_COLUMNS = ("event_id", "at_ms", "kind", "erases", "content_digest", "rows", "previous_hash", "hash")
ADD_LINK = f"INSERT INTO event_link ({', '.join(_LINK_COLUMNS)}) VALUES ({', '.join('?' * len(_LINK_COLUMNS))})"
MOVE_END = "UPDATE chain_end SET event_id = ?, events = ?, hash = ?"
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def begin(connection: Connection) -> None:
    """Create the end of an empty chain."""
    connection.execute(insert(_end).values(id=1, event_id=0, events=0, hash=""))


def append(connection: Connection, content: Mapping[str, Any], erases: Sequence[int] = ()) -> int:
    """Add one event with its link and return the event's id, within the caller's write transaction.

    `content` holds the columns of an event except id and salt. `erases` lists events whose content is deleted as well.
    """
    # Other writers wait here: with SQLite since BEGIN IMMEDIATE, with PostgreSQL for this one row.
    end = connection.execute(select(_end).with_for_update()).one()
    newest = connection.execute(select(func.coalesce(func.max(_event.c.id), 0))).scalar_one()
    row = {"id": max(newest, end.event_id) + 1, **content, "salt": secrets.token_hex(16)}
    if erases:
        connection.execute(delete(_event).where(_event.c.id.in_(erases)))
    connection.execute(insert(_event).values(row))
    _link_up(connection, row, end.hash, end.events, erases)
    event_id: int = row["id"]
    return event_id


def append_raw(db: Any, content: Mapping[str, Any]) -> None:
    """Like `append`, within a `storage.queue.transaction.Transaction`."""
    event_id, events, previous = db.rows("SELECT event_id, events, hash FROM chain_end FOR UPDATE")[0]
    ((newest,),) = db.rows("SELECT COALESCE(MAX(id), 0) FROM event")
    row = {"id": max(newest, event_id) + 1, **content, "salt": secrets.token_hex(16)}
    link = _new_link(row, previous, ())
    for table, values in (("event", row), ("event_link", link)):
        names = ", ".join(f'"{name}"' for name in values)
        db.run(f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in values)})", **values)
    end = {"event_id": row["id"], "events": events + 1, "hash": link["hash"]}
    db.run("UPDATE chain_end SET event_id = :event_id, events = :events, hash = :hash", **end)


def link_touched(cursor: Any, *, server: bool) -> None:
    """Add a link with the digests of the rows that this transaction changed, if there are any, just before its commit.

    `cursor` is a raw cursor of the transaction; `server` is true for any database other than SQLite.
    """
    cursor.execute(READ_TOUCHED)
    touched = cursor.fetchall()
    if touched:
        cursor.execute(FORGET_TOUCHED)
        _link_rows(cursor, touched, server)


def link_all(connection: Connection, names: Iterable[str] = tuple(LINKED)) -> None:
    """Link every row of these tables as it is now, for a database in which they were not linked until now."""
    cursor, server = connection.connection.cursor(), connection.dialect.name != "sqlite"
    rows = [(name, key) for name in names for key, *_ in connection.exec_driver_sql(select_rows(name))]
    if rows:
        _link_rows(cursor, rows, server)


def problems(connection: Connection) -> list[str]:
    """Return a sentence about the first event at which the chain breaks, and each row that differs from the chain."""
    chain = next(([problem] for problem in _broken(connection)), [])
    return chain + list(_row_problems(connection))


def end_of(connection: Connection) -> tuple[int, str]:
    """Return the number of events and the last hash, for comparison with a copy elsewhere."""
    end = connection.execute(select(_end)).first()
    return (end.events, end.hash) if end else (0, "")


def head_problem(connection: Connection, events: int, last_hash: str) -> str | None:
    """Return a sentence if the chain does not contain this earlier end, else None."""
    found = select(_link.c.hash).order_by(_link.c.event_id).offset(events - 1).limit(1)
    now = connection.execute(found).scalar() if events else ""
    if now == last_hash:
        return None
    how = "is shorter now" if now is None else "has another event there"
    return f"Audit: the chain had {events} events and the hash {last_hash[:16]}; it {how}, so it was cut or rewritten."


def _link_rows(cursor: Any, touched: Iterable[Sequence[Any]], server: bool) -> None:
    """Add a link with the present digests of the rows; None for a row that is gone, whose salt is then removed."""
    found: dict[str, list[int]] = {}
    for name, row_id in touched:
        found.setdefault(name, []).append(row_id)
    rows, salts, gone = [], [], []
    for name, ids in found.items():
        digests: dict[int, str] = {}
        for row_id in ids:
            _run_many(cursor, select_row(name), [(row_id,)], server)
            for _, *values in cursor.fetchall():
                salts.append((name, row_id, salt := secrets.token_hex(16)))
                digests[row_id] = parts_digest(values, name, salt)
        rows += [[name, row_id, digests.get(row_id)] for row_id in ids]
        gone += [(name, row_id) for row_id in ids if row_id not in digests]
    _run_many(cursor, SALT_ROW, salts, server)
    _run_many(cursor, "DELETE FROM row_salt WHERE name = ? AND row_id = ?", gone, server)
    cursor.execute(READ_END + " FOR UPDATE" * server)
    event_id, events, previous = cursor.fetchone()
    link = {
        "event_id": event_id + 1,
        "at_ms": time.time_ns() // 1_000_000,
        "kind": f"rows of {', '.join(found)}",
        "erases": "[]",
        "content_digest": "",
        "rows": _encode(rows),
        "previous_hash": previous,
    }
    link["hash"] = _hash(link)
    _run_many(cursor, ADD_LINK, [tuple(link[name] for name in _LINK_COLUMNS)], server)
    _run_many(cursor, MOVE_END, [(link["event_id"], events + 1, link["hash"])], server)


def _run_many(cursor: Any, statement: str, values: list[tuple[Any, ...]], server: bool) -> None:
    """Run the statement for each set of values; a server's driver writes a placeholder as %s."""
    words = statement.replace("?", "%s") if server else statement
    if len(values) == 1:
        cursor.execute(words, values[0])
    elif values:
        cursor.executemany(words, values)


def _link_up(connection: Connection, row: Mapping[str, Any], previous: str, events: int, erases: Sequence[int]) -> None:
    link = _new_link(row, previous, erases)
    connection.execute(insert(_link).values(link))
    connection.execute(update(_end).values(event_id=row["id"], events=events + 1, hash=link["hash"]))


def _new_link(row: Mapping[str, Any], previous: str, erases: Sequence[int]) -> dict[str, Any]:
    link = {
        "event_id": row["id"],
        "at_ms": row["at_ms"],
        "kind": row["kind"],
        "erases": json.dumps(sorted(erases)),
        "content_digest": _content_digest(row),
        "rows": _NO_ROWS,
        "previous_hash": previous,
    }
    return link | {"hash": _hash(link)}


def _content_digest(row: Mapping[str, Any]) -> str:
    return _sha256([row[name] for name in _CONTENT])


def _hash(link: Mapping[str, Any]) -> str:
    names = ["previous_hash", "event_id", "at_ms", "kind", "erases", "content_digest"]
    # A link without rows is hashed as it was before links had rows.
    return _sha256([link[name] for name in names] + [link["rows"]] * (link["rows"] != _NO_ROWS))


def _sha256(values: Sequence[Any]) -> str:
    return hashlib.sha256(_encode(values).encode()).hexdigest()


def _broken(connection: Connection) -> Iterator[str]:
    end = connection.execute(select(_end)).first()
    if end is None:
        yield "The end of the audit chain is missing."
        return
    erased = _erased(connection)
    previous, counted, last = "", 0, "the beginning"
    for link, content in _links(connection):
        named = _named(link.event_id, link.kind)
        if link.previous_hash != previous:
            yield f"Audit: {named} does not follow {last}; an event between them was removed, or the order was changed."
        if _hash(link._asdict()) != link.hash:
            yield f"Audit: the link of {named} was changed."
        yield from _content_problem(link, content, link.event_id in erased)
        previous, counted, last = link.hash, counted + 1, named
    if (counted, previous) != (end.events, end.hash):
        yield f"Audit: the chain ends early; the last event, {end.event_id}, was removed."
    yield from _unlinked(connection)


def _content_problem(link: Row[Any], content: Row[Any] | None, is_erased: bool) -> Iterator[str]:
    named = _named(link.event_id, link.kind)
    if not link.content_digest:
        if content is not None:
            yield f"Audit: {named} is a link of rows, but an event was added to it."
    elif content is None and not is_erased:
        yield f"Audit: {named} was removed."
    elif content is not None and is_erased:
        yield f"Audit: {named} was erased, but has content again."
    elif content is not None and _content_digest(content._asdict()) != link.content_digest:
        yield f"Audit: {named} was changed."


def _unlinked(connection: Connection) -> Iterator[str]:
    statement = select(_event.c.id, _event.c.kind).outerjoin(_link, _link.c.event_id == _event.c.id)
    for event_id, kind in connection.execute(statement.where(_link.c.event_id.is_(None)).order_by(_event.c.id)):
        yield f"Audit: {_named(event_id, kind)} was added outside the chain."


def _row_problems(connection: Connection) -> Iterator[str]:
    """Yield a sentence about each linked row that was changed, added or removed outside the chain."""
    linked = _latest_digests(connection)
    for name in LINKED:
        found = list(_differing(connection, name, linked.get(name, {})))
        yield from found[:_SHOWN]
        if len(found) > _SHOWN:
            yield f"Audit: ... and {len(found) - _SHOWN} more rows of {name}."


def _differing(connection: Connection, name: str, linked: dict[int, str | None]) -> Iterator[str]:
    told = select(_salt.c.row_id, _salt.c.salt).where(_salt.c.name == name)
    salts: dict[int, str] = dict(connection.execute(told).all())
    seen = set()
    for row_id, *values in connection.exec_driver_sql(select_rows(name)):
        seen.add(row_id)
        digest, before = parts_digest(values, name, salts.get(row_id, "")), linked.get(row_id)
        if before is None:
            yield f"Audit: {name} {row_id} was added outside the console."
        elif digest != before:
            yield f"Audit: {name} {row_id} was changed outside the console: {changed_parts(name, before, digest)}."
    for row_id, before in linked.items():
        if before is not None and row_id not in seen:
            yield f"Audit: {name} {row_id} was removed outside the console."


def _latest_digests(connection: Connection) -> dict[str, dict[int, str | None]]:
    """Return the last linked digest of each row by table and id; None for a row that an event removed."""
    found: dict[str, dict[int, str | None]] = {}
    lists = select(_link.c.rows).where(_link.c.rows != _NO_ROWS).order_by(_link.c.event_id)
    for text in connection.execute(lists).scalars():
        # Unreadable rows are a changed link, which is named already.
        with suppress(ValueError, TypeError):
            for name, row_id, digest in json.loads(text):
                found.setdefault(name, {})[row_id] = digest
    return found


def _erased(connection: Connection) -> set[int]:
    lists = connection.execute(select(_link.c.erases).where(_link.c.erases != "[]")).scalars()
    return {event_id for text in lists for event_id in json.loads(text)}


def _links(connection: Connection) -> Iterator[tuple[Row[Any], Row[Any] | None]]:
    """Yield every link in order, with its content or None if the content is missing."""
    known = 0
    while links := connection.execute(
        select(_link).where(_link.c.event_id > known).order_by(_link.c.event_id).limit(_PAGE)
    ).all():
        low, high = links[0].event_id, links[-1].event_id
        rows = connection.execute(select(_event).where(_event.c.id.between(low, high))).all()
        contents = {row.id: row for row in rows}
        yield from ((link, contents.get(link.event_id)) for link in links)
        known = high


def _named(event_id: int, kind: str) -> str:
    return f"event {event_id} ({kind})"
