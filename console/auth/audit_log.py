"""The audit log: all actions with their authors, entry points and changes.

Every event and decision records its origin: the actor and the entry point. Each new event has a link to the previous
event.

Spans of requests, checks, claims, decisions and jobs use the OpenTelemetry API, and are off unless the setting is on.
The SDK that the operator configures exports the spans. No span holds content: names, texts and actions stay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import Any

import orjson
from sqlmodel import Session, col, select

from console.errors import BadInput
from console.settings import settings
from storage import audit_chain, tables

CONSOLE, GATE = "console", "gate"
ERASED = "content erased"


class Door(StrEnum):
    """The entry points of the console; `import` marks decisions imported from a log."""

    BROWSER = "browser"
    CLI = "cli"
    API = "api"
    PYTHON = "python"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class By:
    """The origin of an action: a person's or an agent's name, the entry point, and the client's address if known."""

    who: str
    door: Door
    where: str = ""


_present: ContextVar[By | None] = ContextVar("inferact_by", default=None)


@contextmanager
def acting(by: By) -> Iterator[None]:
    """Set `by` as the origin of this thread's or task's records within the block, unless a record has its own."""
    token = _present.set(by)
    try:
        yield
    finally:
        _present.reset(token)


def current_origin() -> By | None:
    """Return the origin set for this thread or task, or None if no origin is set."""
    return _present.get()


def record(
    session: Session,
    run: tables.Run | None,
    kind: str,
    now_ms: int,
    *,
    by: By | str | None = None,
    subject: str = "",
    before: Any = None,
    after: Any = None,
    detail: Mapping[str, Any] | None = None,
    erases: Sequence[int] = (),
) -> None:
    """Append one event to the chain, within the session's write transaction.

    `by` is the origin, or the name of the console's component that acted; by default, it is the origin set with
    `acting`. `before` and `after` are JSON values, and `detail` is further context. `erases` lists the events whose
    content this event erases.
    """
    session.flush()
    who, door, place = _origin(by)
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
    """Erase the content of the runs' events, or only of the events of `actor`. The links between events remain, so that
    a check can still verify them.
    """
    event = tables.Event
    statement = select(event.id).where(col(event.run_id).in_([run.id for run in runs]))
    if actor is not None:
        statement = statement.where(event.actor == actor)
    gone = [event_id for event_id in session.exec(statement) if event_id is not None]
    if gone:
        record(session, None, ERASED, now_ms, by="study", detail={"events": len(gone)}, erases=gone)


def _origin(by: By | str | None) -> tuple[str, str, str]:
    """Return (actor, entry point, address). The address is empty for a component of the console."""
    acting = current_origin()
    if isinstance(by, str):
        own = Door.PYTHON if by == GATE else ""
        return by, str(acting.door if acting else own), ""
    found = by or acting
    return (found.who, str(found.door), found.where) if found else (CONSOLE, "", "")


def _json(value: Any) -> str:
    return orjson.dumps(value, default=str).decode()


def check_traces_setting() -> None:
    """Raise BadInput if the setting needs a package that is not installed."""
    if settings().traces and find_spec("opentelemetry") is None:
        raise BadInput("INFERACT_TRACES needs OpenTelemetry. Install it: pip install 'inferact-console[traces]'")


@contextmanager
def span(name: str, about: Mapping[str, str | int] | None = None) -> Iterator[None]:
    """Record the block, or as a decorator the function, as a span; read the attributes `about` at its end."""
    if not settings().traces:
        yield
        return
    from opentelemetry import trace

    # The text of an exception may quote an action, so that the span keeps only its type.
    start = trace.get_tracer("inferact.console").start_as_current_span
    with start(name, record_exception=False, set_status_on_exception=False) as current:
        try:
            yield
        except BaseException as failed:
            current.set_status(trace.Status(trace.StatusCode.ERROR))
            current.set_attribute("error.type", type(failed).__name__)
            raise
        finally:
            current.set_attributes(about or {})
