"""Events: what happened, in order."""

from __future__ import annotations

from console.runs.export.query import RUN_NAME, ExportQuery, integer, json, text, time
from storage.tables import Table

_event, _link = (Table.metadata.tables[name] for name in ("event", "event_link"))

EVENTS = ExportQuery(
    cells=(
        integer("event_id", _event.c.id),
        text("run", RUN_NAME),
        time("at", _event.c.at_ms),
        text("actor", _event.c.actor),
        text("kind", _event.c.kind),
        text("subject", _event.c.subject),
        json("detail", _event.c.detail),
        text("door", _event.c.door),
        text("where", _event.c.place),
        json("before", _event.c.before),
        json("after", _event.c.after),
        text("content_digest", _link.c.content_digest),
        text("previous_hash", _link.c.previous_hash),
        text("hash", _link.c.hash),
    ),
    joined=_event.outerjoin(_link, _link.c.event_id == _event.c.id),
    run_id=_event.c.run_id,
    key=_event.c.id,
    for_researchers=True,
)
