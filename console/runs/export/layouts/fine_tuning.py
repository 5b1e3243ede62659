"""Files for fine-tuning: OpenAI's examples, and preferences from reviewed actions for TRL's DPO and KTO trainers.

A preference's prompt is the conversation before the action. The preferred action after an edit is the edited action.
After a rejection, it is the critical action of the task's next trial, unless a reviewer rejected that action too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from console.runs.export.layouts.parts.layout import (
    Chat,
    GivenAnswer,
    Layout,
    Reviewed,
    RunRecords,
    arguments_text,
    each_trajectory,
    first_messages,
    functions,
    number_calls,
    write_lines,
)
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.calls import Call
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at
from storage.tables import DecisionKind

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64


def write_examples(source: RunRecords, stream: BinaryIO) -> int:
    """Write the trajectories that have at least one step, and return their number.

    If `ids` is requested, add the reasoning and further fields, so that an import of the file restores the
    trajectories. OpenAI's training uses only the messages and the tools.
    """
    whole = "ids" in source.asked_for
    return write_lines((_example(one.record, whole) for one in source.reviewed() if one.record.steps), stream)


def _example(record: Trajectory, whole: bool) -> dict[str, Any]:
    messages = list(_messages(record, whole))
    # OpenAI trains on the assistant's messages alone, and refuses an example that ends with another one.
    example: dict[str, Any] = {"messages": messages if whole else _to_last_answer(messages)}
    if tools := _tools(record, whole):
        example["tools"] = tools
    if not whole:
        return example
    beside = {name: getattr(record, name) for name in ("trial", "environment", "instruction", "opening")}
    beside |= {"outcome": str(record.outcome)} if record.outcome is not Outcome.FINISHED else {}
    label = {"label": str(record.label)} if record.label else {}
    return {"id": record.task_id, **beside, **label, **example}


def _tools(record: Trajectory, whole: bool) -> list[dict[str, Any]]:
    tools = functions([record])
    for tool in tools:
        tool["function"]["name"] = _name(tool["function"]["name"], whole)
    return tools


def _to_last_answer(messages: list[Chat]) -> list[Chat]:
    """Return the messages up to and including the assistant's last message."""
    last = max((place for place, one in enumerate(messages) if one["role"] == "assistant"), default=-1)
    return messages[: last + 1]


def _messages(record: Trajectory, whole: bool) -> Iterator[dict[str, Any]]:
    yield from first_messages(record.instruction, record.opening)
    for step, named, words in number_calls(record.steps):
        if words is not None:
            reasoning = {"reasoning_content": step.thought} if whole and step.thought else {}
            content = words or ("" if whole else step.thought)
            yield {"role": "assistant", "content": content, **reasoning}
            if step.observation:
                yield {"role": "user", "content": step.observation}
            continue
        calls = [_call(*one, whole) for one in named]
        yield {"role": "assistant", "content": step.thought or None, "tool_calls": calls}
        for place, (id, _) in enumerate(named):
            # What several calls of one step brought is one text; it stands with the last of them.
            content = step.observation if place == len(named) - 1 else ""
            yield {"role": "tool", "tool_call_id": id, "content": content}


def _call(id: str, call: Call, whole: bool) -> dict[str, Any]:
    function = {"name": _name(call.name, whole), "arguments": arguments_text(call)}
    return {"id": id, "type": "function", "function": function}


def _name(name: str, whole: bool) -> str:
    """Return a function's name in OpenAI's format (at most 64 letters, digits, `_`, `-`), or unchanged if `whole`."""
    return name if whole else _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME]


def _pairs(source: RunRecords, one: Reviewed) -> Iterator[dict[str, Any]]:
    for answer, checkpoint in _judged(one):
        chosen = _preferred(source, one, answer)
        if chosen and chosen != checkpoint.action:
            prompt, rejected = _conversation(one.record, checkpoint, checkpoint.action)
            yield {
                "prompt": prompt,
                "chosen": [_conversation(one.record, checkpoint, chosen)[1]],
                "rejected": [rejected],
                **_beside(one.record, checkpoint, chosen),
            }


def _conversation(record: Trajectory, checkpoint: Checkpoint, action: str) -> tuple[list[Chat], Chat]:
    """Return (messages before the action, the assistant's message with the action), in TRL's conversational form."""
    steps = (*checkpoint.steps, Step(action=action))
    whole = replace(record, opening=checkpoint.opening, instruction=checkpoint.instruction, steps=steps)
    *prompt, completion = _to_last_answer(list(_messages(whole, False)))
    return prompt, completion


def _beside(record: Trajectory, checkpoint: Checkpoint, *actions: str) -> dict[str, Any]:
    """Return the tools that the conversation and the actions call, in the field `tools`."""
    acted = [Step(action=action) for action in (checkpoint.action, *actions)]
    tools = _tools(replace(record, steps=(*checkpoint.steps, *acted)), False)
    return {"tools": tools} if tools else {}


def _preferred(source: RunRecords, one: Reviewed, answer: GivenAnswer) -> str | None:
    if answer.decision == DecisionKind.EDIT:
        return answer.edited_action
    if answer.decision != DecisionKind.REJECT:
        return None
    again = source.next_trial(one.id)
    return again.critical_action if again else None


def _labelled(_source: RunRecords, one: Reviewed) -> Iterator[dict[str, Any]]:
    for answer, checkpoint in _judged(one):
        judged = [(checkpoint.action, _LABELS[answer.decision])] if answer.decision in _LABELS else []
        if answer.decision == DecisionKind.EDIT and answer.edited_action:
            judged.append((answer.edited_action, True))
        for action, label in judged:
            prompt, completion = _conversation(one.record, checkpoint, action)
            beside = _beside(one.record, checkpoint, action)
            yield {"prompt": prompt, "completion": [completion], "label": label, **beside}


_LABELS: dict[str, bool] = {DecisionKind.APPROVE: True, DecisionKind.REJECT: False, DecisionKind.EDIT: False}


def _judged(one: Reviewed) -> Iterator[tuple[GivenAnswer, Checkpoint]]:
    for answer in one.answers:
        checkpoint = checkpoint_at(one.record, answer.step, answer.kind)
        if answer.kind is CheckpointKind.ACTION and checkpoint.action:
            yield answer, checkpoint


_DPO, _KTO = (each_trajectory(rows, write_lines) for rows in (_pairs, _labelled))
DPO = Layout("Preference pairs for TRL's DPO trainer", "pairs", "jsonl", "application/jsonl", _DPO, ("simulated",))
KTO = Layout("Labelled actions for TRL's KTO trainer", "actions", "jsonl", "application/jsonl", _KTO, ("simulated",))
OPENAI_MESSAGES = Layout(
    "OpenAI fine-tuning examples", "trajectories", "jsonl", "application/jsonl", write_examples, ("gold", "ids")
)
