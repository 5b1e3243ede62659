"""Inspect evaluation logs, `.json` or unpacked from `.eval`: samples with their messages, scores and approvals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.environments import ENVIRONMENTS
from console.errors import UnreadableFile
from console.runs.importers.parts.conversation import Turn, entry_of, restore_export
from console.runs.importers.parts.intake import Intake, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import elements, fields_before, parse_json
from console.runs.importers.parts.message_parts import read_turns, spoken_text
from console.runs.importers.parts.rewards import grade_reward, number_of, trial_of
from console.runs.importers.parts.spans import MODEL_SPAN, TOOL_SPAN, LoggedSpan, turns_of_spans
from console.runs.importers.records import Entry, Importer, Progress, build_decision_extra
from console.trajectory import Outcome

_NAME = "inspect"
TRIAL = "inferact_trial"
"""The metadata key for the trial if the epoch is not the trial; the console's own export writes this key."""
OPENING, OUTCOME = "inferact_opening", "inferact_outcome"
"""Metadata keys of the console's own export, for data without a field in Inspect's samples."""
_ATTACHED = ("attachment://", "tc://")
"""The beginnings of a text that names an attachment, in this order in newer and in older logs."""
_VALUES = {"C": 1.0, "I": 0.0}
_DECISIONS = {"approve": "approve", "modify": "edit", "reject": "reject", "terminate": "reject"}


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the samples, one trial per epoch; raise UnreadableFile if a sample has no messages."""
    header = plain_object(fields_before(path, "samples").get("eval"))
    for line, raw in elements(path, ".samples[]", progress):
        record = parse_json(raw, path, line)
        if not isinstance(record.value, dict):
            raise UnreadableFile(
                str(path), "This sample is not a JSON object. Fix the sample or remove it, then import again.", line
            )
        yield _entry(Intake(path, line, _NAME), record.value, header)


def _entry(intake: Intake, sample: Mapping[str, Any], header: Mapping[str, Any]) -> Entry:
    # Logs of 2024 keep the events and the attachments of a sample together.
    older = plain_object(sample.get("transcript"))
    attachments = {**plain_object(older.get("content")), **plain_object(sample.get("attachments"))}
    if attachments:
        sample = _attached(sample, attachments)
    messages = sample.get("messages")
    if not isinstance(messages, list):
        raise intake.refusal(
            '"messages" is missing or is not a list, so the record has no steps. Export the log again.'
        )
    events = [*_flat(sample.get("events") or older.get("events"))]
    turns = _decided(_turns(messages, events, intake), events)
    epoch, told = number_of(sample.get("epoch")), plain_object(sample.get("metadata"))
    trial = told.get(TRIAL)
    entry = entry_of(
        intake,
        turns,
        str(sample["id"]) if "id" in sample else None,
        _result(sample),
        instruction=_asked(sample.get("input"), intake),
        environment=told["environment"]
        if OPENING in told and word(told.get("environment")) in ENVIRONMENTS
        else "generic",
        trial=trial_of(trial if trial is not None or epoch is None else epoch - 1),
        extra=collect_fields(header, "task", "model", "run_id", "created"),
        tools=[tool for event in events if event.get("event") == "model" for tool in plain_list(event.get("tools"))],
    )
    return restore_export(entry, {"opening": told.get(OPENING), "outcome": told.get(OUTCOME)})


def _flat(events: object) -> Iterator[dict[str, Any]]:
    """Yield each event followed by its inner events; older logs nest the events of a subtask."""
    for event in plain_list(events):
        if isinstance(event, dict):
            yield event
            yield from _flat(event.get("events"))


def _turns(messages: Sequence[Any], events: Sequence[Mapping[str, Any]], intake: Intake) -> list[Turn]:
    """Return the turns of the messages, or of the events if only the events contain all calls."""
    own = Intake(intake.path, intake.line)
    turns = read_turns(messages, own)
    held = {call.id for turn in turns for call in turn.calls}
    if any(one.get("event") == "tool" and word(one.get("id")) not in held for one in events):
        return turns_of_spans([*filter(None, map(_span, events, range(1, len(events) + 1)))], intake)
    intake.left_out, intake.pictures = own.left_out, own.pictures
    return turns


def _span(event: Mapping[str, Any], number: int) -> LoggedSpan | None:
    start = f"{number:08}"
    if event.get("event") == "model":
        return LoggedSpan(MODEL_SPAN, "", start, event.get("input"), event.get("output"), number=number)
    if event.get("event") == "tool":
        name, call_id = str(event.get("function") or ""), str(event.get("id") or "")
        error = str(plain_object(event.get("error")).get("message") or "")
        arguments, result = event.get("arguments"), event.get("result")
        return LoggedSpan(TOOL_SPAN, name, start, arguments, result, call_id, error=error, number=number)
    return None


def _decided(turns: Sequence[Turn], events: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """Return the turns; add the last recorded decision on each call to the call's `extra`."""
    extra: dict[str, Any] = {}
    for event in events:
        call = plain_object(event.get("call"))
        if event.get("event") == "approval" and word(event.get("decision")) in _DECISIONS:
            who, words = str(event.get("approver") or "approver"), str(event.get("explanation") or "")
            extra[str(call.get("id"))] = build_decision_extra(_DECISIONS[event["decision"]], who, words)
    known = [tuple(replace(call, extra=extra.get(call.id, call.extra)) for call in turn.calls) for turn in turns]
    return [replace(turn, calls=calls) for turn, calls in zip(turns, known, strict=True)] if extra else list(turns)


def _result(sample: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) from an error or limit, else from the first score that means correct or incorrect."""
    scores = {name: plain_object(one).get("value") for name, one in plain_object(sample.get("scores")).items()}
    gold: dict[str, Any] = {"scores": scores} if scores else {}
    gold |= {"target": sample["target"]} if sample.get("target") else {}
    told = map(_number, scores.values())
    outcome, gold = grade_reward(next((number for number in told if number in (0.0, 1.0)), None), gold)
    if sample.get("error"):
        return Outcome.ERROR, gold | {"error": str(plain_object(sample["error"]).get("message") or "error")}
    return (Outcome.HALTED if sample.get("limit") else outcome), gold


def _number(value: object) -> float | None:
    return _VALUES.get(value) if isinstance(value, str) and value in _VALUES else number_of(value)


def _asked(given: object, intake: Intake) -> str:
    if isinstance(given, str):
        return given
    messages = map(plain_object, plain_list(given))
    return next((spoken_text(one.get("content"), intake) for one in messages if one.get("role") == "user"), "")


def _attached(value: Any, attachments: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attachments.get(value.partition("://")[2], value)
    if isinstance(value, dict):
        return {name: _attached(one, attachments) for name, one in value.items() if name != "attachments"}
    return [_attached(one, attachments) for one in value] if isinstance(value, list) else value


IMPORTER = Importer(
    _NAME,
    "Inspect evaluation logs (.eval and .json)",
    read,
    ((".eval.task", ".status", ".samples"),),
    also=((".eval.task", ".status"),),
)
