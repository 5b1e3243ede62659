"""The audit log: who did what, from which entry point, and what changed. Each event is linked to the previous event
when it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlmodel import Session, col, select

from console.auth.origin import By, Door, current_origin
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
    """Append one event to the chain, within the session's write transaction.

    If `by` is not given, record the current actor (`console.auth.origin.acting`). `actor` names the part of the console
    that acted automatically. `before` and `after` are JSON values, and `detail` is further context. `erases` lists the
    events whose content this event erases.
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


def has_event(session: Session, run: tables.Run, kind: str, subject: str) -> bool:
    """Return whether the run has an event of this kind about the subject."""
    event = tables.Event
    statement = select(event.id).where(event.run_id == run.id, event.kind == kind, event.subject == subject).limit(1)
    return session.exec(statement).first() is not None


def erase(session: Session, runs: Sequence[tables.Run], now_ms: int, *, actor: str | None = None) -> None:
    """Erase the content of the runs' events, or only of the events of `actor`. The links between events stay and can
    still be verified.
    """
    event = tables.Event
    statement = select(event.id).where(col(event.run_id).in_([run.id for run in runs]))
    if actor is not None:
        statement = statement.where(event.actor == actor)
    gone = [event_id for event_id in session.exec(statement) if event_id is not None]
    if gone:
        record(session, None, ERASED, now_ms, actor="study", detail={"events": len(gone)}, erases=gone)


def _origin(by: By | None, actor: str) -> tuple[str, str, str]:
    """Return (actor, entry point, address). The address is empty if a part of the console acted."""
    acting = current_origin()
    if by is None and actor != CONSOLE:
        own = Door.PYTHON if actor == GATE else ""
        return actor, str(acting.door if acting else own), ""
    found = by or acting
    return (found.who, str(found.door), found.where) if found else (actor, "", "")


def _json(value: Any) -> str:
    return orjson.dumps(value, default=str).decode()
