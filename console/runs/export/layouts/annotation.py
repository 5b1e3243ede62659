"""Checkpoints for annotation tools: Argilla records, and Label Studio tasks for a project with INTERFACE."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from console.runs.export.layouts.parts.layout import (
    GivenAnswer,
    Layout,
    Reviewed,
    RunRecords,
    each_trajectory,
    in_words,
    write_list,
)

_PEOPLE = uuid.UUID("6f1c4b0e-3b1d-5a53-9a57-9f5d8a1f9c11")
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
"""The labelling interface for the settings of a Label Studio project."""


def _records(source: RunRecords, one: Reviewed) -> Iterator[dict[str, Any]]:
    """Yield the Argilla records, with the decisions as responses if the export requests answers.

    The fields are `chat` (a ChatField), `task` and `action` (TextFields). The questions are `decision` (a LabelQuestion
    with approve, reject, edit, respond and escalate) and `words` (an optional TextQuestion).
    """
    label = one.record.label if "gold" in source.asked_for else None
    for checkpoint, answers in source.stops(one):
        shown = answers if "answers" in source.asked_for else []
        yield {
            "id": f"{one.id}-{checkpoint.index}-{checkpoint.kind}",
            "status": "completed" if shown else "pending",
            "fields": {"task": checkpoint.instruction, "chat": in_words(checkpoint), "action": checkpoint.action},
            "metadata": source.place(one, checkpoint) | ({"gold_label": str(label)} if label else {}),
            "suggestions": {},
            "responses": _responses(shown),
            "vectors": {},
        }


def _responses(answers: list[GivenAnswer]) -> dict[str, Any]:
    """Return the responses by question; give each reviewer a UUID, because Argilla identifies users by UUID."""
    decisions = [_response(given, given.decision) for given in answers]
    words = [_response(given, given.words) for given in answers if given.words]
    return {name: given for name, given in (("decision", decisions), ("words", words)) if given}


def _response(given: GivenAnswer, value: str) -> dict[str, Any]:
    return {"value": value, "user_id": str(uuid.uuid5(_PEOPLE, given.reviewer)), "status": "submitted"}


_ARGILLA = each_trajectory(_records, write_list)
ARGILLA = Layout(
    "Argilla records", "checkpoints", "json", "application/json", _ARGILLA, ("answers", "gold", "simulated")
)


def _tasks(source: RunRecords, one: Reviewed) -> Iterator[dict[str, Any]]:
    gold = {"gold_label": one.record.label} if "gold" in source.asked_for else {}
    for checkpoint, answers in source.stops(one):
        steps = [{"author": turn["role"], "text": turn["content"]} for turn in in_words(checkpoint)]
        data = {"task": checkpoint.instruction, "steps": steps, "action": checkpoint.action}
        task: dict[str, Any] = {"data": {**data, **source.place(one, checkpoint), **gold}}
        if "answers" in source.asked_for and answers:
            task["annotations"] = [_annotation(given) for given in answers]
        yield task


def _annotation(given: GivenAnswer) -> dict[str, Any]:
    result = [_part("decision", "choices", {"choices": [given.decision]})]
    if given.words:
        result.append(_part("words", "textarea", {"text": [given.words]}))
    made = datetime.fromtimestamp(given.at_ms / 1_000, UTC).isoformat()
    return {"result": result, "created_username": given.reviewer, "created_at": made}


def _part(name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"from_name": name, "to_name": "action", "type": kind, "value": value}


LABEL_STUDIO = Layout(
    "Label Studio tasks",
    "checkpoints",
    "json",
    "application/json",
    each_trajectory(_tasks, write_list),
    ("answers", "gold", "names", "simulated"),
)
