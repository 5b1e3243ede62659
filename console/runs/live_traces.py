"""Live traces: spans that instrumented agents send over OTLP, stored on arrival and converted to trajectories.

A trace becomes a trajectory when its root span has ended, or after `SILENCE_S` seconds without a span. Later spans
extend the trajectory. The table stores a repeated span once, so an exporter may repeat a request.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, func, or_, update
from sqlmodel import Session, col, select

from console import runs
from console.auth import audit_log
from console.database import writing
from console.environments import ENVIRONMENTS
from console.errors import BadInput, Refused
from console.runs import ingest, trajectory_rows
from console.runs.importers import otel
from console.runs.importers.parts.intake import media_type_of, plain_list, plain_object, word
from console.runs.importers.parts.json_records import Record
from console.runs.importers.records import Found
from console.runs.ingest import insert_fresh, widen_critical
from console.runs.maintenance import select_held
from console.runs.secret_masking import Masker
from console.runs.trajectory_rows import prepare, store_pictures
from storage import tables
from storage.queue.transaction import Transaction

SILENCE_S = 30
"""Time in seconds without a span after which a trace without an ended root span counts as complete."""
KEPT_DAYS = 7
"""Number of days to keep spans, so that late spans can extend their trajectory."""

_AT_ONCE = 100
_DAY_MS = 86_400_000
_TRACE, _SPAN = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{16}")
_UNNAMED = re.compile(r"unknown_service\b")
_NOT_IN_NAMES = re.compile(r"[^\w .@-]+")
_BAD_SPAN = "A span has no valid traceId and spanId in hexadecimal."
_INSERT = """
INSERT INTO live_span (run_id, trace_id, span_id, is_root, body, received_ms)
VALUES (:run_id, :trace_id, :span_id, :is_root, :body, :received_ms)
ON CONFLICT (run_id, trace_id, span_id) DO NOTHING"""
_SPANS = update(tables.LiveSpan).where(col(tables.LiveSpan.id).in_(bindparam("spans", expanding=True)))


@dataclass(slots=True)
class Received:
    """The result of a request: new spans, rejected spans and the last reason, and the runs with stored spans."""

    spans: int = 0
    rejected: int = 0
    reason: str = ""
    runs: set[str] = field(default_factory=set)


def store_spans(request: Mapping[str, Any], agent: str, at_ms: int) -> Received:
    """Store the spans of an OTLP request in JSON form with hexadecimal ids; raise BadInput if the request is invalid.

    The run's name is `service.name`, or the agent's name if missing. Raise Refused if that run does not hold this
    agent's traces.
    """
    if not isinstance(request.get("resourceSpans", []), list):
        raise BadInput('"resourceSpans" is not a list. Send an ExportTraceServiceRequest.')
    received = Received()
    by_run: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for resource in map(plain_object, request.get("resourceSpans", [])):
        name = _run_name(resource, agent)
        for span in _spans(resource):
            if (row := _row(span, at_ms)) is None:
                received.rejected += 1
                received.reason = _BAD_SPAN
            else:
                by_run[name].append(row)
    with writing() as session:
        for name, rows in by_run.items():
            run = _run_of(session, name, agent, at_ms)
            stored = [{**row, "run_id": run.id} for row in rows]
            received.spans += Transaction.joined(session).run_many(_INSERT, stored)
            received.runs.add(name)
    return received


def build_due(at_ms: int) -> dict[str, list[int]]:
    """Convert the complete traces, and return the ids of the new and extended trajectories by run."""
    touched: dict[str, list[int]] = defaultdict(list)
    while True:
        with writing() as session:
            due = _due(session, at_ms)
            for run_id, trace_id in due:
                run = session.get_one(tables.Run, run_id)
                touched[run.name] += _build(session, run, trace_id, at_ms)
        if len(due) < _AT_ONCE:
            break
    return {name: ids for name, ids in touched.items() if ids}


def prune(session: Session, before_ms: int) -> None:
    """Delete the spans of converted traces without new spans since that time, except of runs on legal hold."""
    span = tables.LiveSpan
    fresh = select(span.trace_id).where(or_(col(span.received_ms) >= before_ms, col(span.built_ms).is_(None)))
    session.execute(delete(span).where(col(span.trace_id).not_in(fresh), col(span.run_id).not_in(select_held())))


def _run_name(resource: Mapping[str, Any], agent: str) -> str:
    told = otel.attribute_values(plain_object(resource.get("resource")).get("attributes"))
    service = word(told.get("service.name")).strip()
    name = agent if not service or _UNNAMED.match(service) else service
    return _NOT_IN_NAMES.sub("-", name)[:80].strip() or "traces"


def _spans(resource: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for scope in map(plain_object, plain_list(resource.get("scopeSpans"))):
        yield from map(plain_object, plain_list(scope.get("spans")))


def _row(span: Mapping[str, Any], at_ms: int) -> dict[str, Any] | None:
    trace_id, span_id = word(span.get("traceId")).lower(), word(span.get("spanId")).lower()
    if not (_TRACE.fullmatch(trace_id) and _SPAN.fullmatch(span_id)):
        return None
    parent = word(span.get("parentSpanId")).lower()
    body = Masker().mask_value({**span, "traceId": trace_id, "spanId": span_id, "parentSpanId": parent})
    known = {"trace_id": trace_id, "span_id": span_id, "is_root": not parent, "received_ms": at_ms}
    return {**known, "body": orjson.dumps(body).decode()}


def _run_of(session: Session, name: str, agent: str, at_ms: int) -> tables.Run:
    """Return the run of this agent's traces, creating it if needed. Raise Refused if the run holds other records."""
    runs.check_name(name)
    known = runs.find(session, name)
    if known is not None and runs.run_options(known).traced_by != agent:
        raise Refused(f"The run {name!r} does not hold traces of the agent {agent}. Set another service.name.")
    if known is not None:
        return known
    run = runs.archive(session, name, at_ms)
    run.options = replace(runs.run_options(run), traced_by=agent).to_json()
    session.add(run)
    session.flush()
    audit_log.record(session, run, "traces received", at_ms, detail={"agent": agent})
    return run


