"""Traces of Langfuse, LangSmith and the OpenAI Agents SDK: spans are objects with a type, an input and an output.

Spans of models and tools become steps; spans that only group other spans do not.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.errors import UnreadableFile
from console.runs.importers.parts.conversation import entry_of
from console.runs.importers.parts.intake import Intake, as_text, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import Record, base_of, group_records, objects, outlines
from console.runs.importers.parts.rewards import read_scores
from console.runs.importers.parts.spans import (
    MODEL_SPAN,
    TOOL_SPAN,
    LoggedSpan,
    list_offered_tools,
    tool_attributes,
    tool_name,
    turns_of_spans,
    unpack_json,
)
from console.runs.importers.records import Entry, Importer, Progress

Span = Mapping[str, Any]

_LANGFUSE, _LANGSMITH, _OPENAI_AGENTS = "langfuse", "langsmith", "openai-agents"
_LANGFUSE_MARKS = (
    (".trace", ".observations"),
    (".observations[].type",),
    (".observations", ".projectId"),
    (".trace.observations",),
)
_ROWS = ((".traceId", ".startTime", ".type"),)
"""Field paths of single observations, one per row, as exported by Langfuse's page and API."""
_LANGSMITH_MARKS = ((".run_type",), (".post[].run_type",), (".patch[].dotted_order",))
_OPENAI_AGENTS_MARKS = ((".object", ".workflow_name"), (".trace_id", ".span_data"))
_OBSERVATION_GROUPS = ("SPAN", "AGENT", "CHAIN")
_RUN_GROUPS = ("chain", "prompt", "parser")
_MODELS = ("llm", "chat_model")
UNTOLD = "untold"
"""The type of a run that its log records as a plain function."""
_RESULT_FIELDS = frozenset({"output", "outputs", "result", "content", "messages", "error", "generations"})
_SPAN_GROUPS = ("agent", "turn", "task", "handoff", "custom", "mcp_tools")


