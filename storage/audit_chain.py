"""The audit chains: each link hashes its event's digest with the previous hash, so that a check finds any change.

Each run has its own chain, so that writers of different runs do not wait for each other. The access chain covers events
and rows outside any run. `seal` adds a link to the access chain with the last hash of each chain that has grown.

A chain holds digests and ids only. An erasure deletes an event's content but keeps its link, and adds an event with the
erased event's id. Each chain has one row for its end.

Each transaction also adds a link with the digests of its changed rows (`storage.linked_rows`); such a link has no
event. Each row's digest has a salt, which is deleted with the row.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from storage.errors import StorageError
from storage.linked_rows import LINKED, TOUCHED, changed_parts, parts_digest, select_row, select_rows
from storage.tables import ChainEnd, Event, EventLink, RowSalt, Table

_event = Table.metadata.tables[str(Event.__tablename__)]
_link = Table.metadata.tables[str(EventLink.__tablename__)]
_end = Table.metadata.tables[str(ChainEnd.__tablename__)]
_salt = Table.metadata.tables[str(RowSalt.__tablename__)]

ACCESS = 0
"""The id of the access chain, for events outside any run and for removed rows; a run's chain has the run's id."""

EVENT_COLUMNS = ("run_id", "at_ms", "actor", "kind", "subject", "detail", "door", "place", "before", "after", "salt")
_NO_ROWS = "[]"
_EVENT, _ERASED_BY = "event", "erased by "
CHAIN, CHECKPOINT, _HEADS = "chain", "checkpoint", "heads"
BEGINNING = 0, ""
_Heads = dict[int, str]
_PAGE = 1_000
_SHOWN = 20
"""Maximum number of changed rows listed per table; a final sentence counts the remaining rows."""

READ_TOUCHED = f"SELECT DISTINCT name, row_id FROM {TOUCHED} ORDER BY name, row_id"
FORGET_TOUCHED = f"DELETE FROM {TOUCHED}"
NOTE = f"INSERT INTO {TOUCHED} VALUES (?, ?)"
READ_END = "SELECT events, hash FROM chain_end WHERE id = ?"
NEW_ID = "SELECT 1 + max(coalesce((SELECT max(event_id) FROM event_link), 0), coalesce((SELECT max(id) FROM event), 0))"
_SERVER_ID = "SELECT nextval(pg_get_serial_sequence('event', 'id'))"
SALT_ROW = """INSERT INTO row_salt (name, row_id, salt) VALUES (?, ?, ?)
ON CONFLICT (name, row_id) DO UPDATE SET salt = excluded.salt"""
LINK_COLUMNS = (
    "event_id", "at_ms", "kind", "erases", "content_digest", "rows", "previous_hash", "hash", "chain", "place",
)  # fmt: skip
ADD_LINK = f"INSERT INTO event_link ({', '.join(LINK_COLUMNS)}) VALUES ({', '.join('?' * len(LINK_COLUMNS))})"
MOVE_END = """INSERT INTO chain_end (id, event_id, events, hash) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET event_id = excluded.event_id, events = excluded.events, hash = excluded.hash"""
_OPEN_END = "INSERT INTO chain_end (id, event_id, events, hash) VALUES (?, 0, 0, '') ON CONFLICT (id) DO NOTHING"
_MOVED_ENDS = "SELECT id, events, hash FROM chain_end WHERE events > sealed AND id <> ? ORDER BY id"
_SEAL_END = "UPDATE chain_end SET sealed = ? WHERE id = ?"
_READ_EVENT = f"SELECT id, {', '.join(EVENT_COLUMNS)} FROM event WHERE id = ?"
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def begin(connection: Connection) -> None:
    """Create the end of the empty access chain."""
    connection.execute(insert(_end).values(id=ACCESS, event_id=0, events=0, hash=""))


def append(connection: Connection, content: Mapping[str, Any], erases: Sequence[int] = ()) -> int:
    """Add one event in the caller's write transaction and return its id; the commit links the event (`link_touched`).

    `content` holds the event's columns except id and salt. `erases` lists events to delete as well.
    """
    if erases:
        connection.execute(delete(_event).where(_event.c.id.in_(erases)))
    cursor, server = connection.connection.cursor(), connection.dialect.name != "sqlite"
    return append_raw(cursor, content, erases, server=server)


def append_raw(cursor: Any, content: Mapping[str, Any], erases: Sequence[int] = (), *, server: bool) -> int:
    """Add one event with a raw cursor of the transaction; the caller has already deleted the events in `erases`."""
    cursor.execute(_SERVER_ID if server else NEW_ID)
    event_id: int = cursor.fetchone()[0]
    row = {"id": event_id, **content, "salt": secrets.token_hex(16)}
    names = ", ".join(f'"{name}"' for name in row)
    _run_many(cursor, f"INSERT INTO event ({names}) VALUES ({', '.join('?' * len(row))})", [(*row.values(),)], server)
    noted = [(_EVENT, event_id), *((f"{_ERASED_BY}{event_id}", gone) for gone in erases)]
    _run_many(cursor, NOTE, noted, server)
    return event_id


def link_touched(cursor: Any, *, server: bool) -> None:
    """Link the events and rows that this transaction added or changed; call this function just before the commit.

    `cursor` is a raw cursor of the transaction; `server` is true for any database other than SQLite.
    """
    cursor.execute(READ_TOUCHED)
    touched = cursor.fetchall()
    if touched:
        cursor.execute(FORGET_TOUCHED)
        _link_noted(cursor, touched, server)


def link_all(connection: Connection, names: Iterable[str] = tuple(LINKED)) -> None:
    """Link the current state of every row of these tables, for a database in which these rows have no links yet."""
    cursor, server = connection.connection.cursor(), connection.dialect.name != "sqlite"
    rows = [(name, key) for name in names for key, *_ in connection.exec_driver_sql(select_rows(name))]
    if rows:
        _link_noted(cursor, rows, server)


def seal(connection: Connection) -> None:
    """Add the last hashes of all chains that have grown since the last seal to the access chain."""
    cursor, server = connection.connection.cursor(), connection.dialect.name != "sqlite"
    _run_many(cursor, _MOVED_ENDS, [(ACCESS,)], server)
    moved = cursor.fetchall()
    if moved:
        rows = [[CHAIN, chain, f"{events}:{last}"] for chain, events, last in moved]
        add_links(cursor, ACCESS, [rows_link(rows, _HEADS)], server=server)
        _run_many(cursor, _SEAL_END, [(events, chain) for chain, events, _ in moved], server)


def problems(connection: Connection) -> list[str]:
    """Return a sentence about the first problem of each chain, and about each row that differs from its chain."""
    chains = list(_broken(connection)) or list(_unlinked(connection))[:1]
    return chains + list(_row_problems(connection))


def _link_noted(cursor: Any, touched: Iterable[Sequence[Any]], server: bool) -> None:
    """Add the links of the noted events and rows; a removed row has the digest None and loses its salt."""
    found: dict[str, list[int]] = {}
    for name, row_id in touched:
        found.setdefault(name, []).append(row_id)
    links: dict[int, list[dict[str, Any]]] = {}
    for event_id in found.pop(_EVENT, ()):
        _run_many(cursor, _READ_EVENT, [(event_id,)], server)
        row = dict(zip(("id", *EVENT_COLUMNS), cursor.fetchone(), strict=True))
        link = {
            "event_id": row["id"],
            "at_ms": row["at_ms"],
            "kind": row["kind"],
            "erases": json.dumps(sorted(found.pop(f"{_ERASED_BY}{event_id}", ()))),
            "content_digest": _content_digest(row),
            "rows": _NO_ROWS,
        }
        links.setdefault(row["run_id"] or ACCESS, []).append(link)
    for chain, rows in _digest_rows(cursor, found, server).items():
        links.setdefault(chain, []).append(
            rows_link(rows, f"rows of {', '.join(dict.fromkeys(row[0] for row in rows))}")
        )
    # Every transaction locks the ends in this order.
    for chain in sorted(links):
        add_links(cursor, chain, links[chain], server=server)


def _digest_rows(cursor: Any, touched: Mapping[str, list[int]], server: bool) -> dict[int, list[list[Any]]]:
    """Store a new salt for each row and return [table, id, digest] of the rows by chain."""
    found: dict[int, list[list[Any]]] = {}
    salts, gone = [], []
    for name, ids in touched.items():
        for row_id in ids:
            _run_many(cursor, select_row(name), [(row_id,)], server)
            if (row := cursor.fetchone()) is None:
                gone.append((name, row_id))
                found.setdefault(ACCESS, []).append([name, row_id, None])
                continue
            salts.append((name, row_id, salt := secrets.token_hex(16)))
            found.setdefault(row[-1] or ACCESS, []).append([name, row_id, parts_digest(row[1:-1], name, salt)])
    _run_many(cursor, SALT_ROW, salts, server)
    _run_many(cursor, "DELETE FROM row_salt WHERE name = ? AND row_id = ?", gone, server)
    return found


def add_links(cursor: Any, chain: int, links: list[dict[str, Any]], *, server: bool) -> None:
    """Add the links to the end of the chain; other writers of this chain wait until the transaction ends."""
    events, previous = _lock_end(cursor, chain, server)
    for link in links:
        if "event_id" not in link:
            cursor.execute(_SERVER_ID if server else NEW_ID)
            link["event_id"] = cursor.fetchone()[0]
        events += 1
        link |= {"previous_hash": previous, "chain": chain, "place": events}
        link["hash"] = previous = _hash(link)
        _run_many(cursor, ADD_LINK, [tuple(link[name] for name in LINK_COLUMNS)], server)
        last = link["event_id"]
    _run_many(cursor, MOVE_END, [(chain, last, events, previous)], server)


def _lock_end(cursor: Any, chain: int, server: bool) -> tuple[int, str]:
    """Return the number of links and the last hash of a chain, and lock the chain's end with PostgreSQL."""
    statement = READ_END + " FOR UPDATE" * server
    _run_many(cursor, statement, [(chain,)], server)
    found = cursor.fetchone()
    if found is None and server:
        _run_many(cursor, _OPEN_END, [(chain,)], server)
        _run_many(cursor, statement, [(chain,)], server)
        found = cursor.fetchone()
    if found is None and chain == ACCESS:
        raise StorageError("The end of the audit chain is missing. Run inferact db check, then restore a backup.")
    return found or (0, "")


