"""SWE-agent's `.traj` files: commands with what they printed; each command is a call of `bash`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, LoggedCall, Turn, entry_of, first_words
from console.runs.importers.parts.intake import Intake, plain_list, plain_object
from console.runs.importers.parts.json_records import Record, objects, required_list
from console.runs.importers.parts.message_parts import result_text, spoken_text
from console.runs.importers.parts.resolved import resolved_result
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Outcome, Trajectory

_NAME = "swe-agent"
_MARKS = ((".trajectory[].action", ".trajectory[].observation"), (".trajectory", ".history", ".info"))
_ENDED_BY_ITSELF = ("submitted", "")


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The run of each record; its label comes from a report beside the file."""
    for record in objects(path, progress, *_MARKS):
        intake = Intake(path, record.line)
        if (others := len(plain_list(record.value.get("attempts"))) - 1) > 0:
            intake.leave_out("attempt that was not chosen", others)
        steps = required_list(record, path, "trajectory")
        opening = _opening(record.value, intake)
        turns = [turn for number, step in enumerate(steps, 1) for turn in _turns(step, number, intake)]
        trajectory = run_of(record, path, record.value, _NAME, first_words(opening))
        yield entry_of(intake, [*opening, *turns], trajectory)


def run_of(record: Record, path: Path, fields: Mapping[str, Any], name: str, instruction: str) -> Trajectory:
    """The trajectory of such an agent's run, without its steps: which task it was, how it ended and was graded."""
    instance = str(fields.get("instance_id") or path.name.removesuffix(".json").removesuffix(".traj"))
    info = plain_object(fields.get("info"))
    outcome, gold = resolved_result(path, instance, info.get("resolved"))
    return Trajectory(
        task_id=instance,
        environment="generic",
        instruction=instruction,
        outcome=_ended(str(info.get("exit_status") or ""), outcome),
        gold=gold,
        source={"file": path.name, "line": record.line, "format": name},
        extra={field: info[field] for field in ("exit_status", "submission") if info.get(field)} | record.notes,
    )


def _ended(status: str, outcome: Outcome) -> Outcome:
    """How a run ended: by a limit where its status says so, else as it was graded."""
    if status.lower() in _ENDED_BY_ITSELF:
        return outcome
    return Outcome.ERROR if "error" in status.lower() and "format" not in status.lower() else Outcome.HALTED


def _opening(record: Mapping[str, Any], intake: Intake) -> list[Turn]:
    """What the agent was told before its first action, demonstrations left aside."""
    first = plain_object((plain_list(record.get("trajectory")) or [None])[0])
    told = record.get("history") or first.get("query") or ()
    found = []
    for message in map(plain_object, plain_list(told)):
        if message.get("role") == AGENT and not message.get("is_demo"):
            break
        if message.get("role") in (SYSTEM, USER) and not message.get("is_demo"):
            found.append(Turn(str(message["role"]), spoken_text(message.get("content"), intake)))
    return found


def _turns(step: object, number: int, intake: Intake) -> Iterator[Turn]:
    if not isinstance(step, dict) or not isinstance(step.get("action"), str):
        raise intake.refusal(f"entry {number} of the trajectory is not an object with its action as a text")
    action = step["action"].rstrip("\n")
    told = step.get("thought") or ("" if action.strip() else step.get("response"))
    thought = told if isinstance(told, str) else ""
    calls = (LoggedCall("bash", {"command": action}, f"step {number}"),) if action.strip() else ()
    yield Turn(AGENT, thought="" if thought.strip() == action else thought, calls=calls, number=number)
    text, pictures = result_text(step.get("observation"), intake)
    if calls or text:
        role = TOOL if calls else USER
        yield Turn(role, text, answers=f"step {number}", pictures=tuple(pictures), number=number)


IMPORTER = Importer(_NAME, "SWE-agent trajectories (.traj)", read, _MARKS)
