"""OpenAI's fine-tuning examples: `{"messages": [...], "tools": [...]}`, one trajectory per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from console.runs.export.layouts.parts.conversation import arguments_text, functions, given, numbered, spoken
from console.runs.export.layouts.parts.layout import Layout, RunRecords, write_lines
from console.trajectory import Trajectory
from console.trajectory.calls import Call

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64


def write(source: RunRecords, stream: BinaryIO) -> int:
    """Write the trajectories that have at least one step, and return their number.

    If `ids` is requested, add the reasoning and further fields, so that importing a line restores the same trajectory.
    OpenAI's training uses the messages and tools only.
    """
    whole = "ids" in source.asked_for
    return write_lines((_example(one.record, whole) for one in source.reviewed() if one.record.steps), stream)


def _example(record: Trajectory, whole: bool) -> dict[str, Any]:
    example: dict[str, Any] = {"messages": list(_messages(record, whole))}
    tools = functions([record])
    if tools:
        for tool in tools:
            tool["function"]["name"] = _name(tool["function"]["name"], whole)
        example["tools"] = tools
    return {**_beside(record), **example} if whole else example


def _beside(record: Trajectory) -> dict[str, Any]:
    beside = {
        "id": record.task_id,
        "trial": record.trial,
        "environment": record.environment,
        "instruction": record.instruction,
    }
    return beside | ({"label": str(record.label)} if record.label else {})


def _messages(record: Trajectory, whole: bool) -> Iterator[dict[str, Any]]:
    yield from given(record.instruction, record.opening)
    for step, named in numbered(record.steps):
        words = spoken(named[0][1]) if len(named) == 1 else None
        if words is not None or not named:
            reasoning = {"reasoning_content": step.thought} if whole and step.thought else {}
            content = words or ("" if whole else step.thought)
            yield {"role": "assistant", "content": content, **reasoning}
            if step.observation:
                yield {"role": "user", "content": step.observation}
            continue
        yield {
            "role": "assistant",
            "content": step.thought or None,
            "tool_calls": [_call(*one, whole) for one in named],
        }
        for place, (id, _) in enumerate(named):
            # What several calls of one step brought is one text; it stands with the last of them.
            content = step.observation if place == len(named) - 1 else ""
            yield {"role": "tool", "tool_call_id": id, "content": content}


def _call(id: str, call: Call, whole: bool) -> dict[str, Any]:
    return {
        "id": id,
        "type": "function",
        "function": {"name": _name(call.name, whole), "arguments": arguments_text(call)},
    }


def _name(name: str, whole: bool) -> str:
    """Return a function's name as OpenAI accepts it (at most 64 letters, digits, `_`, `-`), or unchanged if `whole`."""
    return name if whole else _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME]


LAYOUT = Layout("OpenAI fine-tuning examples", "trajectories", "jsonl", "application/jsonl", write, ("gold", "ids"))
