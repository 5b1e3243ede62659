"""Importer for the printed output of ReAct on WebShop: numbered episodes, each followed by the running averages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.environments import ENVIRONMENTS
from console.errors import UnreadableFile
from console.runs.importers.parts.files import CUT, text_lines
from console.runs.importers.parts.rewards import label_success
from console.runs.importers.records import Entry, Found, Importer, Progress, with_critical_action
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import is_critical

_NAME = "webshop-react"
_WORLD = ENVIRONMENTS["webshop"]
_RULE = re.compile(r"^-{5,}\s*$")
_NUMBER = re.compile(r"^\s*(\d+)\s*$")
_MEANS = re.compile(r"^\s*\d+(?:\s+(?:-?\d+\.\d+(?:e[-+]?\d+)?|\d+e-\d+|nan)){3}\s*$", re.IGNORECASE)
_SCORE = re.compile(r"Your score[^:\n]*:\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![-+.\w])")
_INSTRUCTION = re.compile(r"Instruction:\s*(.*?)\s*(?:\n\s*\[|\Z)", re.DOTALL)
_PREFACE_BYTES = 4096
_START = re.compile(rb"^-{5,}[ \t]*\r?\n\s*\d+[ \t]*\r?\n\s*Action: ?reset", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Episode:
    line: int
    number: int
    lines: tuple[str, ...]
    measured: bool
    """True if running means follow the episode."""
    last: bool = False
    """True if the file ends with the episode, without running means."""


def recognises(path: Path, head: bytes) -> bool:
    """Return whether the file begins with a line of dashes, an episode number and a reset action."""
    start = _START.search(head)
    return start is not None and start.start() < _PREFACE_BYTES


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the episodes; raise UnreadableFile if the end of the last episode is missing."""
    measured = False
    for episode in _episodes(path, text_lines(path, progress)):
        found = Found(episode.line, _trajectory(path, episode))
        ends_by_itself = "score" in found.trajectory.gold
        if not episode.measured and (measured or (episode.last and not ends_by_itself)):
            reason = f"Episode {episode.number} lacks the line of running means at its end. {CUT}"
            raise UnreadableFile(str(path), reason, episode.line)
        measured = episode.measured
        yield found


def _episodes(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[_Episode]:
    """Yield the episodes of the output; ignore text before the first episode and between episodes."""
    begun, number, ruled, last = 0, 0, False, ""
    inside: list[str] | None = None
    for at, text in lines:
        last = text
        if ruled and (match := _NUMBER.match(text)):
            if inside is not None:
                yield _Episode(begun, number, tuple(inside[:-1]), measured=False)
            begun, number, inside = at, int(match[1]), []
        elif inside is not None and _MEANS.match(text):
            yield _Episode(begun, number, tuple(inside), measured=True)
            inside = None
        elif inside is not None:
            inside.append(text)
        ruled = bool(_RULE.match(text)) or (ruled and not text.strip())
    if inside is not None:
        if last.strip():
            raise UnreadableFile(str(path), CUT, begun + len(inside))
        yield _Episode(begun, number, tuple(inside), measured=False, last=True)


def _trajectory(path: Path, episode: _Episode) -> Trajectory:
    opening, steps = _steps(episode.lines)
    outcome, gold = _result(steps)
    trajectory = Trajectory(
        task_id=f"fixed_{episode.number}",
        environment="webshop",
        instruction=" ".join(asked[1].split()) if (asked := _INSTRUCTION.search(opening)) else "",
        steps=steps,
        outcome=outcome,
        gold=gold,
        source={"file": path.name, "line": episode.line, "format": _NAME, "episode": episode.number},
        opening=opening,
    )
    return with_critical_action(trajectory)


def _steps(lines: tuple[str, ...]) -> tuple[str, tuple[Step, ...]]:
    parts: list[tuple[list[str], list[str]]] = []
    part = -1
    for index, line in enumerate(lines):
        opens = line.startswith("Action:") and (part != 1 or index == 0 or not lines[index - 1].strip())
        if opens:
            parts.append(([line.removeprefix("Action:")], []))
            part = 0
        elif part == 0 and line.startswith("Observation:"):
            parts[-1][1].append(line.removeprefix("Observation:"))
            part = 1
        elif parts:
            parts[-1][part].append(line)
    steps = [Step(action=_tidy(action), observation=_tidy(observation)) for action, observation in parts]
    if steps and steps[0].action.startswith("reset"):
        return steps[0].observation, tuple(steps[1:])
    return "", tuple(steps)


def _tidy(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).strip()


def _result(steps: tuple[Step, ...]) -> tuple[Outcome, dict[str, Any]]:
    bought = [step for step in steps if is_critical(step.action, _WORLD.critical)]
    bought = [step for step in bought if not step.observation.startswith(_WORLD.not_executed)]
    if not bought:
        return Outcome.HALTED if steps else Outcome.ERROR, {}
    printed = _SCORE.search(bought[-1].observation)
    if not printed:
        return Outcome.FINISHED, {}
    score = float(printed[1])
    return label_success(score >= 1.0, {"score": score})


IMPORTER = Importer(_NAME, "ReAct on WebShop, printed episodes", read, recognises=recognises)
