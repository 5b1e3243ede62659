"""SWE-agent and mini-swe-agent runs: each command becomes a call of `bash` with the printed output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, LoggedCall, Turn, entry_of, first_words
from console.runs.importers.parts.intake import Intake, as_text, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import Record, json_records, objects, read_required_list
from console.runs.importers.parts.message_parts import read_turns, result_text, spoken_text
from console.runs.importers.parts.rewards import read_resolved_result
from console.runs.importers.parts.written_calls import COMMANDS
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress, WrittenCalls
from console.trajectory import Outcome

_NAME = "swe-agent"
_MARKS = (
    (".trajectory[].action", ".trajectory[].observation"),
    (".trajectory", ".history", ".info"),
    (".history[].role", ".history[].action"),
)
_WRITTEN = WrittenCalls(re.compile(r"(?:^|\.)trajectory\[\]\.action$"))
_STEP_FIELDS = frozenset(
    {"thought", "action", "response", "state", "query", "messages", "execution_time", "extra_info"}
)
_DEMONSTRATION = "--- DEMONSTRATION ---"
_ENDED_BY_ITSELF = ("submitted", "")


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the run of each record, with its label from a report beside the file."""
    for record in objects(path, progress, *_MARKS):
        intake = Intake(path, record.line, _NAME)
        if (others := len(plain_list(record.value.get("attempts"))) - 1) > 0:
            intake.leave_out("attempt that was not chosen", others)
        told = record.value.get("history")
        by_history = "trajectory" not in record.value and isinstance(told, list)
        steps = _steps_in_history(told, intake) if by_history else read_required_list(record, path, "trajectory")
        opening = _opening(record.value, intake)
        turns = [turn for number, step in enumerate(steps, 1) for turn in _turns(step, number, intake)]
        yield _entry(intake, [*opening, *turns], record, record.value, first_words(opening))


def _entry(intake: Intake, turns: Sequence[Turn], record: Record, fields: Mapping[str, Any], asked: str = "") -> Entry:
    instance = str(fields.get("instance_id") or intake.path.name.removesuffix(".json").removesuffix(".traj"))
    info = plain_object(fields.get("info"))
    outcome, gold = read_resolved_result(intake.path, instance, info.get("resolved"))
    result = (_ended(str(info.get("exit_status") or ""), outcome), gold)
    extra = collect_fields(info, "exit_status", "submission") | record.notes
    return entry_of(intake, turns, instance, result, instruction=asked, extra=extra)


def _ended(status: str, outcome: Outcome) -> Outcome:
    if status.lower() in _ENDED_BY_ITSELF:
        return outcome
    return Outcome.ERROR if "error" in status.lower() and "format" not in status.lower() else Outcome.HALTED


def _steps_in_history(history: Sequence[Any], intake: Intake) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for message in map(plain_object, history):
        if message.get("is_demo"):
            continue
        if "action" in message:
            steps.append({"thought": message.get("thought"), "action": message["action"]})
        elif steps and (content := intake.expected(message, "message", "content")):
            steps[-1].setdefault("observations", []).append(content)
    for step in steps:
        told = step.pop("observations", [])
        step["observation"] = told[0] if len(told) == 1 else [part for one in told for part in _listed(one)]
    return steps


def _listed(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": as_text(content)}]


def _opening(record: Mapping[str, Any], intake: Intake) -> list[Turn]:
    first = plain_object((plain_list(record.get("trajectory")) or [None])[0])
    told = record.get("history") or first.get("query") or first.get("messages") or ()
    found = []
    for message in map(plain_object, plain_list(told)):
        if message.get("role") == AGENT and not message.get("is_demo"):
            break
        # Older logs do not mark the messages of an example run.
        is_example = message.get("is_demo") or _DEMONSTRATION in as_text(message.get("content"))
        if message.get("role") in (SYSTEM, USER) and not is_example:
            text = spoken_text(intake.expected(message, "message", "content"), intake)
            found.append(Turn(str(message["role"]), text))
    return found


def _turns(step: object, number: int, intake: Intake) -> Iterator[Turn]:
    if not isinstance(step, dict) or "action" not in step or not isinstance(step["action"], (str, type(None))):
        raise intake.refusal(
            f"Entry {number} of the trajectory is not an object with its action as a text. Export the log again."
        )
    action = word(step["action"]).rstrip("\n")
    told = step.get("thought") or ("" if action.strip() else step.get("response"))
    thought = told if isinstance(told, str) else ""
    calls = (LoggedCall("bash", {"command": action}, f"step {number}"),) if action.strip() else ()
    yield Turn(AGENT, thought="" if thought.strip() == action else thought, calls=calls, number=number)
    if "observation" not in step and step.keys() - _STEP_FIELDS:
        intake.leave_out("step without its observation")
    text, pictures = result_text(step.get("observation"), intake)
    if calls or text:
        role = TOOL if calls else USER
        yield Turn(role, text, answers=f"step {number}", pictures=tuple(pictures), number=number)


IMPORTER = Importer(
    _NAME, "SWE-agent trajectories (.traj)", read, _MARKS, renames=True, written=_WRITTEN, critical=SHELL_TOOLS
)


_MINI = "mini-swe-agent"
_MINI_MARKS = ((".messages[].role",), ("[].role",))
_OWN = re.compile(rb"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT|mswea_bash_command|\"mini-swe-agent")
_BLOCK = re.compile(r"```(?:bash|sh|mswea_bash_command)?[ \t]*\r?\n(.*?)\r?\n```", re.DOTALL)

_MINI_WRITTEN = WrittenCalls(re.compile(r"(?:^|\.|\])content$"), _BLOCK)


def read_mini(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the run of each record, with its label from a report beside the file."""
    for record in json_records(path, progress, *_MINI_MARKS):
        intake = Intake(path, record.line, _MINI)
        fields = plain_object(record.value)
        messages = fields.get("messages") if fields else record.value
        if not isinstance(messages, list):
            raise intake.refusal('"messages" is missing or is not a list. Export the log again.')
        plain = [{**one, "role": USER} if plain_object(one).get("role") == "exit" else one for one in messages]
        turns = list(_commands(read_turns(plain, intake)))
        # Here, the commands are calls.
        intake.left_out.pop(COMMANDS, None)
        yield _entry(intake, turns, record, fields)


def _commands(turns: list[Turn]) -> Iterator[Turn]:
    """Yield the turns; a text with exactly one fenced block becomes a call, and the next turn becomes its result."""
    waiting = ""
    for turn in turns:
        blocks = _BLOCK.findall(turn.text) if turn.role == AGENT and not turn.calls else []
        if len(blocks) == 1:
            waiting = f"command {turn.number}"
            said = _BLOCK.sub("", turn.text).strip()
            yield replace(turn, text=said, calls=(LoggedCall("bash", {"command": blocks[0]}, waiting),))
        elif turn.role == USER and waiting:
            yield replace(turn, role=TOOL, answers=waiting)
            waiting = ""
        else:
            yield turn


MINI = Importer(
    _MINI,
    "mini-swe-agent runs (.traj.json)",
    read_mini,
    _MINI_MARKS,
    words=_OWN,
    renames=True,
    written=_MINI_WRITTEN,
    critical=SHELL_TOOLS,
)
