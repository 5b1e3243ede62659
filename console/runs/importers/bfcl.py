"""BFCL result files: a model's calls for each question, as objects or as text with Python calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, LoggedCall, Turn, entry_of
from console.runs.importers.parts.intake import Intake
from console.runs.importers.parts.json_records import base_of, objects, outline
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Trajectory
from console.trajectory.calls import read_python

_NAME = "bfcl"
_MARKS = ((".id", ".result", ".latency"), (".id", ".result", ".input_token_count"), (".id", ".result", ".model_name"))
_FACTS = ("latency", "input_token_count", "output_token_count", "model_name")
_BROKEN = "answer that looks like calls and cannot be read"
_UNREADABLE = "answer that is not a list of calls"


def recognises(path: Path, head: bytes) -> bool:
    """Return whether the file contains results with their cost, or is named like a result file."""
    paths = outline(head)
    named = path.name.startswith("BFCL_") and base_of(paths, (".id", ".result")) is not None
    return named or base_of(paths, *_MARKS) is not None


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the answer to each question. The log does not contain the questions, so the instruction holds only the
    question's id.
    """
    for record in objects(path, progress, *_MARKS, (".id", ".result")):
        intake = Intake(path, record.line)
        question, result = record.value.get("id"), record.value.get("result")
        if not isinstance(question, str) or "result" not in record.value:
            raise intake.refusal(
                '"id" or "result" is missing, so the answer has no question. Export the results again.'
            )
        turns = [Turn(AGENT, text, calls=calls, number=1) for text, calls in _answers(result, intake)]
        trajectory = Trajectory(
            task_id=question,
            environment="generic",
            instruction=f"Question {question} of the Berkeley Function-Calling Leaderboard",
            source={"file": path.name, "line": record.line, "format": _NAME},
            extra={name: record.value[name] for name in _FACTS if record.value.get(name) is not None} | record.notes,
        )
        yield entry_of(intake, turns, trajectory)


def _answers(result: Any, intake: Intake) -> Iterator[tuple[str, tuple[LoggedCall, ...]]]:
    """Yield (text, calls) for each answer; a multi-turn answer is a list of answers."""
    if isinstance(result, str):
        calls = tuple(_python_calls(result))
        if not calls and result.lstrip().startswith("["):
            intake.leave_out(_BROKEN)
        yield "" if calls else result, calls
    elif isinstance(result, list) and result and all(_is_native(one) for one in result):
        yield "", tuple(LoggedCall(name, given) for one in result for name, given in one.items())
    elif isinstance(result, list):
        for one in result:
            yield from _answers(one, intake)
    else:
        intake.leave_out(_UNREADABLE)


def _is_native(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(given, (str, dict)) for given in value.values())


def _python_calls(text: str) -> Iterator[LoggedCall]:
    """Yield the calls in a text such as `[f(a=1), g()]`; yield nothing if the text has another form."""
    lines = text.strip().strip("`").removeprefix("python").strip()
    for call in read_python(lines if lines.startswith("[") else f"[{lines}]"):
        yield LoggedCall(call.name, call.arguments)


IMPORTER = Importer(_NAME, "BFCL result files", read, _MARKS, recognises=recognises)
