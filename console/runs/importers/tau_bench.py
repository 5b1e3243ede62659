"""Result files of tau-bench and tau2: messages with tool calls, or calls written as JSON after "Action:"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.conversation import AGENT, Turn, found, respond
from console.runs.importers.parts.intake import Intake, plain_object
from console.runs.importers.parts.json_records import Record, elements, objects, parsed
from console.runs.importers.parts.message_parts import read_turns
from console.runs.importers.parts.messages import (
    Message,
    are_messages,
    call_text,
    first_user_message,
    opening_of,
    said,
    thought_of,
    tool_calls,
    turns,
)
from console.runs.importers.parts.rewards import graded, number_of, trial_of
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Outcome, Step, Trajectory

_NAME = "tau-bench"
_MARKS = (
    (".task_id", ".traj"),
    (".task_id", ".reward", ".info"),
    (".task_id", ".reward_info", ".messages"),
)
_ANSWERED = "API output:"
_WRITTEN = re.compile(r"^\s*Action:\s*$|^\s*Action:\s*\{", re.MULTILINE)


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The runs; raises UnreadableFile at a record without a list of messages."""
    told = dict(_told_tasks(path))
    for record in objects(path, progress, *_MARKS):
        intake = Intake(path, record.line)
        writing = tuple(dict.fromkeys(_writing(record.value)))
        yield found(intake, _trajectory(path, record, intake, told), critical=writing)


def _told_tasks(path: Path) -> Iterator[tuple[str, str]]:
    """(id, instructions) of the tasks that tau2 lists beside its simulations."""
    with path.open("rb") as stream:
        head = stream.read(2**16)
    if b'"tasks"' not in head:
        return
    for line, raw in elements(path, ".tasks[]"):
        task = plain_object(parsed(raw, path, line).value)
        if told := _instructions(plain_object(task.get("user_scenario")).get("instructions")):
            yield str(task.get("id")), told


def _instructions(told: object) -> str:
    """What the user has in mind: a text, or its parts by name."""
    if isinstance(told, str):
        return told
    parts = [(name, value) for name, value in plain_object(told).items() if name != "domain"]
    return "\n".join(
        f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in parts if isinstance(value, str)
    )


def _writing(run: Mapping[str, Any]) -> Iterator[str]:
    """The tools that the run's own checks call writing."""
    checks = plain_object(run.get("reward_info")).get("action_checks")
    for check in map(plain_object, checks if isinstance(checks, list) else ()):
        name = plain_object(check.get("action")).get("name")
        if check.get("tool_type") == "write" and isinstance(name, str) and name:
            yield name


def _trajectory(path: Path, record: Record, intake: Intake, told: Mapping[str, str]) -> Trajectory:
    run = record.value
    messages = _messages(path, record)
    info = plain_object(run.get("info"))
    task = plain_object(info.get("task"))
    steps = _text_steps(messages) if _calls_are_text(messages) else _tool_steps(read_turns(messages, intake), intake)
    outcome, gold = _result(run, info, task, steps)
    instruction = task.get("instruction") or told.get(str(run.get("task_id")))
    task_id = run.get("task_id")
    ended = run.get("termination_reason")
    return Trajectory(
        task_id=str(task_id) if task_id is not None else f"line-{record.line}",
        environment="tau-bench",
        instruction=instruction if isinstance(instruction, str) and instruction else first_user_message(messages),
        steps=steps,
        trial=trial_of(run.get("trial")),
        outcome=outcome,
        gold=gold,
        source={"file": path.name, "line": record.line, "format": _NAME},
        extra=({"termination_reason": ended} if isinstance(ended, str) else {}) | record.notes,
        opening=opening_of(messages),
    )


def _messages(path: Path, record: Record) -> Sequence[Message]:
    if record.value.get("ticks") and not record.value.get("messages"):
        raise UnreadableFile(str(path), "this is a voice run in ticks, which has no messages to review", record.line)
    messages = next((record.value[name] for name in ("traj", "messages", "trajectory") if name in record.value), None)
    if not are_messages(messages):
        raise UnreadableFile(str(path), '"traj" is missing or is not a list of messages', record.line)
    return messages


def _tool_steps(said_in_turn: Sequence[Turn], intake: Intake) -> tuple[Step, ...]:
    """One step a message. Ids of calls repeat within a run, so a call is answered by what comes next."""
    groups: list[tuple[Turn, list[Turn]]] = []
    for turn in said_in_turn:
        if turn.role == AGENT:
            groups.append((turn, []))
        elif groups:
            groups[-1][1].append(turn)
    for place, (turn, answers) in enumerate(groups, 1):
        intake.read_as += [(one.number, f"{one.role} text", place) for one in (turn, *answers)]
    return tuple(_tool_step(turn, answers) for turn, answers in groups)


def _tool_step(turn: Turn, answers: Sequence[Turn]) -> Step:
    observation = "\n".join(answer.text for answer in answers)
    pictures = tuple(picture for answer in answers for picture in answer.pictures)
    if turn.calls:
        thought = "\n\n".join(text.strip() for text in (turn.thought, turn.text) if text.strip())
        return Step(thought, "\n".join(call.action for call in turn.calls), observation, pictures=pictures)
    return Step(turn.thought, respond(turn.text), observation, pictures=pictures)


def _calls_are_text(messages: Sequence[Message]) -> bool:
    mine = [message for message in messages if message.get("role") == "assistant"]
    if any(tool_calls(message) for message in mine) or any(message.get("role") == "tool" for message in messages):
        return False
    answered = any(said(message).startswith(_ANSWERED) for message in messages if message.get("role") == "user")
    return answered or any(_WRITTEN.search(said(message)) or _written_call(said(message)) for message in mine)


def _text_steps(messages: Sequence[Message]) -> tuple[Step, ...]:
    return tuple(_text_step(message, answers) for message, answers in turns(messages))


def _text_step(message: Message, answers: Sequence[Message]) -> Step:
    before, marker, written = said(message).rpartition("Action:")
    thought = before.strip().removeprefix("Thought:").strip() if marker else ""
    call = _written_call(written)
    replies = [said(answer) for answer in answers]
    talks = call is not None and call["name"] == "respond"
    ran = not replies or replies[0].startswith(_ANSWERED)
    action = call_text(call) if call is not None and (talks or ran) else respond(written.strip())
    observation = "\n".join(reply.removeprefix(_ANSWERED).strip() if not talks else reply for reply in replies)
    return Step(thought_of(message, thought), action, observation)


def _written_call(text: str) -> Mapping[str, Any] | None:
    """The call in the text after its last "Action:"; None where it is malformed, and so never ran."""
    try:
        call = orjson.loads(text.rpartition("Action:")[2].strip())
    except orjson.JSONDecodeError:
        return None
    return call if isinstance(call, dict) and isinstance(call.get("name"), str) and "arguments" in call else None


def _result(
    run: Mapping[str, Any], info: Mapping[str, Any], task: Mapping[str, Any], steps: tuple[Step, ...]
) -> tuple[Outcome, dict[str, Any]]:
    told = (run.get("reward"), plain_object(run.get("reward_info")).get("reward"))
    reward = next((number for value in told if (number := number_of(value)) is not None), None)
    gold: dict[str, Any] = {} if reward is None else {"reward": reward}
    gold |= {name: task[name] for name in ("actions", "outputs") if name in task}
    if not steps:
        return Outcome.ERROR, gold | ({"error": str(info["error"])} if "error" in info else {})
    return graded(reward, gold)


IMPORTER = Importer(_NAME, "tau-bench and tau2 result files", read, _MARKS)
