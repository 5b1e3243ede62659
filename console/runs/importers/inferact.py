"""The trajectory files of the InferAct reference: one JSON object per task, with steps as chat messages in `path`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.errors import UnreadableFile
from console.runs.importers.parts.files import steps_of
from console.runs.importers.parts.json_records import Record, objects, read_required_list
from console.runs.importers.parts.rewards import grade_reward, number_of
from console.runs.importers.records import Entry, Found, Importer, Progress, with_critical_action
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.messages import content_text

Said = tuple[str, str]
"""A message: the speaker (`human` or `ai`) and the text."""

_TRIAL_ENTRY = re.compile(r"^Trial \d+:[ \t]*\n?", re.MULTILINE)
_TASK = "Your task is to:"
_MEMORY, _HERE = "Your memory for the task below:", "Here is the task"
_ROOM = "You are in the middle of"
_BRACKETED = re.compile(r"\b\w+\[[^\n]*\]")
_NAME = "inferact"
_MARKS = ((".path[].type", ".path[].data"), (".path", ".trace_correct"), (".path", ".is_halted"))
_TRIAL_FOLDER = re.compile(r"(?:^|[_-])trial[_-]?(\d+)$", re.IGNORECASE)
_NOT_GOLD = frozenset({"path", "trace_correct", "is_halted", "reflection", "env_name", "label"})


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the trajectories, with task ids based on the file's name; raise UnreadableFile if a record has no path."""
    for order, record in enumerate(objects(path, progress, *_MARKS)):
        task_id = f"{path.stem}-{order}" if order else path.stem
        yield Found(record.line, with_critical_action(_trajectory(path, record, task_id)))


def _trajectory(path: Path, record: Record, task_id: str) -> Trajectory:
    fields = record.value
    messages = _messages(path, record)
    environment = _environment(fields, messages)
    told = _PATHS[environment](messages)
    outcome, gold = _result(fields) if told.steps else (Outcome.ERROR, {})
    folder = _TRIAL_FOLDER.search(path.parent.name)
    world = {"env_name": fields["env_name"]} if "env_name" in fields else {}
    return Trajectory(
        task_id=task_id,
        environment=environment,
        instruction=told.instruction,
        steps=told.steps,
        trial=int(folder[1]) if folder else 0,
        outcome=outcome,
        gold=gold,
        source={"file": path.name, "line": record.line, "format": _NAME, **world},
        extra=record.notes,
        opening=told.opening,
        memory=(*_reflections(fields.get("reflection")), *told.memory),
    )


def _messages(path: Path, record: Record) -> list[Said]:
    found = read_required_list(record, path, "path")
    if not all(isinstance(message, dict) for message in found):
        reason = 'A message in "path" is not an object with "type" and "data". Export the log again, then import it.'
        raise UnreadableFile(str(path), reason, record.line)
    return [_said(message) for message in found]


def _said(message: Mapping[str, Any]) -> Said:
    data = message.get("data")
    who = "ai" if message.get("type", message.get("role")) in ("ai", "assistant") else "human"
    return who, content_text((data if isinstance(data, dict) else message).get("content"))


def _environment(fields: Mapping[str, Any], messages: Sequence[Said]) -> str:
    if "true_item" in fields or any("[SEP]" in text for _, text in messages):
        return "webshop"
    asks = any(text.lstrip().startswith("Question:") for _, text in messages[:1])
    return "hotpotqa" if asks or "golden_answer" in fields else "alfworld"


