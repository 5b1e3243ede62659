"""Events: what happened, in order."""

from __future__ import annotations

from console.runs.export.query import RUN_NAME, ExportQuery, integer, json, text, time
from storage.tables import Table

_event = Table.metadata.tables["event"]

EVENTS = ExportQuery(
    cells=(
        integer("event_id", _event.c.id),
        text("run", RUN_NAME),
        time("at", _event.c.at_ms),
        text("actor", _event.c.actor),
        text("kind", _event.c.kind),
        text("subject", _event.c.subject),
        json("detail", _event.c.detail),
    ),
    joined=_event,
    run_id=_event.c.run_id,
    key=_event.c.id,
    for_researchers=True,
)
