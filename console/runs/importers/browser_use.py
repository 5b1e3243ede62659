"""Histories of browser-use (`AgentHistoryList`): the model's outputs with their actions, results and pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, LoggedCall, Turn, entry_of, join_thoughts
from console.runs.importers.parts.intake import Intake, as_text, plain_list, plain_object, word
from console.runs.importers.parts.json_records import objects, read_required_list
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Outcome

_NAME = "browser-use"
_MARKS = ((".history[].model_output", ".history[].result", ".history[].state"),)
_THOUGHTS = ("thinking", "evaluation_previous_goal", "memory", "next_goal")
_ABOUT = "interacted_element"
_DONE = "done"
_TASK = re.compile(r"<user_request>\s*(.*?)\s*</user_request>", re.DOTALL)
_PAGE = re.compile(r"<browser_state>\s*(.*?)\s*</browser_state>", re.DOTALL)
"""The task and the page in the prompt of a step, which newer versions store."""
_RESULTS = ("extracted_content", "error")


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield one run per record; the log has no task."""
    for number, record in enumerate(objects(path, progress, *_MARKS)):
        intake = Intake(path, record.line, _NAME)
        steps = [plain_object(one) for one in read_required_list(record, path, "history")]
        turns = [turn for place, one in enumerate(steps, 1) for turn in _turns(one, place, intake)]
        told = [plain_object(one) for step in steps for one in plain_list(step.get("result"))]
        gold = {name: told[-1][name] for name in ("success", "judgement") if told and told[-1].get(name) is not None}
        prompts = (_TASK.search(word(step.get("state_message"))) for step in steps)
        task = word(record.value.get("task")) or next((found[1] for found in prompts if found), "")
        if not task:
            intake.leave_out("task (a history of browser-use does not contain it)")
        ended = bool(told) and told[-1].get("is_done") is True
        yield entry_of(
            intake,
            list(join_thoughts(turns)),
            f"{path.stem}-{number}" if number else path.stem,
            # The model itself gave these marks, so they do not label the run.
            (Outcome.FINISHED if ended else Outcome.HALTED, gold),
            instruction=task or f"The task of {path.stem}, which its log does not contain",
            extra=record.notes,
        )


def _turns(step: Mapping[str, Any], number: int, intake: Intake) -> Iterator[Turn]:
    state = plain_object(step.get("state"))
    shown = " ".join(filter(None, (word(state.get("title")), word(state.get("url")))))
    picture = intake.picture(state["screenshot"]) if state.get("screenshot") else None
    if shown or picture:
        page = _PAGE.search(word(step.get("state_message")))
        told = [f"Page: {shown}" if shown else "", page[1] if page else "", picture.text if picture else ""]
        text = "\n".join(filter(None, told))
        yield Turn(USER, text, pictures=(picture,) if picture else (), number=number)
    output = plain_object(step.get("model_output"))
    brain = {**plain_object(output.get("current_state")), **output}
    thought = "\n".join(filter(None, (word(brain.get(name)) for name in _THOUGHTS)))
    actions = [plain_object(one) for one in plain_list(output.get("action"))]
    results = [plain_object(one) for one in plain_list(step.get("result"))]
    for place, action in enumerate(actions):
        yield from _acted(action, thought if not place else "", f"{number} {place}", number, intake)
    if thought and not actions:
        yield Turn(AGENT, thought=thought, number=number)
    for place, result in enumerate(results):
        told = [as_text(result[name]) for name in _RESULTS if result.get(name)]
        if result.get("is_done") is not True or result.get("error"):
            yield Turn(TOOL, "\n".join(told), answers=f"{number} {place}" if actions else "", number=number)


def _acted(action: Mapping[str, Any], thought: str, call_id: str, number: int, intake: Intake) -> Iterator[Turn]:
    named = {name: given for name, given in action.items() if name != _ABOUT and given is not None}
    if len(named) != 1:
        intake.leave_out("action without one name")
    for name, given in named.items():
        if name == _DONE:
            yield Turn(AGENT, as_text(plain_object(given).get("text", given)), thought=thought, number=number)
        else:
            yield Turn(AGENT, thought=thought, calls=(LoggedCall(name, given, call_id),), number=number)


IMPORTER = Importer(_NAME, "Histories of browser-use", read, _MARKS, answering=frozenset({_DONE}))
