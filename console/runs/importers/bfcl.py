"""BFCL's result files: the calls that a model made for each question, as objects or as Python's calls in a text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from console.runs.importers.parts.conversation import AGENT, LoggedCall, Turn, entry_of
from console.runs.importers.parts.intake import Intake
from console.runs.importers.parts.json_records import base_of, objects, outline
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Trajectory

_NAME = "bfcl"
_MARKS = ((".id", ".result", ".latency"), (".id", ".result", ".input_token_count"), (".id", ".result", ".model_name"))
_FACTS = ("latency", "input_token_count", "output_token_count", "model_name")
_BROKEN = "answer that looks like calls and cannot be read"
_UNREADABLE = "answer that is no list of calls"


def recognises(path: Path, head: bytes) -> bool:
    """Whether there are results with what they cost, or by the name that such files have."""
    paths = outline(head)
    named = path.name.startswith("BFCL_") and base_of(paths, (".id", ".result")) is not None
    return named or base_of(paths, *_MARKS) is not None


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The answer to each question; the questions stand in another file, so the instruction says which it was."""
    for record in objects(path, progress, *_MARKS, (".id", ".result")):
        intake = Intake(path, record.line)
        question, result = record.value.get("id"), record.value.get("result")
        if not isinstance(question, str) or "result" not in record.value:
            raise intake.refusal('"id" or "result" is missing, so nobody can tell what was answered to what')
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
    """(words, calls) of each answer; of several turns each holds the answers to what the calls gave back."""
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
    """The calls in `[f(a=1), g()]`; nothing where the text is something else."""
    lines = text.strip().strip("`").removeprefix("python").strip()
    parsed = None
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        parsed = ast.parse(lines if lines.startswith("[") else f"[{lines}]", mode="exec")
    values = [one.value for one in parsed.body if isinstance(one, ast.Expr)] if parsed else []
    found = [call for value in values for call in (value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value])]
    flat = [one for held in found for one in (held.elts if isinstance(held, (ast.List, ast.Tuple)) else [held])]
    if flat and all(isinstance(call, ast.Call) for call in flat):
        yield from (_call(call) for call in flat if isinstance(call, ast.Call))


def _call(call: ast.Call) -> LoggedCall:
    named = {word.arg or "**": _value(word.value) for word in call.keywords}
    placed = [_value(one) for one in call.args]
    return LoggedCall(ast.unparse(call.func), named | ({"args": placed} if placed else {}))


def _value(node: ast.expr) -> Any:
    """The value of an argument; the text that stands there where it is no plain value."""
    with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = ast.literal_eval(node)
        with suppress(TypeError):
            return orjson.loads(orjson.dumps(value))
    return ast.unparse(node)


IMPORTER = Importer(_NAME, "BFCL result files", read, _MARKS, recognises=recognises)
