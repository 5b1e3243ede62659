"""The three kinds of `path` in the InferAct reference's files: WebShop, HotPotQA, ALFWorld."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from console.runs.importers.parts.triples import steps_of
from console.trajectory import Step

Said = tuple[str, str]
"""Who spoke (`human` or `ai`), and what."""

_TRIAL_ENTRY = re.compile(r"^Trial \d+:[ \t]*\n?", re.MULTILINE)
_TASK = "Your task is to:"
_MEMORY, _HERE = "Your memory for the task below:", "Here is the task"
_ROOM = "You are in the middle of"
_BRACKETED = re.compile(r"\b\w+\[[^\n]*\]")


@dataclass(frozen=True, slots=True)
class RecordedPath:
    """What a path says: the task, what the agent saw first, what it was reminded of, and what it did."""

    instruction: str
    opening: str
    memory: tuple[str, ...]
    steps: tuple[Step, ...]


def webshop_path(path: Sequence[Said]) -> RecordedPath:
    """The episode after the worked example: it begins where the last instruction is named first."""
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
    """The question, and the scratchpad with all of its triples."""
    texts = [text for _, text in path]
    lines = "\n".join(texts).splitlines()
    first = next((index for index, line in enumerate(lines) if line.startswith("Thought")), len(lines))
    question = "\n".join(lines[:first]).strip()
    return RecordedPath(question.rpartition("Question:")[2].strip(), "", (), steps_of(lines[first:]))


def alfworld_path(path: Sequence[Said]) -> RecordedPath:
    """The last task in the prompt; every turn is a step, thoughts included."""
    prompt = path[0][1] if path else ""
    before, _, task = prompt.rpartition(_TASK)
    room = before.rfind(_ROOM)
    recalled = before.partition(_MEMORY)[2].partition(_HERE)[0] if _MEMORY in before else ""
    memory = tuple(entry.strip() for entry in _TRIAL_ENTRY.split(recalled) if entry.strip())
    steps = [Step(action=ai.strip().removeprefix(">").strip(), observation=human) for ai, human in _pairs(path[1:])]
    instruction = task.strip().splitlines()[0].removesuffix(">").strip() if task.strip() else ""
    return RecordedPath(instruction, before[room:].strip() if room >= 0 else "", memory, tuple(steps))


def _pairs(path: Sequence[Said]) -> list[tuple[str, str]]:
    """What the agent said, each with what came back."""
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
    """The field after "Instruction:" in a page whose fields are parted by [SEP]."""
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
