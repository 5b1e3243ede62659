"""Steps of smolagents: the memory of an agent (`get_full_steps`, `get_succinct_steps`), and the result of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, LoggedCall, Turn, entry_of
from console.runs.importers.parts.intake import Intake, as_text, plain_list, plain_object, word
from console.runs.importers.parts.json_records import json_records
from console.runs.importers.parts.message_parts import call_of, spoken_text
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Outcome

_NAME = "smolagents"
_HOLDERS = ("steps", "messages")
_MARKS = tuple((f"{base}[].step_number", f"{base}[].tool_calls") for base in ("", ".steps", ".messages"))
_STATES = {"success": Outcome.FINISHED, "max_steps_error": Outcome.HALTED}
_DONE, _CODE = "final_answer", "python_interpreter"


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield one trajectory per record; raise UnreadableFile if a record has no list of steps."""
    for place, record in enumerate(json_records(path, progress, *_MARKS)):
        intake, fields = Intake(path, record.line, _NAME), plain_object(record.value)
        steps = record.value if isinstance(record.value, list) else next(filter(None, map(fields.get, _HOLDERS)), None)
        if not isinstance(steps, list) or not all(isinstance(one, dict) for one in steps):
            raise intake.refusal("This record has no list of steps. Write the memory of the agent again.")
        turns = [turn for number, one in enumerate(steps, 1) for turn in _turns(one, number, intake)]
        policy = next((_policy(one, intake) for one in steps if one.get("model_input_messages")), "")
        turns[:0] = [Turn(SYSTEM, policy)] if policy else []
        name = f"{path.stem}-{place}" if place else path.stem
        outcome = _STATES.get(word(fields.get("state")), Outcome.FINISHED)
        yield entry_of(intake, turns, name, (outcome, {}), extra=record.notes)


def _policy(step: Mapping[str, Any], intake: Intake) -> str:
    first = plain_object(next(iter(plain_list(step["model_input_messages"])), None))
    return spoken_text(first.get("content"), intake) if first.get("role") == SYSTEM else ""


def _turns(step: Mapping[str, Any], number: int, intake: Intake) -> Iterator[Turn]:
    for name in ("task_images", "observations_images"):
        if step.get(name):
            intake.leave_out(f"list {name} of pictures")
    if "task" in step:
        yield Turn(USER, as_text(step["task"]), number=number)
    elif "plan" in step:
        yield Turn(AGENT, thought=as_text(step["plan"]), number=number)
    elif "step_number" in step:
        yield from _acted(step, number, intake)
    elif "system_prompt" in step:
        yield Turn(SYSTEM, as_text(step["system_prompt"]), number=number)
    elif step.keys() - {"output"}:
        intake.leave_out("step of an unknown kind")


def _acted(step: Mapping[str, Any], number: int, intake: Intake) -> Iterator[Turn]:
    held = [plain_object(one) for one in plain_list(step.get("tool_calls"))]
    calls = [_with_code(call_of(one, intake)) for one in held]
    thought = spoken_text(step.get("model_output"), intake)
    answers = [plain_object(call.arguments) for call in calls if call.name == _DONE]
    made = tuple(call for call in calls if call.name != _DONE)
    output = step.get("action_output")
    is_last = bool(answers) or step.get("is_final_answer") is True or not calls
    has_answer = is_last and (bool(answers) or output is not None)
    if made or (thought and not has_answer):
        yield Turn(AGENT, "" if made else thought, thought=thought if made else "", calls=made, number=number)
    told = (step.get("observations"), plain_object(step.get("error")).get("message"))
    if seen := "\n".join(as_text(one) for one in told if one):
        # The outputs of all calls of a step are one text, which was seen only after the last of them.
        last = made[-1].id if made else ""
        yield Turn(TOOL, seen, answers=last, number=number) if made else Turn(USER, seen, number=number)
    if has_answer:
        text = as_text(answers[-1].get("answer", output) if answers else output)
        yield Turn(AGENT, text, thought="" if made else thought, number=number)


def _with_code(call: LoggedCall) -> LoggedCall:
    is_code = call.name == _CODE and isinstance(call.arguments, str)
    return replace(call, arguments={"input": call.arguments}) if is_code else call


IMPORTER = Importer(_NAME, "Steps of smolagents", read, _MARKS, answering=frozenset({_DONE}))
