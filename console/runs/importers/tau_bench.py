"""Result files of tau-bench and tau2: messages with tool calls, or calls as JSON after "Action:"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.conversation import AGENT, TOOL, USER, Turn, build_entry, first_words, opening_of
from console.runs.importers.parts.intake import Intake, plain_list, plain_object, word
from console.runs.importers.parts.json_records import Record, base_of, elements, objects, outline, outlines, parse_json
from console.runs.importers.parts.message_parts import read_turns
from console.runs.importers.parts.rewards import UNCLEAR, grade_reward, number_of, trial_of
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Outcome, Step, Trajectory, call_action
from console.trajectory.messages import join_paragraphs, respond_action

_NAME = "tau-bench"
_MARKS = ((".task_id", ".traj"), (".task_id", ".reward", ".info"), (".task_id", ".reward_info", ".messages"))
_EMPTY = frozenset({".info", ".tasks", ".simulations"})
"""The fields of a result file of tau2, which may hold no simulation."""
_ANSWERED = "API output:"
_WRITTEN = re.compile(r"^\s*Action:\s*$|^\s*Action:\s*\{", re.MULTILINE)


def recognises(path: Path, head: bytes) -> bool:
    """Return whether the file holds runs, or is a result file of tau2, even one without a simulation."""
    paths = outline(head)
    return base_of(paths, *_MARKS) is not None or paths >= _EMPTY


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the trajectories; raise UnreadableFile if a record has no list of messages."""
    if all(base_of(paths, *_MARKS) is None and paths >= _EMPTY for paths in outlines(path)):
        return
    told = dict(_told_tasks(path))
    for record in objects(path, progress, *_MARKS):
        intake = Intake(path, record.line, _NAME)
        writing = tuple(dict.fromkeys(_writing(record.value)))
        yield build_entry(intake, _trajectory(path, record, intake, told), critical=writing)


def _told_tasks(path: Path) -> Iterator[tuple[str, str]]:
    with path.open("rb") as stream:
        head = stream.read(2**20)
    if b'"tasks"' not in head:
        return
    for line, raw in elements(path, ".tasks[]"):
        task = plain_object(parse_json(raw, path, line).value)
        if told := _instructions(plain_object(task.get("user_scenario")).get("instructions")):
            yield str(task.get("id")), told


def _instructions(told: object) -> str:
    if isinstance(told, str):
        return told
    parts = [(name, value) for name, value in plain_object(told).items() if name != "domain"]
    return "\n".join(
        f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in parts if isinstance(value, str)
    )


def _writing(run: Mapping[str, Any]) -> Iterator[str]:
    for check in map(plain_object, plain_list(plain_object(run.get("reward_info")).get("action_checks"))):
        name = plain_object(check.get("action")).get("name")
        if check.get("tool_type") == "write" and isinstance(name, str) and name:
            yield name


def _trajectory(path: Path, record: Record, intake: Intake, told: Mapping[str, str]) -> Trajectory:
    run = record.value
    turns = read_turns(_messages(path, record), intake)
    groups = _grouped(turns)
    info = plain_object(run.get("info"))
    task = plain_object(info.get("task"))
    make_step = _text_step if _calls_are_text(turns) else _tool_step
    steps = tuple(make_step(turn, answers) for turn, answers in groups)
    for place, (turn, answers) in enumerate(groups, 1):
        intake.read_as += [(one.number, f"{one.role} text", place) for one in (turn, *answers)]
    outcome, gold = _result(run, info, task, steps)
    if outcome is Outcome.FINISHED and "reward" in gold:
        intake.leave_out(UNCLEAR.format("reward"))
    task_id, instruction = run.get("task_id"), task.get("instruction") or told.get(str(run.get("task_id")))
    ended = run.get("termination_reason")
    return Trajectory(
        task_id=str(task_id) if task_id is not None else f"line-{record.line}",
        environment="tau-bench",
        instruction=word(instruction) or first_words(turns),
        steps=steps,
        trial=trial_of(run.get("trial")),
        outcome=outcome,
        gold=gold,
        source=intake.source,
        extra=({"termination_reason": ended} if isinstance(ended, str) else {}) | record.notes,
        opening=opening_of(turns[: turns.index(groups[0][0]) if groups else len(turns)]),
    )


def _messages(path: Path, record: Record) -> list[Any]:
    if record.value.get("ticks") and not record.value.get("messages"):
        raise UnreadableFile(
            str(path), "This is a voice run in ticks, which has no messages to review. Import a text run.", record.line
        )
    messages = next((record.value[name] for name in ("traj", "messages", "trajectory") if name in record.value), None)
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise UnreadableFile(
            str(path), '"traj" is missing or is not a list of messages. Export the log again.', record.line
        )
    return messages


def _grouped(turns: Sequence[Turn]) -> list[tuple[Turn, list[Turn]]]:
    """Return each agent turn with the turns up to the next agent turn; match by order, because call ids repeat."""
    groups: list[tuple[Turn, list[Turn]]] = []
    for turn in turns:
        if turn.role == AGENT:
            groups.append((turn, []))
        elif groups:
            groups[-1][1].append(turn)
    return groups


def _tool_step(turn: Turn, answers: Sequence[Turn]) -> Step:
    observation = "\n".join(answer.text for answer in answers)
    pictures = tuple(picture for answer in answers for picture in answer.pictures)
    if turn.calls:
        thought = join_paragraphs(turn.thought, turn.text)
        return Step(thought, "\n".join(call.action for call in turn.calls), observation, pictures=pictures)
    return Step(turn.thought, respond_action(turn.text), observation, pictures=pictures)


def _calls_are_text(turns: Sequence[Turn]) -> bool:
    if any(turn.calls or turn.role == TOOL for turn in turns):
        return False
    answered = any(turn.text.startswith(_ANSWERED) for turn in turns if turn.role == USER)
    written = (turn.text for turn in turns if turn.role == AGENT)
    return answered or any(_WRITTEN.search(text) or _written_call(text) for text in written)


def _text_step(turn: Turn, answers: Sequence[Turn]) -> Step:
    before, marker, written = turn.text.rpartition("Action:")
    thought = before.strip().removeprefix("Thought:").strip() if marker else ""
    call = _written_call(written)
    replies = [answer.text for answer in answers]
    talks = call is not None and call["name"] == "respond"
    ran = not replies or replies[0].startswith(_ANSWERED)
    is_call = call is not None and (talks or ran)
    action = call_action(call["name"], call["arguments"]) if call and is_call else respond_action(written.strip())
    observation = "\n".join(reply.removeprefix(_ANSWERED).strip() if not talks else reply for reply in replies)
    return Step(join_paragraphs(turn.thought, thought), action, observation)


def _written_call(text: str) -> Mapping[str, Any] | None:
    """Return the call after the last "Action:" of the text, or None if it is malformed and therefore never ran."""
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
    return grade_reward(reward, gold)


IMPORTER = Importer(_NAME, "tau-bench and tau2 result files", read, _MARKS, recognises=recognises)
