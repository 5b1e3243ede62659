"""ShareGPT conversations: turns with `from` and `value`; calls are separate turns or parts of a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from console.runs.importers.chat_messages import id_of
from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, LoggedCall, Turn, entry_of
from console.runs.importers.parts.intake import Intake, plain_list, plain_object, word
from console.runs.importers.parts.json_records import objects, required_list
from console.runs.importers.parts.rewards import told_result
from console.runs.importers.parts.written_calls import with_written_calls
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Trajectory

_NAME = "sharegpt"
_MARKS = ((".conversations[].from", ".conversations[].value"),)
_ROLES = {"system": SYSTEM, "human": USER, "user": USER, "gpt": AGENT, "assistant": AGENT, "chatgpt": AGENT}
_ROLES |= dict.fromkeys(("observation", "tool", "function", "function_response", "tool_response"), TOOL)
_CALLS = ("function_call", "tool_call", "function-call")


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the conversations; skip conversations in which the agent does nothing."""
    for record in objects(path, progress, *_MARKS):
        intake = Intake(path, record.line)
        said = required_list(record, path, "conversations")
        policy = word(record.value.get("system"))
        turns = [Turn(SYSTEM, policy)] if policy else []
        turns += [turn for number, one in enumerate(said, 1) if (turn := _turn(plain_object(one), number, intake))]
        outcome, gold = told_result(record.value)
        trajectory = Trajectory(
            task_id=str(record.value.get("id") or id_of(said)),
            environment="generic",
            instruction="",
            outcome=outcome,
            gold=gold,
            source={"file": path.name, "line": record.line, "format": _NAME},
            extra={name: record.value[name] for name in ("tools",) if record.value.get(name)} | record.notes,
        )
        yield entry_of(intake, list(with_written_calls(turns, intake)), trajectory)


def _turn(said: Mapping[str, Any], number: int, intake: Intake) -> Turn | None:
    who, value = word(said.get("from")), said.get("value")
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if who in _CALLS:
        return Turn(AGENT, calls=tuple(_calls(text, intake)), number=number)
    if who not in _ROLES:
        intake.leave_out(f"turn from {who or 'an unnamed speaker'}")
        return None
    return Turn(_ROLES[who], text, number=number)


def _calls(text: str, intake: Intake) -> Iterator[LoggedCall]:
    """Yield the calls of a turn, whose text is a call or a list of calls as JSON."""
    try:
        told = orjson.loads(text)
    except orjson.JSONDecodeError as broken:
        raise intake.refusal(
            "A turn that is a call is not JSON. Fix the turn or remove it, then import again."
        ) from broken
    for one in map(plain_object, plain_list(told) or [told]):
        name = one.get("name")
        if not isinstance(name, str) or not name.strip():
            raise intake.refusal("A call has no name. Add its tool's name, or remove the turn.")
        yield LoggedCall(name, one.get("arguments", one.get("parameters")))


IMPORTER = Importer(_NAME, "ShareGPT conversations", read, _MARKS)
