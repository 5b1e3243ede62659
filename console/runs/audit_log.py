"""What happened, in order: one row per event, for audit and for the events export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from sqlmodel import Session, select

from storage import tables


def record(
    session: Session,
    run: tables.Run | None,
    kind: str,
    now_ms: int,
    *,
    actor: str = "console",
    subject: str = "",
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Appends one event; `detail` is what a reader of the log needs to understand it."""
    text = orjson.dumps(dict(detail or {})).decode()
    run_id = run.id if run else None
    session.add(tables.Event(run_id=run_id, at_ms=now_ms, actor=actor, kind=kind, subject=subject, detail=text))


def happened(session: Session, run: tables.Run, kind: str, subject: str) -> bool:
    """Whether the run has such an event about the subject."""
    event = tables.Event
    statement = select(event.id).where(event.run_id == run.id, event.kind == kind, event.subject == subject).limit(1)
    return session.exec(statement).first() is not None
