"""Logs of agent teams: Magentic-One and AutoGen chats, and Who&When, which labels the agent that failed.

In Magentic-One, the Orchestrator's order to an agent is the call, and the agent's message is the result. In an AutoGen
chat, a terminal runs the code blocks of the messages before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, LoggedCall, Turn, entry_of
from console.runs.importers.parts.intake import Intake, as_text, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import json_records
from console.runs.importers.parts.message_parts import spoken_text
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Label, Outcome

_TEAM, _LABELLED = "magentic-one", "who-and-when"
_TEAM_MARKS = (("[].role", "[].content"), (".messages[].role", ".messages[].content"))
_LABELLED_MARKS = ((".history[].role", ".mistake_agent"), (".history[].role", ".mistake_step"))
_ORDER = re.compile(r"(.+?)\s*\(->\s*(.+?)\)\Z")
_ASIDE = re.compile(r"(.+?)\s*\((?!->)([^()]+)\)\Z")
_ORCHESTRATED = re.compile(rb'"(?:role|source)"\s*:\s*"[^"]{0,80}?\s*\((?:-&gt;|->|\\u003e|thought)')
_PEOPLE = ("human", "user")
_FENCE = re.compile(r"```[ \t]*([\w+-]*)[^\n]*\n(.*?)\n?```", re.DOTALL)
_TERMINAL = re.compile(r"terminal|executor|interpreter", re.IGNORECASE)
_RAN = re.compile(r"\s*exitcode: \d+")
_IDLE = re.compile(r"\s*There[ ]is[ ]no code\b")
_CODE = {"py": "python", "python3": "python", "shell": "sh", "bash": "bash", "": "python"}
_FAILURE = ("mistake_agent", "mistake_step", "mistake_reason", "ground_truth", "is_correct", "is_corrected")
_FACTS = ("level", "question_ID", "system_prompt", "groundtruth", "model_prediction", "answer")


def read_team(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield one trajectory per chat; raise UnreadableFile if a file has no messages."""
    told, line = list[Any](), 1
    for record in json_records(path, progress):
        value = plain_object(record.value)
        if "role" in value or "source" in value:
            line, told = (line, [*told, value]) if told else (record.line, [value])
            continue
        messages = plain_list(record.value) or plain_list(value.get("messages") or value.get("history"))
        yield _entry(Intake(path, record.line, _TEAM), messages, value)
    if told:
        yield _entry(Intake(path, line, _TEAM), told, {})


def read_labelled(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the chats of Who&When with their labels: the failing agent, the number of its message, and the reason."""
    for record in json_records(path, progress, *_LABELLED_MARKS):
        value = plain_object(record.value)
        messages = plain_list(value.get("history"))
        yield _entry(Intake(path, record.line, _LABELLED), messages, value)


def _entry(intake: Intake, messages: Sequence[Any], record: Mapping[str, Any]) -> Entry:
    if not messages or not all(isinstance(one, dict) for one in messages):
        raise intake.refusal("This record has no list of messages. Fix the record or remove it, then import again.")
    is_team = any(_ORDER.match(_role(one)) or _ASIDE.match(_role(one)) for one in messages)
    make = _team_turns if is_team else _chat_turns
    turns = [turn for number, one in enumerate(messages, 1) for turn in make(one, number, intake, messages)]
    asked = word(record.get("question")) or next((turn.text for turn in turns if turn.role == USER), "")
    named = next((record[name] for name in ("question_ID", "id", "task_id") if record.get(name)), intake.path.stem)
    extra = collect_fields(record, *_FACTS)
    return entry_of(intake, turns, as_text(named), _result(record), instruction=asked.strip(), extra=extra)


def _result(record: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) from the run's verdict, if any; gold also holds the record's fields about a mistake."""
    gold = {name: record[name] for name in _FAILURE if name in record}
    verdict = next(
        (record[name] for name in ("is_correct", "is_corrected") if isinstance(record.get(name), bool)), None
    )
    if verdict is None:
        return Outcome.FINISHED, gold
    label = Label.ALIGNED if verdict else Label.MISALIGNED
    return (Outcome.SUCCEEDED if verdict else Outcome.FAILED), {"label": str(label), **gold}


def _role(message: Mapping[str, Any]) -> str:
    return word(message.get("role") or message.get("source"))


def _team_turns(
    message: Mapping[str, Any], number: int, intake: Intake, messages: Sequence[Mapping[str, Any]]
) -> Iterator[Turn]:
    role, text = _role(message), spoken_text(intake.expected(message, "message", "content"), intake)
    if role in _PEOPLE or role == "system":
        yield Turn(SYSTEM if role == "system" else USER, text, number=number)
    elif order := _ORDER.match(role):
        call = LoggedCall(order[2], {"instruction": text}, f"order {number}")
        yield Turn(AGENT, calls=(call,), speaker=order[1], number=number)
    elif aside := _ASIDE.match(role):
        yield Turn(AGENT, thought=text, speaker=aside[1], number=number, step_extra={"kind": aside[2]})
    elif role:
        orders = ((place, _ORDER.match(_role(messages[place - 1]))) for place in range(number - 1, 0, -1))
        place = next((place for place, order in orders if order and order[2] == role), 0)
        answering = Turn(TOOL, text, answers=f"order {place}", number=number)
        yield answering if place else Turn(AGENT, text, speaker=role, number=number)
    else:
        intake.leave_out("message without a role")


def _chat_turns(
    message: Mapping[str, Any], number: int, intake: Intake, messages: Sequence[Mapping[str, Any]]
) -> Iterator[Turn]:
    """Yield the turns of a message in an AutoGen chat; `role` holds the sender's side and `name` the sender."""
    text, name = spoken_text(intake.expected(message, "message", "content"), intake), word(message.get("name"))
    if not name and any(word(one.get("name")) for one in messages):
        intake.leave_out("message without the name of its speaker")
    if not name and _role(message) in (*_PEOPLE, "system"):
        yield Turn(SYSTEM if _role(message) == "system" else USER, text, number=number)
    elif _is_terminal(message, text):
        has_run = number > 1 and bool(_blocks_run(messages[number - 2], message, intake))
        # A terminal that found no code to run says so to the agents.
        yield Turn(TOOL if has_run else USER, text, number=number)
    else:
        after = messages[number] if number < len(messages) else {}
        blocks = _blocks_run(message, after, intake) if after else []
        calls = tuple(
            LoggedCall(_CODE.get(kind.lower(), kind.lower()), {"code": code}, f"code {number} {place}")
            for place, (kind, code) in enumerate(blocks)
        )
        yield Turn(AGENT, text, calls=calls, speaker=name or _role(message), number=number)


def _blocks_run(message: Mapping[str, Any], after: Mapping[str, Any], intake: Intake) -> list[tuple[str, str]]:
    """Return (language, code) of the message's code blocks that the terminal ran before the next message."""
    answer = spoken_text(after.get("content"), intake)
    if not _is_terminal(after, answer) or _IDLE.match(answer):
        return []
    return _FENCE.findall(spoken_text(message.get("content"), intake))


def _is_terminal(message: Mapping[str, Any], text: str) -> bool:
    return bool(_TERMINAL.search(word(message.get("name"))) or _RAN.match(text))


TEAM = Importer(_TEAM, "Magentic-One and AutoGen chats", read_team, _TEAM_MARKS, words=_ORCHESTRATED)
WHO_AND_WHEN = Importer(_LABELLED, "Who&When: chats of agents with failure labels", read_labelled, _LABELLED_MARKS)