def _result(fields: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    gold = {name: value for name, value in fields.items() if name not in _NOT_GOLD}
    gold |= {"answer": fields["golden_answer"]} if "golden_answer" in fields else {}
    correct = number_of(fields.get("trace_correct"))
    if fields.get("is_halted") is True:
        return Outcome.HALTED, gold
    return grade_reward(correct, gold)


def _reflections(value: object) -> Iterator[str]:
    lines = value if isinstance(value, list) else value.splitlines() if isinstance(value, str) else []
    for line in lines:
        text = content_text(line).strip().removeprefix("- ").strip()
        if text and not text.startswith(("Reflections:", "You have attempted")):
            yield text


@dataclass(frozen=True, slots=True)
class RecordedPath:
    """The content of a path: the task, the first observation, the memory and the steps."""

    instruction: str
    opening: str
    memory: tuple[str, ...]
    steps: tuple[Step, ...]


def webshop_path(path: Sequence[Said]) -> RecordedPath:
    """Return the episode after the worked example, from the first occurrence of the last instruction."""
    named = [_shop_instruction(text) if who == "human" else "" for who, text in path]
    last = next((name for name in reversed(named) if name), "")
    begin = named.index(last) if last else 0
    task = path[begin][1] if path else ""
    lines = task.splitlines()
    page = next((index for index, line in enumerate(lines) if "[SEP]" in line or "Instruction:" in line), 0)
    memory = tuple(line.removeprefix("- ").strip() for line in lines[:page] if line.startswith("- "))
    steps = [Step(*_thought_and_action(ai), human) for ai, human in _pairs(path[begin + 1 :])]
    return RecordedPath(last, "\n".join(lines[page:]).strip(), memory, tuple(steps))


def hotpotqa_path(path: Sequence[Said]) -> RecordedPath:
    """Return the question and the steps in the scratchpad."""
    texts = [text for _, text in path]
    lines = "\n".join(texts).splitlines()
    first = next((index for index, line in enumerate(lines) if line.startswith("Thought")), len(lines))
    question = "\n".join(lines[:first]).strip()
    return RecordedPath(question.rpartition("Question:")[2].strip(), "", (), steps_of(lines[first:]))


def alfworld_path(path: Sequence[Said]) -> RecordedPath:
    """Return the last task in the prompt and the steps; every turn is a step, including thoughts."""
    prompt = path[0][1] if path else ""
    before, _, task = prompt.rpartition(_TASK)
    room = before.rfind(_ROOM)
    recalled = before.partition(_MEMORY)[2].partition(_HERE)[0] if _MEMORY in before else ""
    memory = tuple(entry.strip() for entry in _TRIAL_ENTRY.split(recalled) if entry.strip())
    steps = [Step(action=ai.strip().removeprefix(">").strip(), observation=human) for ai, human in _pairs(path[1:])]
    instruction = task.strip().splitlines()[0].removesuffix(">").strip() if task.strip() else ""
    return RecordedPath(instruction, before[room:].strip() if room >= 0 else "", memory, tuple(steps))


def _pairs(path: Sequence[Said]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for who, text in path:
        if who == "ai":
            pairs.append((text, ""))
        elif pairs:
            ai, seen = pairs[-1]
            shown = text.strip().removeprefix("Observation:").strip()
            pairs[-1] = (ai, f"{seen}\n{shown}" if seen else shown)
    return pairs


def _shop_instruction(text: str) -> str:
    fields = [field.strip() for field in text.split("[SEP]")]
    names = [index for index, field in enumerate(fields[:-1]) if field.endswith("Instruction:")]
    return fields[names[-1] + 1] if names else ""


def _thought_and_action(text: str) -> tuple[str, str]:
    before, marker, after = text.rpartition("Action:")
    if marker:
        return before.strip().removeprefix("Thought:").strip(), after.strip()
    found = _BRACKETED.search(text)
    if found:
        return text[: found.start()].strip().removeprefix("Thought:").strip(), found[0]
    return "", text.strip()


_PATHS: dict[str, Callable[[Sequence[Said]], RecordedPath]] = {
    "webshop": webshop_path,
    "hotpotqa": hotpotqa_path,
    "alfworld": alfworld_path,
}

IMPORTER = Importer(_NAME, "Trajectory files of the InferAct reference", read, _MARKS)
