"""A copy of one audit chain outside its database: its links and the contents of its events, checked on their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from storage.audit_chain import (
    BEGINNING,
    EVENT_COLUMNS,
    LINK_COLUMNS,
    chain_problems,
    read_erased,
    read_links,
    read_starts,
)
from storage.tables import ChainEnd, EventLink, Table

_end = Table.metadata.tables[str(ChainEnd.__tablename__)]
_link = Table.metadata.tables[str(EventLink.__tablename__)]


class _Link(NamedTuple):
    event_id: int
    at_ms: int
    kind: str
    erases: str
    content_digest: str
    rows: str
    previous_hash: str
    hash: str
    chain: int
    place: int


class _End(NamedTuple):
    event_id: int
    events: int
    hash: str


@dataclass(frozen=True, slots=True)
class ChainCopy:
    """A copy of a chain: its end as (last event, links, hash), each link's values, and each event's content by id.

    The values are in the order of `LINK_COLUMNS` and `EVENT_COLUMNS`. `erased` are the ids of erased events.
    """

    end: tuple[int, int, str]
    links: tuple[tuple[Any, ...], ...]
    contents: Mapping[int, tuple[Any, ...]]
    erased: tuple[int, ...]

    def count_events(self) -> int:
        """Return the number of links with an event, erased events included."""
        return sum(bool(_Link(*link).content_digest) for link in self.links)

    def to_json(self) -> str:
        """Return the copy as JSON."""
        contents = {str(event_id): list(content) for event_id, content in self.contents.items()}
        return json.dumps(
            {"end": self.end, "links": self.links, "contents": contents, "erased": self.erased}, separators=(",", ":")
        )

    @classmethod
    def from_json(cls, text: str) -> ChainCopy:
        """Return the copy in this JSON; raise ValueError if it has another shape."""
        try:
            told = json.loads(text)
            contents = {int(event_id): tuple(content) for event_id, content in told["contents"].items()}
            copy = cls(_End(*told["end"]), tuple(map(tuple, told["links"])), contents, tuple(told["erased"]))
            for link in copy.links:
                _Link(*link)
        except (TypeError, KeyError, AttributeError) as other:
            raise ValueError("the copy of the audit chain is incomplete") from other
        return copy


def copy_chain(connection: Connection, chain: int) -> ChainCopy:
    """Return a copy of the chain."""
    links: list[tuple[Any, ...]] = []
    contents: dict[int, tuple[Any, ...]] = {}
    for row, content in read_links(connection, chain):
        links.append(tuple(getattr(row, name) for name in LINK_COLUMNS))
        if content is not None:
            contents[row.event_id] = tuple(content[name] for name in EVENT_COLUMNS)
    of_chain = select(_end.c.event_id, _end.c.events, _end.c.hash).where(_end.c.id == chain)
    found = connection.execute(of_chain).first()
    end = _End(*found) if found else _End(0, 0, "")
    gone = tuple(sorted(read_erased(connection) & {link[0] for link in links}))
    return ChainCopy(end, tuple(links), contents, gone)


def check_copy(copy: ChainCopy) -> list[str]:
    """Return a sentence for each problem of the copy."""
    links = [_Link(*link) for link in copy.links]
    pairs = ((link, copy.contents.get(link.event_id)) for link in links)
    told = (
        (link, None if content is None else dict(zip(EVENT_COLUMNS, content, strict=True))) for link, content in pairs
    )
    start = next(iter(read_starts(links).values()), BEGINNING)
    return list(chain_problems(told, _End(*copy.end), set(copy.erased), {}, start))


def find_place(connection: Connection, copy: ChainCopy) -> bool:
    """Return whether the database's chain has the copy's last hash at the same place."""
    if not copy.links:
        return True
    last = _Link(*copy.links[-1])
    same = select(_link.c.hash).where(_link.c.chain == last.chain, _link.c.place == last.place)
    return connection.execute(same).scalar() == last.hash