def read_langfuse(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the traces of Langfuse; raise UnreadableFile if a record has no list of observations."""
    if all(base_of(paths, *_LANGFUSE_MARKS) is None for paths in outlines(path)):
        for trace, rows in group_records(_observations(path, progress), path):
            yield _langfuse_entry(
                path, Record(rows[0].line, {"id": trace, "observations": [one.value for one in rows]})
            )
        return
    for record in objects(path, progress, *_LANGFUSE_MARKS):
        yield _langfuse_entry(path, record)


def _observations(path: Path, progress: Progress | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for row in objects(path, progress, *_ROWS):
        if not isinstance(row.value.get("traceId"), str):
            reason = '"observations" and "traceId" are missing. Export the trace again.'
            raise UnreadableFile(str(path), reason, row.line)
        yield row.value["traceId"], row.line, row.value


def _langfuse_entry(path: Path, record: Record) -> Entry:
    intake = Intake(path, record.line, _LANGFUSE)
    trace = plain_object(record.value.get("trace")) or record.value
    observations = record.value.get("observations", trace.get("observations"))
    if not isinstance(observations, list):
        raise intake.refusal('"observations" is missing or is not a list. Export the trace again.')
    found = [plain_object(one) for one in observations]
    by_id = {one["id"]: one for one in found if isinstance(one.get("id"), str)}
    parents = {str(one.get("parentObservationId")) for one in found}
    called = _named_tools(one.get("output") for one in found if _is_model(one))
    wrapping = _wrapping(found, by_id)
    kept = [(number, one) for number, one in enumerate(found, 1) if str(one.get("id")) not in wrapping]
    numbered = [_observation(one, by_id, parents, called, number, intake) for number, one in kept]
    spans = [*filter(None, numbered), *_reacted(found)]
    spans = spans or [LoggedSpan(MODEL_SPAN, "trace", "", trace.get("input"), trace.get("output"))]
    scores = plain_list(trace.get("scores")) or plain_list(record.value.get("scores"))
    told = {str(one["name"]): one.get("value", one.get("stringValue")) for one in scores if "name" in plain_object(one)}
    return entry_of(
        intake,
        turns_of_spans(spans, intake),
        str(trace["id"]) if trace.get("id") else None,
        read_scores(told),
        instruction=unpack_json(trace.get("input")),
        extra=collect_fields(trace, "name", "sessionId", "userId", "tags") | record.notes,
        tools=list_offered_tools(plain_object(unpack_json(one.get("input"))) | _attributes(one) for one in found),
    )


_ABOUT = re.compile(
    r"(?:.*Ids?|.*Name|.*Time|.*At|.*Tags?|.*Tokens?|.*Price|.*(?:[cC]ost|[uU]sage).*|id|type|name|model.*|level|environment|"
    r"version|release|metadata|statusMessage|prompt.*|unit|latency|tags|scores|input|output|comments|completion.*)\Z"
)
_STATES = "agent.react."
_RAN = ("gen_ai.tool.name", "ai.toolCall.name", "lk.function_tool.name")
"""Attributes that only a tool's span has."""
_CALLED = re.compile(r'"name"\s*:\s*"([^"\\]{1,200})"')


def _named_tools(answers: Iterable[object]) -> frozenset[str]:
    """Return the names in the models' answers, including the names of called tools."""
    texts = (as_text(one) for one in answers if one is not None)
    return frozenset(name for text in texts for name in _CALLED.findall(text.replace('\\"', '"')))


def _wrapping(observations: Sequence[Span], by_id: Mapping[str, Span]) -> frozenset[str]:
    """Return the ids of the GENERATIONs that enclose another GENERATION and repeat its answer."""
    inner = [one for one in observations if _is_model(one) and one.get("output") is not None]
    above = {str(one.get("parentObservationId")) for one in inner}
    return frozenset(one for one in above if _is_model(by_id.get(one, {})))


def _reacted(observations: Sequence[Span]) -> list[LoggedSpan]:
    """Return the calls and the answer of BeeAI's ReAct agent in order; the agent's spans only repeat its state."""
    spans: list[LoggedSpan] = []
    states = (one for one in observations if word(one.get("name")).startswith(_STATES))
    for number, one in enumerate(sorted(states, key=lambda one: str(one.get("startTime"))), 1):
        told, start, output = _attributes(one), str(one.get("startTime") or ""), one.get("output")
        tool, asked = word(told.get("tool.name")), _python_value(told.get("tool.parameters"))
        last = spans[-1] if spans else None
        if not tool:
            spans += [LoggedSpan(MODEL_SPAN, "", start, given=output, number=number)] if word(output) else []
        elif isinstance(asked, dict):
            is_same = last is not None and (last.name, last.asked) == (tool, asked)
            if last is not None and is_same and output in (None, last.given):
                continue
            if last is not None and is_same and last.given is None:
                spans[-1] = replace(last, given=output)
            else:
                spans.append(LoggedSpan(TOOL_SPAN, tool, start, asked, output, number=number))
    return spans


def _is_model(one: Span) -> bool:
    return str(one.get("type") or "").upper() == "GENERATION"


def _is_tool(one: Span, called: frozenset[str]) -> bool:
    """Return whether a SPAN without inner spans ran a tool, because its name is a called tool or `tool.X`."""
    name = word(one.get("name"))
    return tool_name(name) in called or tool_name(name) != name


def _is_strange(field: tuple[str, object]) -> bool:
    """Return whether this field of an observation is not one of Langfuse's own fields beside input and output."""
    return not _ABOUT.match(field[0]) and isinstance(field[1], (str, list, dict)) and len(field[1]) > 0


def _attributes(one: Span) -> dict[str, Any]:
    """Return the attributes of the observation's OpenTelemetry span, or {} if the observation has no such span."""
    metadata = plain_object(unpack_json(one.get("metadata")))
    return metadata | plain_object(unpack_json(metadata.get("attributes")))


def _observation(
    one: Span, by_id: Mapping[str, Span], parents: set[str], called: frozenset[str], number: int, intake: Intake
) -> LoggedSpan | None:
    kind, told = str(one.get("type") or "").upper(), _attributes(one)
    if kind in ("SPAN", "EVENT") and any(told.get(name) is not None for name in _RAN):
        kind = "TOOL"
    is_leaf = str(one.get("id")) not in parents and one.get("input") is not None
    if not {"input", "output"} <= one.keys() and (strange := next(filter(_is_strange, one.items()), None)):
        intake.leave_out(f"field {strange[0]} of an observation without input or output")
    if kind in ("SPAN", "EVENT") and is_leaf and _is_tool(one, called):
        kind = "TOOL"
    if kind in _OBSERVATION_GROUPS:
        if kind == "SPAN" and is_leaf and one.get("output") is not None:
            intake.leave_out("observation of type SPAN that holds no other")
        return None
    if kind not in ("GENERATION", "TOOL"):
        intake.leave_out(f"observation of type {kind or 'none'}")
        return None
    is_tool = kind == "TOOL"
    tool, asked, given, call_id = tool_attributes(told) if is_tool else ("", None, None, "")
    name = tool or str(one.get("name") or "")
    if is_tool and not name:
        intake.leave_out("call of a tool without its name")
    asked, given = _told(one.get("input"), asked), _told(one.get("output"), given)
    return LoggedSpan(
        TOOL_SPAN if is_tool else MODEL_SPAN,
        name=name,
        start=str(one.get("startTime") or ""),
        asked=unpack_json(asked),
        given=given if is_tool else unpack_json(given),
        call_id=call_id,
        speaker=_nearest_agent(one, by_id, "parentObservationId", dict),
        error=str(one.get("statusMessage") or "") if one.get("level") == "ERROR" else "",
        number=number,
    )


def _told(value: Any, attribute: Any) -> Any:
    """Return the value, or the span's attribute if the value is missing or an empty object."""
    return attribute if value is None or (attribute and unpack_json(value) == {}) else value


def read_langsmith(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the traces of LangSmith: trees of runs, one run per line or all runs in a list."""
    yield from run_entries(_runs(path, progress), path, _LANGSMITH)


def run_entries(runs: Iterable[tuple[str, int, dict[str, Any]]], path: Path, format: str) -> Iterator[Entry]:
    """Yield the traces of the runs, which are (trace, line, run); a run of the type UNTOLD is a tool if a model called
    its name.
    """
    for trace, versions in group_records(runs, path):
        records = _merged(versions)
        intake = Intake(path, records[0].line, format)
        called = _named_tools(one.value.get("outputs") for one in records if one.value.get("run_type") in _MODELS)
        for one in records:
            if one.value.get("run_type") == UNTOLD:
                one.value["run_type"] = "tool" if word(one.value.get("name")) in called else "chain"
        root = next((one.value for one in records if not one.value.get("parent_run_id")), records[0].value)
        stats = plain_object(root.get("feedback_stats"))
        numbered = [_run(one, number, intake) for number, one in enumerate(records, 1)]
        spans = [*filter(None, numbered)] or [
            LoggedSpan(MODEL_SPAN, "run", "", root.get("inputs"), root.get("outputs"))
        ]
        yield entry_of(
            intake,
            turns_of_spans(spans, intake),
            trace or None,
            read_scores({name: plain_object(value).get("avg") for name, value in stats.items()}),
            extra=collect_fields(root, "name", "session_name", "tags", "error"),
        )


def _runs(path: Path, progress: Progress | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for record in objects(path, progress, *_LANGSMITH_MARKS):
        patches = [plain_object(one) for one in plain_list(record.value.get("patch"))]
        is_batch = "run_type" not in record.value and ("post" in record.value or patches)
        for root in plain_list(record.value.get("post")) if is_batch else [record.value]:
            for run in _tree(plain_object(root)):
                if not isinstance(run.get("run_type"), str):
                    raise UnreadableFile(str(path), 'A run has no "run_type". Export the runs again.', record.line)
                yield _trace_id(run), record.line, run
        yield from ((_trace_id(run), record.line, run) for run in patches if is_batch)


def _merged(versions: Sequence[Record]) -> list[Record]:
    """Return the runs of a trace; each later version of a run (`patch`) adds its fields to the first (`post`)."""
    found: dict[object, Record] = {}
    for number, one in enumerate(versions):
        name = one.value.get("id")
        name = name if isinstance(name, str) else number
        held = found.get(name)
        told = {key: value for key, value in one.value.items() if value is not None}
        found[name] = one if held is None else Record(held.line, {**held.value, **told})
    return list(found.values())


def _tree(run: Span) -> Iterator[dict[str, Any]]:
    yield {key: value for key, value in run.items() if key != "child_runs"}
    for child in plain_list(run.get("child_runs")):
        if isinstance(child, dict):
            yield from _tree({"trace_id": _trace_id(run), **child})


def _run(record: Record, number: int, intake: Intake) -> LoggedSpan | None:
    run, intake.at = record.value, record.line
    kind = run.get("run_type")
    if kind in _RUN_GROUPS:
        return None
    if kind not in ("tool", *_MODELS):
        intake.leave_out(f"run of type {kind}")
        return None
    asked, given, is_tool = unpack_json(run.get("inputs")), unpack_json(run.get("outputs")), kind == "tool"
    if is_tool and isinstance(given, dict) and len(given) == 1 and not _RESULT_FIELDS & given.keys():
        intake.leave_out(f"result with the one field {next(iter(given))} (shown as JSON)")
    metadata = plain_object(plain_object(run.get("extra")).get("metadata"))
    return LoggedSpan(
        TOOL_SPAN if is_tool else MODEL_SPAN,
        name=str(run.get("name") or ""),
        start=str(run.get("dotted_order") or run.get("start_time") or ""),
        asked=_tool_input(asked) if is_tool else asked,
        given=given,
        call_id=_call_id(given) if is_tool else "",
        speaker=str(metadata.get("lc_agent_name") or ""),
        error=str(run.get("error") or ""),
        number=number,
        line=record.line,
    )


def _tool_input(asked: Any) -> Any:
    """Return a tool's arguments without LangChain's wrapper field `input`."""
    if not (isinstance(asked, dict) and asked.keys() == {"input"}):
        return asked
    # LangChain writes them as Python does, in single quotes.
    return _python_value(unpack_json(asked["input"]))


def _python_value(given: Any) -> Any:
    """Return the value of a Python literal in a text; keep other values."""
    if isinstance(given, str) and given.startswith("{"):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return literal_eval(given)
    return given


def _call_id(given: Any) -> str:
    output = plain_object(plain_object(given).get("output", given))
    return word({**plain_object(output.get("kwargs")), **output}.get("tool_call_id"))


def read_openai_agents(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the traces of the OpenAI Agents SDK: spans of functions, responses and agents."""
    for trace, records in group_records(_sdk_records(path, progress), path):
        intake = Intake(path, records[0].line, _OPENAI_AGENTS)
        by_id = {str(one.value.get("id")): one.value for one in records}
        numbered = [_sdk_span(one, by_id, number, intake) for number, one in enumerate(records, 1)]
        head: Span = next((one.value for one in records if "workflow_name" in one.value), {})
        extra = collect_fields(head, "workflow_name", "group_id", "metadata")
        yield entry_of(intake, turns_of_spans([*filter(None, numbered)], intake), trace or None, extra=extra)


def _sdk_records(path: Path, progress: Progress | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for record in objects(path, progress, *_OPENAI_AGENTS_MARKS):
        if not {"span_data", "workflow_name"} & record.value.keys():
            reason = "This record is neither a trace nor a span of the SDK. Export the traces again."
            raise UnreadableFile(str(path), reason, record.line)
        yield _trace_id(record.value), record.line, record.value


def _sdk_span(record: Record, by_id: Mapping[str, Span], number: int, intake: Intake) -> LoggedSpan | None:
    value, intake.at = record.value, record.line
    data = _span_data(value)
    kind = word(data.get("type"))
    if kind in _SPAN_GROUPS or "span_data" not in value:
        return None
    if kind not in ("function", "generation", "response"):
        intake.leave_out(f"span of type {kind}")
        return None
    if kind != "function" and not {"input", "output", "response"} & {name for name in data if data[name] is not None}:
        intake.leave_out(f"content of a {kind} (the SDK sends only its id)")
    return LoggedSpan(
        TOOL_SPAN if kind == "function" else MODEL_SPAN,
        name=str(data.get("name") or ""),
        start=str(value.get("started_at") or ""),
        asked=unpack_json(data.get("input")),
        given=data.get("output") if data.get("output") is not None else data.get("response"),
        speaker=_nearest_agent(value, by_id, "parent_id", _span_data),
        error=str(plain_object(value.get("error")).get("message") or ""),
        number=number,
        line=record.line,
    )


def _span_data(value: Span) -> dict[str, Any]:
    return plain_object(value.get("span_data"))


def _trace_id(value: Span) -> str:
    return str(value.get("trace_id") or value.get("id") or "")


def _nearest_agent(one: Span, by_id: Mapping[str, Span], parent: str, facts: Callable[[Span], Span]) -> str:
    for _ in range(len(by_id)):
        above = by_id.get(str(one.get(parent)))
        if above is None:
            break
        one = above
        if str(facts(one).get("type")).lower() == "agent":
            return str(facts(one).get("name") or "")
    return ""


LANGFUSE = Importer(_LANGFUSE, "Langfuse traces with their observations", read_langfuse, _LANGFUSE_MARKS, also=_ROWS)
LANGSMITH = Importer(_LANGSMITH, "LangSmith runs", read_langsmith, _LANGSMITH_MARKS)
OPENAI_AGENTS = Importer(_OPENAI_AGENTS, "Traces of the OpenAI Agents SDK", read_openai_agents, _OPENAI_AGENTS_MARKS)
