"""The audit log: who did what, through which door, and what it changed; every event is chained as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlmodel import Session, col, select

from console.auth.origin import By, Door, present
from storage import audit_chain, tables

CONSOLE, GATE = "console", "gate"
ERASED = "content erased"


def record(
    session: Session,
    run: tables.Run | None,
    kind: str,
    now_ms: int,
    *,
    by: By | None = None,
    actor: str = CONSOLE,
    subject: str = "",
    before: Any = None,
    after: Any = None,
    detail: Mapping[str, Any] | None = None,
    erases: Sequence[int] = (),
) -> None:
    """Appends one event to the chain, in the session's own write transaction.

    Without `by` it is whoever acts just now (`console.auth.origin.acting`); an `actor` is the part of the console that
    acted by itself, and keeps its name. `before` and `after` are anything JSON can hold, `detail` what else a reader of
    the log needs; `erases` are events whose content goes with this one.
    """
    session.flush()
    who, door, place = _origin(by, actor)
    content = {
        "run_id": run.id if run else None,
        "at_ms": now_ms,
        "actor": who,
        "kind": kind,
        "subject": subject,
        "detail": _json(dict(detail or {})),
        "door": door,
        "place": place,
        "before": None if before is None else _json(before),
        "after": None if after is None else _json(after),
    }
    audit_chain.append(session.connection(), content, erases)


def happened(session: Session, run: tables.Run, kind: str, subject: str) -> bool:
    """Whether the run has such an event about the subject."""
    event = tables.Event
    statement = select(event.id).where(event.run_id == run.id, event.kind == kind, event.subject == subject).limit(1)
    return session.exec(statement).first() is not None


def erase(session: Session, runs: Sequence[tables.Run], now_ms: int, *, actor: str | None = None) -> None:
    """Erases the content of the runs' events, with `actor` only of theirs; their links stay and still verify."""
    event = tables.Event
    statement = select(event.id).where(col(event.run_id).in_([run.id for run in runs]))
    if actor is not None:
        statement = statement.where(event.actor == actor)
    gone = [event_id for event_id in session.exec(statement) if event_id is not None]
    if gone:
        record(session, None, ERASED, now_ms, actor="study", detail={"events": len(gone)}, erases=gone)


def _origin(by: By | None, actor: str) -> tuple[str, str, str]:
    """(who, door, from where); a part of the console has no address."""
    acting = present()
    if by is None and actor != CONSOLE:
        own = Door.PYTHON if actor == GATE else ""
        return actor, str(acting.door if acting else own), ""
    found = by or acting
    return (found.who, str(found.door), found.where) if found else (actor, "", "")


def _json(value: Any) -> str:
    return orjson.dumps(value, default=str).decode()
