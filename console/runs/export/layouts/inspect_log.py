"""Inspect logs, written by the library `inspect_ai`: one sample per trajectory, one approval per decision."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import Any, BinaryIO

from console.errors import Refused
from console.runs.export.layouts.parts.layout import (
    GivenAnswer,
    Layout,
    Reviewed,
    RunRecords,
    first_messages,
    number_calls,
)
from console.runs.importers.inspect import OPENING, OUTCOME, TRIAL
from console.trajectory import Label
from console.trajectory.calls import Call, read_action
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from storage.tables import DecisionKind

_SCORES = {Label.ALIGNED: "C", Label.MISALIGNED: "I"}
_DECISIONS = {
    DecisionKind.APPROVE: "approve",
    DecisionKind.EDIT: "modify",
    DecisionKind.REJECT: "reject",
    DecisionKind.RESPOND: "reject",
    DecisionKind.ESCALATE: "escalate",
}


def write(source: RunRecords, stream: BinaryIO) -> int:
    """Write an `.eval` log, built in memory; return the number of samples; raise Refused if inspect_ai is missing."""
    try:
        from inspect_ai import log
    except ModuleNotFoundError as missing:
        advice = "Inspect is needed to write its logs. Install Inspect: pip install 'inferact-console[inspect]'"
        raise Refused(advice) from missing
    samples = _with_own_epochs([_sample(source, one) for one in source.reviewed()])
    spec = {
        "created": _iso(source.run.created_ms),
        "task": source.run.name,
        "dataset": {"name": source.run.environment, "samples": len(samples)},
        "model": source.run.actor or "unknown",
        "config": {},
    }
    whole = log.EvalLog.model_validate({"status": "success", "eval": spec, "samples": samples})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.eval")
        log.write_eval_log(whole, path)
        stream.write(path.read_bytes())
    return len(samples)


def _with_own_epochs(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the samples with unique (id, epoch), Inspect's key; a repeated trial gets the next free epoch."""
    held = {(sample["id"], sample["epoch"]) for sample in samples}
    written: set[tuple[str, int]] = set()
    for sample in samples:
        if (sample["id"], sample["epoch"]) in written:
            sample["metadata"] |= {TRIAL: sample["epoch"] - 1}
            sample["epoch"] = next(epoch for epoch in count(1) if (sample["id"], epoch) not in held)
            held.add((sample["id"], sample["epoch"]))
        written.add((sample["id"], sample["epoch"]))
    return samples


def _sample(source: RunRecords, one: Reviewed) -> dict[str, Any]:
    record = one.record
    label = record.label if "gold" in source.asked_for else None
    return {
        "id": record.task_id,
        "epoch": record.trial + 1,
        "input": record.instruction,
        "target": "",
        "messages": list(_messages(one)),
        "events": [_approval(one, answer) for answer in one.answers if answer.kind is CheckpointKind.ACTION],
        "metadata": {
            "environment": record.environment,
            OPENING: record.opening,
            **({OUTCOME: str(record.outcome)} if "gold" in source.asked_for else {}),
        },
        **({"scores": {"gold": {"value": _SCORES[label]}}} if label else {}),
    }


def _messages(one: Reviewed) -> Iterator[dict[str, Any]]:
    yield from first_messages(one.record.instruction, one.record.opening)
    for step, named, words in number_calls(one.record.steps):
        if words is not None:
            yield {"role": "assistant", "content": _thinking(step.thought, words)}
            if step.observation:
                yield {"role": "user", "content": step.observation}
            continue
        yield {"role": "assistant", "content": step.thought, "tool_calls": [_call(id, call) for id, call in named]}
        for place, (id, call) in enumerate(named):
            content = step.observation if place == len(named) - 1 else ""
            yield {"role": "tool", "tool_call_id": id, "function": call.name, "content": content}


def _thinking(thought: str, words: str) -> Any:
    if not thought:
        return words
    return [{"type": "reasoning", "reasoning": thought}, {"type": "text", "text": words}]


def _call(id: str, call: Call) -> dict[str, Any]:
    return {"id": id, "function": call.name, "arguments": dict(call.arguments), "type": "function"}


def _approval(one: Reviewed, answer: GivenAnswer) -> dict[str, Any]:
    action = checkpoint_at(one.record, answer.step, answer.kind).action
    named = next((named for _, named, _ in islice(number_calls(one.record.steps), answer.step, None)), [])
    id = named[0][0] if named else "call_pending"
    event = {
        "event": "approval",
        "message": action,
        "call": _first_call(id, action),
        "approver": answer.reviewer,
        "decision": _DECISIONS[DecisionKind(answer.decision)],
        "explanation": answer.words,
        "timestamp": _iso(answer.at_ms),
        "working_start": 0.0,
    }
    return event | ({"modified": _first_call(id, answer.edited_action)} if answer.edited_action else {})


def _first_call(id: str, action: str) -> dict[str, Any]:
    return _call(id, next(iter(read_action(action)), Call("act", {"argument": action})))


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat()


LAYOUT = Layout(
    "Inspect log", "samples", "eval", "application/octet-stream", write, ("gold", "names", "simulated"), "inspect_ai"
)
