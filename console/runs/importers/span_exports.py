"""Exports of Weave, Braintrust and Opik: each of their spans is read as a run in the form of LangSmith."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from console.errors import UnreadableFile
from console.runs.importers.parts.intake import plain_list, plain_object, word
from console.runs.importers.parts.json_records import objects
from console.runs.importers.records import Entry, Importer, Progress
from console.runs.importers.traces import UNTOLD, run_entries

Run = dict[str, Any]
Marks = tuple[tuple[str, ...], ...]

_WEAVE, _BRAINTRUST, _OPIK = "weave", "braintrust", "opik"
_WEAVE_MARKS = ((".op_name", ".trace_id", ".inputs"),)
_BRAINTRUST_MARKS = ((".span_attributes", ".root_span_id"), (".events[].span_attributes", ".events[].root_span_id"))
_OPIK_MARKS = (
    (".trace.id", ".spans[].trace_id", ".spans[].type"),
    (".trace_id", ".parent_span_id", ".type", ".start_time"),
)
_OPERATION = re.compile(r"\Aweave:///.*/op/([^:]*)(?::.*)?\Z")
_ANSWERS = frozenset({"choices", "candidates", "generations", "stop_reason", "finish_reason"})
"""Fields that only a model's answer has; Weave records models and tools as plain functions."""
_KINDS = {"llm": "llm", "tool": "tool", "function": UNTOLD, "general": UNTOLD}


def _weave(value: Mapping[str, Any]) -> Iterator[Run]:
    name = word(value.get("op_name"))
    output, inputs = value.get("output"), plain_object(value.get("inputs"))
    kind = word(plain_object(plain_object(value.get("attributes")).get("weave")).get("kind"))
    if isinstance(output, dict) and _ANSWERS & output.keys():
        kind = "llm"
    yield {
        "id": value.get("id"),
        "trace_id": word(value.get("trace_id")),
        "parent_run_id": value.get("parent_id"),
        "run_type": _KINDS.get(kind, UNTOLD),
        "name": _OPERATION.sub(r"\1", name),
        "inputs": {key: one for key, one in inputs.items() if key != "self"},
        "outputs": output,
        "start_time": value.get("started_at"),
        "error": value.get("exception"),
    }


def _braintrust(value: Mapping[str, Any]) -> Iterator[Run]:
    for span in plain_list(value["events"]) if "events" in value else [value]:
        span = plain_object(span)
        about = plain_object(span.get("span_attributes"))
        scores = plain_object(span.get("scores"))
        yield {
            "id": span.get("span_id"),
            "trace_id": word(span.get("root_span_id")),
            "parent_run_id": next(iter(plain_list(span.get("span_parents"))), None),
            "run_type": _KINDS.get(word(about.get("type")), "chain"),
            "name": about.get("name"),
            "inputs": span.get("input"),
            "outputs": span.get("output"),
            "start_time": f"{plain_object(span.get('metrics')).get('start') or span.get('created')}",
            "error": span.get("error"),
            "feedback_stats": {name: {"avg": score} for name, score in scores.items() if score is not None},
        }


def _opik(value: Mapping[str, Any]) -> Iterator[Run]:
    trace = plain_object(value.get("trace"))
    told = [plain_object(one) for one in plain_list(trace.get("feedback_scores"))]
    scores = {str(one["name"]): {"avg": one.get("value")} for one in told if "name" in one}
    for span in (
        [{**trace, "trace_id": trace.get("id")}, *map(plain_object, plain_list(value.get("spans")))]
        if trace
        else [value]
    ):
        yield {
            "id": span.get("id"),
            "trace_id": word(span.get("trace_id")),
            "parent_run_id": span.get("parent_span_id") or (trace.get("id") if "type" in span else None),
            "run_type": _KINDS.get(word(span.get("type")), "chain"),
            "name": span.get("name"),
            "inputs": span.get("input"),
            "outputs": span.get("output"),
            "start_time": span.get("start_time"),
            "error": plain_object(span.get("error_info")).get("message"),
            "feedback_stats": {} if "type" in span else scores,
        }


def _build_importer(
    name: str, title: str, marks: Marks, list_runs: Callable[[Mapping[str, Any]], Iterator[Run]]
) -> Importer:
    def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
        """Yield the traces of the export; raise UnreadableFile if a span belongs to no trace."""
        return run_entries(_list_located(path, progress), path, name)

    def _list_located(path: Path, progress: Progress | None) -> Iterator[tuple[str, int, Run]]:
        for record in objects(path, progress, *marks):
            for run in list_runs(record.value):
                if not run["trace_id"]:
                    raise UnreadableFile(str(path), "A span has no trace. Export the spans again.", record.line)
                yield run["trace_id"], record.line, run

    return Importer(name, title, read, marks)


WEAVE = _build_importer(_WEAVE, "Weave calls", _WEAVE_MARKS, _weave)
BRAINTRUST = _build_importer(_BRAINTRUST, "Braintrust spans", _BRAINTRUST_MARKS, _braintrust)
OPIK = _build_importer(_OPIK, "Opik traces and spans", _OPIK_MARKS, _opik)
