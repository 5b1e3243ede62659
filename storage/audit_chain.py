"""The audit chain: each event's digest is hashed with the previous hash, so that any change of an event is detected.

The chain holds digests and ids only. The content of an event can be erased: its link stays, and the event that records
the erasure lists the erased event. A separate row holds the end of the chain.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from storage.tables import ChainEnd, Event, EventLink, Table

if TYPE_CHECKING:
    from storage.queue.transaction import Transaction

_event = Table.metadata.tables[str(Event.__tablename__)]
_link = Table.metadata.tables[str(EventLink.__tablename__)]
_end = Table.metadata.tables[str(ChainEnd.__tablename__)]

_CONTENT = ("run_id", "at_ms", "actor", "kind", "subject", "detail", "door", "place", "before", "after", "salt")
_PAGE = 1_000


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


def append_raw(db: Transaction, content: Mapping[str, Any]) -> None:
    """Like `append`, within a transaction of the queue."""
    event_id, events, previous = db.rows("SELECT event_id, events, hash FROM chain_end FOR UPDATE")[0]
    ((newest,),) = db.rows("SELECT COALESCE(MAX(id), 0) FROM event")
    row = {"id": max(newest, event_id) + 1, **content, "salt": secrets.token_hex(16)}
    link = _new_link(row, previous, ())
    for table, values in (("event", row), ("event_link", link)):
        names = ", ".join(f'"{name}"' for name in values)
        db.run(f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in values)})", **values)
    end = {"event_id": row["id"], "events": events + 1, "hash": link["hash"]}
    db.run("UPDATE chain_end SET event_id = :event_id, events = :events, hash = :hash", **end)


def problems(connection: Connection) -> list[str]:
    """Return a sentence about the first event at which the chain breaks, or an empty list if the chain is intact."""
    return next(([problem] for problem in _broken(connection)), [])


def end_of(connection: Connection) -> tuple[int, str]:
    """Return the number of events and the last hash, which a copy elsewhere can be compared with."""
    end = connection.execute(select(_end)).first()
    return (end.events, end.hash) if end else (0, "")


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
        "previous_hash": previous,
    }
    return link | {"hash": _hash(link)}


def _content_digest(row: Mapping[str, Any]) -> str:
    return _sha256([row[name] for name in _CONTENT])


def _hash(link: Mapping[str, Any]) -> str:
    names = ("previous_hash", "event_id", "at_ms", "kind", "erases", "content_digest")
    return _sha256([link[name] for name in names])


def _sha256(values: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


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
    if content is None and not is_erased:
        yield f"Audit: {named} was removed."
    elif content is not None and is_erased:
        yield f"Audit: {named} was erased, but has content again."
    elif content is not None and _content_digest(content._asdict()) != link.content_digest:
        yield f"Audit: {named} was changed."


def _unlinked(connection: Connection) -> Iterator[str]:
    statement = select(_event.c.id, _event.c.kind).outerjoin(_link, _link.c.event_id == _event.c.id)
    for event_id, kind in connection.execute(statement.where(_link.c.event_id.is_(None)).order_by(_event.c.id)):
        yield f"Audit: {_named(event_id, kind)} was added outside the chain."


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