def _run_many(cursor: Any, statement: str, values: list[tuple[Any, ...]], server: bool) -> None:
    """Run the statement for each set of values; replace `?` by the placeholder `%s` for PostgreSQL."""
    words = statement.replace("?", "%s") if server else statement
    if len(values) == 1:
        cursor.execute(words, values[0])
    elif values:
        cursor.executemany(words, values)


def rows_link(rows: list[list[Any]], kind: str) -> dict[str, Any]:
    """Return a new link with these [table, id, digest] and without an event."""
    at_ms = time.time_ns() // 1_000_000
    return {"at_ms": at_ms, "kind": kind, "erases": "[]", "content_digest": "", "rows": _encode(rows)}


def _content_digest(row: Mapping[str, Any]) -> str:
    return _sha256([row[name] for name in EVENT_COLUMNS])


def _hash(link: Mapping[str, Any]) -> str:
    names = ["previous_hash", "event_id", "at_ms", "kind", "erases", "content_digest"]
    # A link without rows is hashed as it was before links had rows; one of access as before there were other chains.
    rows = [link["rows"]] * (link["rows"] != _NO_ROWS)
    return _sha256([link[name] for name in names] + rows + [link["chain"], link["place"]] * (link["chain"] != ACCESS))


def _sha256(values: Sequence[Any]) -> str:
    return hashlib.sha256(_encode(values).encode()).hexdigest()


