"""Argilla records: one checkpoint a record, with a chat, the action, and a question `decision` and `words`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO

from console.runs.export.layouts.parts.conversation import in_words
from console.runs.export.layouts.parts.layout import Layout, write_list
from console.runs.export.layouts.parts.reviewed import GivenAnswer, Reviewed, RunRecords
from console.trajectory.checkpoints import Checkpoint

_PEOPLE = uuid.UUID("6f1c4b0e-3b1d-5a53-9a57-9f5d8a1f9c11")


def write(source: RunRecords, stream: BinaryIO) -> int:
    """Writes a JSON list of records; returns how many. Answers are responses where they were asked for.

    The fields are `chat` (a ChatField), `task` and `action` (TextFields); the questions `decision` (a LabelQuestion of
    approve, reject, edit, respond, escalate) and `words` (a TextQuestion that may stay empty).
    """
    return write_list((record for one in source.reviewed() for record in _records(source, one)), stream)


def _records(source: RunRecords, one: Reviewed) -> Iterator[dict[str, Any]]:
    for checkpoint, answers in source.stops(one):
        shown = answers if "answers" in source.asked_for else []
        yield {
            "id": f"{one.id}-{checkpoint.index}-{checkpoint.kind}",
            "status": "completed" if shown else "pending",
            "fields": _fields(checkpoint),
            "metadata": _metadata(source, one, checkpoint),
            "suggestions": {},
            "responses": _responses(shown),
            "vectors": {},
        }


def _fields(checkpoint: Checkpoint) -> dict[str, Any]:
    return {"task": checkpoint.instruction, "chat": in_words(checkpoint), "action": checkpoint.action}


def _metadata(source: RunRecords, one: Reviewed, checkpoint: Checkpoint) -> dict[str, Any]:
    gold = {"gold_label": str(one.record.label)} if "gold" in source.asked_for and one.record.label else {}
    return {**source.place(one, checkpoint), **gold}


def _responses(answers: list[GivenAnswer]) -> dict[str, Any]:
    """By question what each reviewer answered; Argilla knows its users by UUIDs, so each name has its own."""
    decisions = [_response(given, given.decision) for given in answers]
    words = [_response(given, given.words) for given in answers if given.words]
    return {name: given for name, given in (("decision", decisions), ("words", words)) if given}


def _response(given: GivenAnswer, value: str) -> dict[str, Any]:
    return {"value": value, "user_id": str(uuid.uuid5(_PEOPLE, given.reviewer)), "status": "submitted"}


LAYOUT = Layout("Argilla records", "checkpoints", "json", "application/json", write, ("answers", "gold", "simulated"))