def _due(session: Session, at_ms: int) -> list[tuple[int, str]]:
    """Return (run id, trace id) of the complete traces with unconverted spans."""
    span = tables.LiveSpan
    waiting = select(span.run_id, span.trace_id).where(col(span.built_ms).is_(None)).distinct().subquery()
    statement = (
        select(span.run_id, span.trace_id)
        .join(waiting, (waiting.c.run_id == span.run_id) & (waiting.c.trace_id == span.trace_id))
        .group_by(col(span.run_id), col(span.trace_id))
        .having(or_(func.max(span.is_root), func.max(span.received_ms) <= at_ms - SILENCE_S * 1_000))
        .limit(_AT_ONCE)
    )
    return [(run_id, trace_id) for run_id, trace_id in session.exec(statement)]


def _build(session: Session, run: tables.Run, trace_id: str, at_ms: int) -> list[int]:
    """Convert the whole trace; insert or extend its trajectory, and return the ids of changed trajectories."""
    span = tables.LiveSpan
    of_trace = select(span).where(span.run_id == run.id, span.trace_id == trace_id).order_by(col(span.id))
    rows = session.exec(of_trace).all()
    records = [Record(number, orjson.loads(row.body)) for number, row in enumerate(rows, 1)]
    entry = otel.read_trace(Path("OTLP"), trace_id, records)
    ids = [row.id for row in rows]
    session.connection().execute(_SPANS.values(built_ms=at_ms), {"spans": ids})
    if not isinstance(entry, Found):
        return []
    # A secret that one span names may be in another span without its name.
    record = Masker().mask_record(entry.trajectory, entry.trajectory.to_json())
    widen_critical(session, run, {record.environment})
    store_pictures(session, _pictures(entry.pictures))
    ready = prepare(record, (*runs.patterns(run), *ENVIRONMENTS[record.environment].critical))
    fresh, extended = ingest.extend_known(session, run, [ready])
    return extended if not insert_fresh(session, run, fresh, at_ms) else [*extended, *_ids(session, run, fresh)]


def _ids(session: Session, run: tables.Run, fresh: Sequence[trajectory_rows.Prepared]) -> Iterable[int]:
    record = tables.Trajectory
    digests = [one.row["digest"] for one in fresh]
    found = session.exec(select(record.id).where(record.run_id == run.id, col(record.digest).in_(digests)))
    return [one for one in found if one is not None]


def _pictures(found: Mapping[str, bytes]) -> Iterator[dict[str, object]]:
    for digest, data in found.items():
        yield {"digest": digest, "media_type": media_type_of(data) or "application/octet-stream", "data": data}
