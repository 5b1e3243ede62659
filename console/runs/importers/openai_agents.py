"""Traces of the OpenAI Agents SDK: spans of functions, responses and agents, grouped by trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from console.errors import UnreadableFile
from console.runs.importers.parts.conversation import entry_of
from console.runs.importers.parts.intake import Intake, plain_object, word
from console.runs.importers.parts.json_records import GroupedRecord, grouped, objects
from console.runs.importers.parts.spans import MODEL_SPAN, TOOL_SPAN, LoggedSpan, turns_of_spans, unpacked
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Trajectory

_NAME = "openai-agents"
_MARKS = ((".object", ".workflow_name"), (".trace_id", ".span_data"))
_HOLDING = frozenset({"agent", "turn", "task", "handoff", "custom", "mcp_tools"})


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield each trace as a trajectory."""
    for trace, found in grouped(_records(path, progress), path):
        yield _entry(path, trace, found)


def _records(path: Path, progress: Progress | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for record in objects(path, progress, *_MARKS):
        if not {"span_data", "workflow_name"} & record.value.keys():
            raise UnreadableFile(
                str(path), "This record is neither a trace nor a span of the SDK. Export the traces again.", record.line
            )
        yield _trace(record.value), record.line, record.value


def _trace(value: Mapping[str, Any]) -> str:
    return str(value.get("trace_id") or value.get("id") or "")


def _entry(path: Path, trace: str, records: Sequence[GroupedRecord]) -> Entry:
    intake = Intake(path, records[0].line)
    by_id = {str(one.value.get("id")): one.value for one in records}
    spans = [span for number, one in enumerate(records, 1) if (span := _span(one, by_id, number, intake))]
    head: dict[str, Any] = next((one.value for one in records if "workflow_name" in one.value), {})
    trajectory = Trajectory(
        task_id=trace or f"line-{intake.line}",
        environment="generic",
        instruction="",
        source={"file": path.name, "line": intake.line, "format": _NAME},
        extra={name: head[name] for name in ("workflow_name", "group_id", "metadata") if head.get(name)},
    )
    return entry_of(intake, turns_of_spans(spans, intake), trajectory)


def _span(
    record: GroupedRecord, by_id: Mapping[str, Mapping[str, Any]], number: int, intake: Intake
) -> LoggedSpan | None:
    value, intake.at = record.value, record.line
    data = plain_object(value.get("span_data"))
    kind = word(data.get("type"))
    if kind in _HOLDING or "span_data" not in value:
        return None
    if kind not in ("function", "generation", "response"):
        intake.leave_out(f"span of type {kind}")
        return None
    answer = data.get("response")
    return LoggedSpan(
        TOOL_SPAN if kind == "function" else MODEL_SPAN,
        name=str(data.get("name") or ""),
        start=str(value.get("started_at") or ""),
        asked=unpacked(data.get("input")),
        given=data.get("output") if data.get("output") is not None else answer,
        speaker=_agent(value, by_id),
        error=str(plain_object(value.get("error")).get("message") or ""),
        number=number,
        line=record.line,
    )


def _agent(value: Mapping[str, Any], by_id: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the name of the nearest agent among the span's ancestors."""
    for _ in range(len(by_id)):
        parent = by_id.get(str(value.get("parent_id")))
        if parent is None:
            break
        value = parent
        data = plain_object(value.get("span_data"))
        if data.get("type") == "agent":
            return str(data.get("name") or "")
    return ""


IMPORTER = Importer(_NAME, "Traces of the OpenAI Agents SDK", read, _MARKS)