def _broken(connection: Connection) -> Iterator[str]:
    """Yield a sentence about the first problem of each chain."""
    ends = {end.id: end for end in connection.execute(select(_end))}
    if ACCESS not in ends:
        yield "The end of the audit chain is missing."
    erased, seen = read_erased(connection), set[int]()
    heads: dict[int, _Heads] = {}
    for chain, place, last in read_heads(connection):
        heads.setdefault(chain, {})[place] = last
    checkpoints = select(_link).where(_link.c.kind == CHECKPOINT).order_by(_link.c.event_id)
    starts = read_starts(connection.execute(checkpoints))
    for chain, links in groupby(read_links(connection), key=lambda pair: pair[0].chain):
        seen.add(chain)
        start = starts.get(chain, BEGINNING)
        if start != BEGINNING and heads.get(chain, {}).get(start[0]) != start[1]:
            yield f"Audit: the checkpoint of {_chain_named(chain)} was written outside the console."
        found = chain_problems(links, ends.get(chain), erased, heads.get(chain, {}), start)
        yield from islice(found, 1)
    for chain, end in ends.items():
        if chain not in seen and (end.events or chain in heads):
            yield f"Audit: {_chain_named(chain)} ends early; the last event, {end.event_id}, was removed."
    for chain in sorted(heads.keys() - ends.keys() - seen):
        yield f"Audit: {_chain_named(chain)} was removed."


def chain_problems(
    links: Iterator[tuple[Any, Mapping[str, Any] | None]],
    end: Any,
    erased: set[int],
    heads: dict[int, str],
    start: tuple[int, str],
) -> Iterator[str]:
    """Yield the problems of a chain; `heads` are its hashes by place. Links and `end` have columns as attributes.

    `start` is the place and the hash of the last link that a pruning removed (`read_starts`).
    """
    (counted, previous), chain = start, ACCESS
    last = f"the {CHECKPOINT} at {counted}" if counted else "the beginning"
    for link, content in links:
        named, chain = _named(link.event_id, link.kind), link.chain
        if link.previous_hash != previous or link.place != counted + 1:
            yield f"Audit: {named} does not follow {last}; an event between them was removed, or the order was changed."
        if _hash(link._asdict()) != link.hash:
            yield f"Audit: the link of {named} was changed."
        yield from _content_problem(link, content, link.event_id in erased)
        if heads.get(link.place, link.hash) != link.hash:
            yield f"Audit: {_chain_named(chain)} was rewritten: its hash at {named} differs from the stored one."
        previous, counted, last = link.hash, counted + 1, named
    if end is None:
        # The end of the chain of access is named already.
        yield from [f"The end of {_chain_named(chain)} is missing."] * (chain != ACCESS)
    elif (counted, previous) != (end.events, end.hash):
        yield f"Audit: {_chain_named(chain)} ends early; the last event, {end.event_id}, was removed."
    if max(heads, default=0) > counted:
        yield f"Audit: {_chain_named(chain)} was cut: it had {max(heads)} events, and has {counted}."


