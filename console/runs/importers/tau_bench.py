"""tau-bench result files: OpenAI messages with tool calls, or calls written as JSON after "Action:"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.json_records import Record, base_of, objects, outline
from console.runs.importers.parts.messages import (
    Message,
    are_messages,
    call_text,
    first_user_message,
    opening_of,
    respond,
    said,
    thought_of,
    tool_calls,
    turns,
)
from console.runs.importers.parts.rewards import number_of, result_of, trial_of
from console.runs.importers.records import Entry, Found, Importer, Progress, with_critical_action
from console.trajectory import Outcome, Step, Trajectory

_NAME = "tau-bench"
_MARKS = (
    (".task_id", ".traj"),
    (".task_id", ".reward", ".info"),
    (".task_id", ".reward_info", ".messages"),
)
_ANSWERED = "API output:"
_WRITTEN = re.compile(r"^\s*Action:\s*$|^\s*Action:\s*\{", re.MULTILINE)


def recognises(path: Path, head: bytes) -> bool:
    """Whether the records have a task_id, a reward and the messages of a run."""
    return base_of(outline(head), *_MARKS) is not None


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The runs; raises UnreadableFile at a record without a list of messages."""
    for record in objects(path, progress, *_MARKS):
        yield Found(record.line, with_critical_action(_trajectory(path, record)))


def _trajectory(path: Path, record: Record) -> Trajectory:
    run = record.value
    messages = _messages(path, record)
    info = _object(run.get("info"))
    task = _object(info.get("task"))
    steps = _text_steps(messages) if _calls_are_text(messages) else _tool_steps(messages)
    outcome, gold = _result(run, info, task, steps)
    instruction = task.get("instruction")
    task_id = run.get("task_id")
    return Trajectory(
        task_id=str(task_id) if task_id is not None else f"line-{record.line}",
        environment="tau-bench",
        instruction=instruction if isinstance(instruction, str) and instruction else first_user_message(messages),
        steps=steps,
        trial=trial_of(run.get("trial")),
        outcome=outcome,
        gold=gold,
        source={"file": path.name, "line": record.line, "format": _NAME},
        extra=record.notes,
        opening=opening_of(messages),
    )


def _messages(path: Path, record: Record) -> Sequence[Message]:
    found = next((record.value[name] for name in ("traj", "messages", "trajectory") if name in record.value), None)
    if not are_messages(found):
        raise UnreadableFile(str(path), '"traj" is missing or is not a list of messages', record.line)
    return found


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _tool_steps(messages: Sequence[Message]) -> tuple[Step, ...]:
    """One step a message. Ids of calls repeat within a run, so a call is answered by what comes next."""
    return tuple(_tool_step(message, answers) for message, answers in turns(messages))


def _tool_step(message: Message, answers: Sequence[Message]) -> Step:
    calls = [call_text(call) for call in tool_calls(message)]
    observation = "\n".join(said(answer) for answer in answers)
    if calls:
        return Step(thought_of(message, said(message)), "\n".join(calls), observation)
    return Step(thought_of(message, ""), respond(said(message)), observation)


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
    told = (run.get("reward"), _object(run.get("reward_info")).get("reward"))
    reward = next((number for value in told if (number := number_of(value)) is not None), None)
    gold: dict[str, Any] = {} if reward is None else {"reward": reward}
    gold |= {name: task[name] for name in ("actions", "outputs") if name in task}
    if not steps:
        return Outcome.ERROR, gold | ({"error": str(info["error"])} if "error" in info else {})
    if reward is None:
        return Outcome.FINISHED, gold
    outcome, label = result_of(reward)
    return outcome, {"label": str(label), **gold}


IMPORTER = Importer(_NAME, "tau-bench result files", recognises, read)
