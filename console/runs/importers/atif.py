"""ATIF trajectories (Harbor, Terminal-Bench 2): steps of a user, an agent and a system, each with its results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, USER, Turn, entry_of, join_thoughts
from console.runs.importers.parts.intake import Intake, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import objects
from console.runs.importers.parts.message_parts import call_of, message_turns, result_turn
from console.runs.importers.parts.rewards import read_result
from console.runs.importers.records import Entry, Importer, Progress

_NAME = "atif"
_MARKS = ((".schema_version", ".agent", ".steps"),)
_TASK = re.compile(r"\nTask Description:\n(.+?)(?=\n+Current terminal state:|\Z)", re.DOTALL)
"""The task in the prompt of Terminus, whose other words are not the user's."""
_ROLES = {"user": USER, "agent": AGENT, "system": SYSTEM}


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the trajectories, each followed by the trajectories of its subagents."""
    for record in objects(path, progress, *_MARKS):
        yield from _entries(path, record.line, record.value, str(record.value.get("session_id") or path.stem))


def _entries(path: Path, line: int, value: Mapping[str, Any], task_id: str) -> Iterator[Entry]:
    intake = Intake(path, line, _NAME)
    steps, agent = value.get("steps"), plain_object(value.get("agent"))
    if not isinstance(steps, list):
        raise intake.refusal('"steps" is missing or is not a list. Export the log again.')
    metrics = plain_object(value.get("final_metrics"))
    result = read_result({"reward": metrics.get("mean_reward", plain_object(value.get("extra")).get("reward"))})
    turns = (turn for number, step in enumerate(steps, 1) for turn in _turns(step, number, intake))
    extra = collect_fields(value, "schema_version", "agent", "notes")
    yield entry_of(intake, list(join_thoughts(turns)), task_id, result, extra=extra)
    for number, one in enumerate(plain_list(value.get("subagent_trajectories")), 1):
        if isinstance(one, dict):
            name = one.get("trajectory_id") or one.get("session_id") or number
            yield from _entries(path, line, one, f"{task_id}/{plain_object(agent).get('name', 'agent')}-{name}")


def _turns(step: object, number: int, intake: Intake) -> Iterator[Turn]:
    held = plain_object(step)
    if held.get("is_copied_context") is True:
        intake.leave_out("step that is copied from another trajectory")
        return
    calls = held.get("tool_calls") or ()
    if word(held.get("source")) not in _ROLES and not calls:
        intake.leave_out(f"step of source {held.get('source')}")
        return
    if not isinstance(calls, (list, tuple)) or not all(isinstance(call, dict) for call in calls):
        raise intake.refusal(f'"tool_calls" of step {number} is not a list of calls. Export the log again.')
    role = _ROLES.get(str(held.get("source")), AGENT)
    message = {"role": role, "content": held.get("message"), "reasoning_content": held.get("reasoning_content")}
    found = tuple(call_of(call, intake) for call in calls)
    said = [replace(turn, number=number) for turn in message_turns(message, intake)]
    if role == USER and said and (task := _TASK.search(said[0].text)):
        around = said[0].text.replace(task[0], "", 1)
        said[:1] = [replace(said[0], role=SYSTEM, text=around), replace(said[0], text=task[1].strip())]
    if found and said and role == AGENT:
        said[-1] = replace(said[-1], calls=found)
    elif found:
        said.append(Turn(AGENT, calls=found, number=number))
    yield from said
    results = plain_list(plain_object(held.get("observation")).get("results"))
    # A single output of several commands was seen only after the last of them.
    last = found[-1].id if found and len(results) == 1 else ""
    for result in map(plain_object, results):
        if result.get("subagent_trajectory_ref") and not result.get("content"):
            intake.leave_out("result that is another trajectory")
        else:
            turn = result_turn(result, intake)
            yield replace(turn, answers=turn.answers or last, number=number)


IMPORTER = Importer(_NAME, "ATIF trajectories (Harbor, Terminal-Bench 2)", read, _MARKS)
