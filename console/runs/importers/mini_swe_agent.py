"""mini-swe-agent's runs: messages whose one fenced block is the command that runs, or calls of its `bash` tool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, LoggedCall, Turn, entry_of
from console.runs.importers.parts.intake import Intake, plain_object
from console.runs.importers.parts.json_records import json_records
from console.runs.importers.parts.message_parts import read_turns
from console.runs.importers.records import Entry, Importer, Progress
from console.runs.importers.swe_agent import run_of

_NAME = "mini-swe-agent"
_MARKS = ((".messages[].role",), ("[].role",))
_OWN = re.compile(rb"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT|mswea_bash_command|\"mini-swe-agent")
_BLOCK = re.compile(r"```(?:bash|sh|mswea_bash_command)?[ \t]*\r?\n(.*?)\r?\n```", re.DOTALL)


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The run of each record; its label comes from a report beside the file."""
    for record in json_records(path, progress, *_MARKS):
        intake = Intake(path, record.line)
        fields = plain_object(record.value)
        messages = fields.get("messages") if fields else record.value
        if not isinstance(messages, list):
            raise intake.refusal('"messages" is missing or is not a list')
        plain = [{**one, "role": USER} if plain_object(one).get("role") == "exit" else one for one in messages]
        trajectory = run_of(record, path, fields, _NAME, "")
        yield entry_of(intake, list(_commands(read_turns(plain, intake))), trajectory)


def _commands(turns: list[Turn]) -> Iterator[Turn]:
    """The turns, each text with exactly one fenced block made a call, and what came back its result."""
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


IMPORTER = Importer(_NAME, "mini-swe-agent runs (.traj.json)", read, _MARKS, words=_OWN)
