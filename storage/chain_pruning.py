"""Pruning of the runs' audit chains: old links go, and a checkpoint at each chain's end proves the links that stay.

A chain is cut at a seal. The access chain keeps the hash of each seal, so a checkpoint that another program wrote
shows, and an earlier head still matches. Latest digests of rows that only removed links held are in the checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select

from storage import audit_chain
from storage.audit_chain import CHAIN, CHECKPOINT
from storage.tables import ChainEnd, Event, EventLink, Table

_event, _link, _end = (Table.metadata.tables[str(one.__tablename__)] for one in (Event, EventLink, ChainEnd))
_ROWS = 1_000
"""Maximum number of digests in one link of a checkpoint."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The part of a run's chain to remove: up to the link at `place`; it has so many links and events with content."""

    chain: int
    place: int
    hash: str
    links: int
    events: int


def plan_cuts(connection: Connection, before_ms: int, kept: Collection[int]) -> list[Cut]:
    """Return what a pruning of all links that were sealed before this time removes, without the chains in `kept`."""
    newest = {chain: (place, last) for chain, place, last in audit_chain.read_heads(connection, before_ms)}
    planned = []
    for chain, (place, last) in sorted(newest.items()):
        old = (_link.c.chain == chain, _link.c.place <= place)
        links, events = connection.execute(
            select(func.count(), func.count(_event.c.id))
            .select_from(_link.outerjoin(_event, _event.c.id == _link.c.event_id))
            .where(*old, _link.c.kind != CHECKPOINT)
        ).one()
        if links and chain not in kept:
            planned.append(Cut(chain, place, last, links, events))
    return planned


def prune(connection: Connection, cuts: Collection[Cut]) -> None:
    """Remove these parts with the content of their events, in the caller's write transaction; add the checkpoints."""
    cursor, server = connection.connection.cursor(), connection.dialect.name != "sqlite"
    for cut in cuts:
        gone = select(_link.c.event_id).where(_link.c.chain == cut.chain, _link.c.place <= cut.place)
        connection.execute(delete(_event).where(_event.c.id.in_(gone)))
    # No other transaction adds a link until this one ends. An erasure locks in the same order: events, then ends.
    connection.execute(select(_end.c.id).order_by(_end.c.id).with_for_update()).all()
    latest = audit_chain.latest_digests(connection)
    for cut in cuts:
        old = (_link.c.chain == cut.chain, _link.c.place <= cut.place)
        texts = connection.execute(select(_link.c.rows).where(*old).order_by(_link.c.place)).scalars()
        held = [
            [name, row_id, digest]
            for text in texts
            for name, row_id, digest in json.loads(text)
            if name != CHAIN and digest is not None and latest[name][row_id] == digest
        ]
        connection.execute(delete(_link).where(*old))
        rows = [[CHAIN, cut.chain, f"{cut.place}:{cut.hash}"], *held]
        parts = [rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS)]
        audit_chain.add_links(
            cursor, cut.chain, [audit_chain.rows_link(part, CHECKPOINT) for part in parts], server=server
        )
