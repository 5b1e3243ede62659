"""LangSmith runs: a tree of models, tools and chains, one run per line or all runs in a list, grouped by trace."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from console.errors import UnreadableFile
from console.runs.importers.parts.conversation import entry_of
from console.runs.importers.parts.intake import Intake, plain_object
from console.runs.importers.parts.json_records import GroupedRecord, grouped, objects
from console.runs.importers.parts.rewards import scored_result
from console.runs.importers.parts.spans import MODEL_SPAN, TOOL_SPAN, LoggedSpan, turns_of_spans, unpacked
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Trajectory

_NAME = "langsmith"
_MARKS = ((".run_type",),)
_MODELS = ("llm", "chat_model")
_HOLDING = ("chain", "prompt", "parser")


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield each trace as a trajectory."""
    for trace, records in grouped(_runs(path, progress), path):
        yield _entry(path, trace, records)


def _runs(path: Path, progress: Progress | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for record in objects(path, progress, *_MARKS):
        for run in _tree(record.value):
            if not isinstance(run.get("run_type"), str):
                raise UnreadableFile(str(path), 'A run has no "run_type". Export the runs again.', record.line)
            yield _trace(run), record.line, run


def _entry(path: Path, trace: str, records: Sequence[GroupedRecord]) -> Entry:
    intake = Intake(path, records[0].line)
    root = next((one.value for one in records if not one.value.get("parent_run_id")), records[0].value)
    stats = plain_object(root.get("feedback_stats"))
    outcome, gold = scored_result({name: plain_object(value).get("avg") for name, value in stats.items()})
    spans = [span for number, one in enumerate(records, 1) if (span := _span(one, number, intake))]
    spans = spans or [LoggedSpan(MODEL_SPAN, "run", "", root.get("inputs"), root.get("outputs"))]
    trajectory = Trajectory(
        task_id=trace or f"line-{intake.line}",
        environment="generic",
        instruction="",
        outcome=outcome,
        gold=gold,
        source={"file": path.name, "line": intake.line, "format": _NAME},
        extra={name: root[name] for name in ("name", "session_name", "tags", "error") if root.get(name)},
    )
    return entry_of(intake, turns_of_spans(spans, intake), trajectory)


def _tree(run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a run and its descendants, each exactly once."""
    children = run.get("child_runs")
    yield {key: value for key, value in run.items() if key != "child_runs"}
    for child in children if isinstance(children, list) else ():
        if isinstance(child, dict):
            yield from _tree({"trace_id": _trace(run), **child})


def _trace(run: Mapping[str, Any]) -> str:
    return str(run.get("trace_id") or run.get("id") or "")


def _span(record: GroupedRecord, number: int, intake: Intake) -> LoggedSpan | None:
    run, intake.at = record.value, record.line
    kind = run.get("run_type")
    if kind in _HOLDING:
        return None
    if kind != "tool" and kind not in _MODELS:
        intake.leave_out(f"run of type {kind}")
        return None
    asked, given = unpacked(run.get("inputs")), unpacked(run.get("outputs"))
    metadata = plain_object(plain_object(run.get("extra")).get("metadata"))
    return LoggedSpan(
        TOOL_SPAN if kind == "tool" else MODEL_SPAN,
        name=str(run.get("name") or ""),
        start=str(run.get("dotted_order") or run.get("start_time") or ""),
        asked=_given_to(asked) if kind == "tool" else asked,
        given=given,
        call_id=_call_id(given) if kind == "tool" else "",
        speaker=str(metadata.get("lc_agent_name") or ""),
        error=str(run.get("error") or ""),
        number=number,
        line=record.line,
    )


def _given_to(asked: Any) -> Any:
    """Return a tool's arguments without LangChain's wrapper field `input`."""
    if not (isinstance(asked, dict) and asked.keys() == {"input"}):
        return asked
    given = unpacked(asked["input"])
    if isinstance(given, str) and given.startswith("{"):
        # LangChain writes them as Python does, in single quotes.
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return literal_eval(given)
    return given


def _call_id(given: Any) -> str:
    output = plain_object(plain_object(given).get("output", given))
    told = {**plain_object(output.get("kwargs")), **output}.get("tool_call_id")
    return told if isinstance(told, str) else ""


IMPORTER = Importer(_NAME, "LangSmith runs", read, _MARKS)