def _content_problem(link: Row[Any], content: Mapping[str, Any] | None, is_erased: bool) -> Iterator[str]:
    named = _named(link.event_id, link.kind)
    if not link.content_digest:
        if content is not None:
            yield f"Audit: {named} is a link of rows, but an event was added to it."
    elif content is None and not is_erased:
        yield f"Audit: {named} was removed."
    elif content is not None and is_erased:
        yield f"Audit: {named} was erased, but has content again."
    elif content is not None and _content_digest(content) != link.content_digest:
        yield f"Audit: {named} was changed."


def _unlinked(connection: Connection) -> Iterator[str]:
    statement = select(_event.c.id, _event.c.kind).outerjoin(_link, _link.c.event_id == _event.c.id)
    for event_id, kind in connection.execute(statement.where(_link.c.event_id.is_(None)).order_by(_event.c.id)):
        yield f"Audit: {_named(event_id, kind)} was added outside the chain."


def _row_problems(connection: Connection) -> Iterator[str]:
    """Yield a sentence about each linked row that another program changed, added or removed."""
    linked = latest_digests(connection)
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


def latest_digests(connection: Connection) -> dict[str, dict[int, str | None]]:
    """Return the last linked digest of each row by table and id; None for a removed row."""
    found: dict[str, dict[int, str | None]] = {}
    lists = select(_link.c.rows).where(_link.c.rows != _NO_ROWS).order_by(_link.c.event_id)
    for text in connection.execute(lists).scalars():
        # Unreadable rows are a changed link, which is named already.
        with suppress(ValueError, TypeError):
            for name, row_id, digest in json.loads(text):
                found.setdefault(name, {})[row_id] = digest
    return found


def read_erased(connection: Connection) -> set[int]:
    """Return the ids of the erased events."""
    lists = connection.execute(select(_link.c.erases).where(_link.c.erases != "[]")).scalars()
    return {event_id for text in lists for event_id in json.loads(text)}


def read_heads(connection: Connection, before_ms: int | None = None) -> Iterator[tuple[int, int, str]]:
    """Yield (chain, place, hash) of each seal, in order; only of the seals before this time if it is given."""
    sealed = select(_link.c.rows).where(_link.c.chain == ACCESS, _link.c.kind == _HEADS, _link.c.content_digest == "")
    sealed = sealed if before_ms is None else sealed.where(_link.c.at_ms < before_ms)
    for text in connection.execute(sealed.order_by(_link.c.place)).scalars():
        yield from _read_marks(text)


def read_starts(links: Iterable[Any]) -> dict[int, tuple[int, str]]:
    """Return the place and hash of the last removed link by chain, from the checkpoints among these links."""
    checkpoints = (link for link in links if link.kind == CHECKPOINT and not link.content_digest)
    return {link.chain: (place, last) for link in checkpoints for _, place, last in _read_marks(link.rows)}


def _read_marks(rows: str) -> Iterator[tuple[int, int, str]]:
    """Yield (chain, place, hash) of a link of seals, or of a checkpoint."""
    # Unreadable rows are a changed link, which is named already.
    with suppress(ValueError, TypeError):
        for name, chain, mark in json.loads(rows):
            if name == CHAIN:
                place, _, last = mark.partition(":")
                yield chain, int(place), last


def read_links(connection: Connection, chain: int | None = None) -> Iterator[tuple[Row[Any], dict[str, Any] | None]]:
    """Yield every link (only of one `chain` if given), chain by chain in order, with its event's content or None."""
    content = [_event.c[name].label(f"content_{name}") for name in ("id", *EVENT_COLUMNS)]
    joined = _link.outerjoin(_event, _event.c.id == _link.c.event_id)
    ordered = select(_link, *content).select_from(joined).order_by(_link.c.chain, _link.c.place, _link.c.event_id)
    ordered = ordered if chain is None else ordered.where(_link.c.chain == chain)
    for row in connection.execution_options(yield_per=_PAGE).execute(ordered):
        found = dict(zip(EVENT_COLUMNS, row[-len(EVENT_COLUMNS) :], strict=True))
        yield row, None if row[-len(content)] is None else found


def _chain_named(chain: int) -> str:
    return f"the chain of run {chain}" if chain else "the chain"


def _named(event_id: int, kind: str) -> str:
    return f"event {event_id} ({kind})"
