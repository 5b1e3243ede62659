"""Label Studio tasks: one checkpoint a task, for a project with the labelling interface INTERFACE."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO

from console.runs.export.layouts.parts.conversation import in_words
from console.runs.export.layouts.parts.layout import Layout, write_list
from console.runs.export.layouts.parts.reviewed import GivenAnswer, Reviewed, RunRecords
from console.trajectory.checkpoints import Checkpoint

INTERFACE = """<View>
  <Header value="The user asked"/><Text name="task" value="$task"/>
  <Paragraphs name="steps" value="$steps" layout="dialogue" nameKey="author" textKey="text"/>
  <Header value="The agent is about to do"/><Text name="action" value="$action"/>
  <Choices name="decision" toName="action" choice="single" required="true">
    <Choice value="approve"/><Choice value="reject"/><Choice value="edit"/><Choice value="respond"/>
    <Choice value="escalate"/>
  </Choices>
  <TextArea name="words" toName="action" rows="3"/>
</View>"""
"""The labelling interface of the tasks and annotations, to paste into a project's settings."""


def write(source: RunRecords, stream: BinaryIO) -> int:
    """Writes a JSON list of tasks; returns how many. Answers are annotations where they were asked for."""
    return write_list((task for one in source.reviewed() for task in _tasks(source, one)), stream)


def _tasks(source: RunRecords, one: Reviewed) -> Iterator[dict[str, Any]]:
    for checkpoint, answers in source.stops(one):
        task: dict[str, Any] = {"data": _data(source, one, checkpoint)}
        if "answers" in source.asked_for and answers:
            task["annotations"] = [_annotation(given) for given in answers]
        yield task


def _data(source: RunRecords, one: Reviewed, checkpoint: Checkpoint) -> dict[str, Any]:
    steps = [{"author": turn["role"], "text": turn["content"]} for turn in in_words(checkpoint)]
    data = {"task": checkpoint.instruction, "steps": steps, "action": checkpoint.action}
    gold = {"gold_label": one.record.label} if "gold" in source.asked_for else {}
    return {**data, **source.place(one, checkpoint), **gold}


def _annotation(given: GivenAnswer) -> dict[str, Any]:
    result = [_result("decision", "choices", {"choices": [given.decision]})]
    if given.words:
        result.append(_result("words", "textarea", {"text": [given.words]}))
    made = datetime.fromtimestamp(given.at_ms / 1_000, UTC).isoformat()
    return {"result": result, "created_username": given.reviewer, "created_at": made}


def _result(name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"from_name": name, "to_name": "action", "type": kind, "value": value}


LAYOUT = Layout(
    "Label Studio tasks", "checkpoints", "json", "application/json", write, ("answers", "gold", "names", "simulated")
)
