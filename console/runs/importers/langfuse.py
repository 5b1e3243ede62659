"""Langfuse exports: a trace with its observations; tools and generations become steps, and scores determine the
result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from console.errors import UnreadableFile
from console.runs.importers.parts.conversation import entry_of
from console.runs.importers.parts.files import beginning_of
from console.runs.importers.parts.intake import Intake, plain_list, plain_object
from console.runs.importers.parts.json_records import HEAD_BYTES, Record, base_of, grouped, objects, outline
from console.runs.importers.parts.rewards import scored_result
from console.runs.importers.parts.spans import MODEL_SPAN, TOOL_SPAN, LoggedSpan, turns_of_spans, unpacked
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Trajectory

_NAME = "langfuse"
_MARKS = (
    (".trace", ".observations"),
    (".observations[].type",),
    (".observations", ".projectId"),
    (".trace.observations",),
)
_ROWS = ((".traceId", ".startTime", ".type"),)
"""Observations without their trace, one per row, as Langfuse's page and API export them."""
_HOLDING = ("SPAN", "AGENT", "CHAIN")
"""Observations that only group others."""


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the traces; raise UnreadableFile if a record has no list of observations."""
    if base_of(outline(beginning_of(path, HEAD_BYTES)), *_MARKS) is None:
        for trace, rows in grouped(_rows(path, progress), path):
            yield _entry(path, Record(rows[0].line, {"id": trace, "observations": [one.value for one in rows]}))
        return
    for record in objects(path, progress, *_MARKS):
        yield _entry(path, record)


def _rows(path: Path, progress: Progress | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for row in objects(path, progress, *_ROWS):
        if not isinstance(row.value.get("traceId"), str):
            raise UnreadableFile(
                str(path), '"observations" and "traceId" are missing. Export the trace again.', row.line
            )
        yield row.value["traceId"], row.line, row.value


def _entry(path: Path, record: Record) -> Entry:
    intake = Intake(path, record.line)
    trace = plain_object(record.value.get("trace")) or record.value
    observations = record.value.get("observations", trace.get("observations"))
    if not isinstance(observations, list):
        raise intake.refusal('"observations" is missing or is not a list. Export the trace again.')
    found = [plain_object(one) for one in observations]
    spans = [span for number, one in enumerate(found, 1) if (span := _span(one, found, number, intake))]
    spans = spans or [LoggedSpan(MODEL_SPAN, "trace", "", trace.get("input"), trace.get("output"))]
    return entry_of(intake, turns_of_spans(spans, intake), _trajectory(path, record, trace))


def _trajectory(path: Path, record: Record, trace: Mapping[str, Any]) -> Trajectory:
    scores = plain_list(trace.get("scores")) or plain_list(record.value.get("scores"))
    told = {str(one["name"]): one.get("value", one.get("stringValue")) for one in scores if "name" in plain_object(one)}
    outcome, gold = scored_result(told)
    asked = unpacked(trace.get("input"))
    kept = ("name", "sessionId", "userId", "tags")
    return Trajectory(
        task_id=str(trace.get("id") or f"line-{record.line}"),
        environment="generic",
        instruction=asked if isinstance(asked, str) else "",
        outcome=outcome,
        gold=gold,
        source={"file": path.name, "line": record.line, "format": _NAME},
        extra={key: trace[key] for key in kept if trace.get(key)} | record.notes,
    )


def _span(
    one: Mapping[str, Any], others: Sequence[Mapping[str, Any]], number: int, intake: Intake
) -> LoggedSpan | None:
    kind = str(one.get("type") or "").upper()
    if kind in _HOLDING:
        alone = not any(other.get("parentObservationId") == one.get("id") for other in others)
        if kind == "SPAN" and alone and one.get("input") is not None and one.get("output") is not None:
            intake.leave_out("observation of type SPAN that holds no other")
        return None
    if kind not in ("GENERATION", "TOOL"):
        intake.leave_out(f"observation of type {kind or 'none'}")
        return None
    failed = one.get("level") == "ERROR"
    return LoggedSpan(
        TOOL_SPAN if kind == "TOOL" else MODEL_SPAN,
        name=str(one.get("name") or ""),
        start=str(one.get("startTime") or ""),
        asked=unpacked(one.get("input")),
        given=unpacked(one.get("output")),
        speaker=_agent(one, {other.get("id"): other for other in others if isinstance(other.get("id"), str)}),
        error=str(one.get("statusMessage") or "") if failed else "",
        number=number,
    )


def _agent(one: Mapping[str, Any], by_id: Mapping[Any, Mapping[str, Any]]) -> str:
    """Return the name of the nearest agent among the observation's ancestors."""
    for _ in range(len(by_id)):
        parent = one.get("parentObservationId")
        if not isinstance(parent, str) or parent not in by_id:
            break
        one = by_id[parent]
        if str(one.get("type")).upper() == "AGENT":
            return str(one.get("name") or "")
    return ""


IMPORTER = Importer(_NAME, "Langfuse traces with their observations", read, _MARKS, also=_ROWS)
