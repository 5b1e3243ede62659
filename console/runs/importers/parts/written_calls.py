"""Calls that a model wrote into its text, as Hermes, Qwen, Llama and ReAct prompts request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import orjson

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, LoggedCall, Turn
from console.runs.importers.parts.intake import Intake, plain_object
from console.trajectory.calls import read_arguments, read_object

_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_NAMED = re.compile(r"<function=([\w.-]+)>\s*(\{.*?\})\s*</function>", re.DOTALL)
_REACT = re.compile(
    r"^Action:[ \t]*([\w.\- :/]{1,80}?)[ \t]*\n+Action Input:[ \t]*(.*?)[ \t]*(?=\n(?:Observation|Thought|Action):|\Z)",
    re.DOTALL | re.MULTILINE,
)
_MAY_HOLD = re.compile(r"<tool_call>|<function=|^Action Input:", re.MULTILINE)
_THOUGHT = re.compile(r"\A\s*Thought:\s*")
_OBSERVED = re.compile(r"\A\s*(?:Observation:|<tool_response>)\s*")
_BROKEN = "call written in a text that cannot be read"


def written_calls(text: str, intake: Intake) -> tuple[str, list[LoggedCall]]:
    """Return (remaining text, calls); count an unreadable call as left out and keep it in the text."""
    calls: list[LoggedCall] = []

    def taken(match: re.Match[str]) -> str:
        call = _call(match)
        if call is None:
            intake.leave_out(_BROKEN)
            return match[0]
        calls.append(call)
        return ""

    for form in (_TAGGED, _NAMED, _REACT):
        text = form.sub(taken, text)
    return (_THOUGHT.sub("", text).strip() if calls else text), calls


def with_written_calls(turns: Iterable[Turn], intake: Intake) -> Iterator[Turn]:
    """Yield the turns with the calls that agents wrote as text; a user's turn that reports a result becomes the result
    of the call.
    """
    waiting = False
    for turn in turns:
        if turn.role == AGENT and not turn.calls and _MAY_HOLD.search(turn.text):
            text, calls = written_calls(turn.text, intake)
            turn = replace(turn, text=text, calls=tuple(calls))
        if turn.role == USER and waiting and _OBSERVED.match(turn.text):
            text = _OBSERVED.sub("", turn.text).removesuffix("</tool_response>").rstrip()
            yield replace(turn, role=TOOL, text=text)
            continue
        waiting = turn.role == AGENT and any(not call.id for call in turn.calls)
        yield turn


def _call(match: re.Match[str]) -> LoggedCall | None:
    if match.re is not _TAGGED:
        given = read_arguments(match[2])
        return LoggedCall(match[1].strip(), {"input": match[2]} if given is None else given)
    try:
        held = plain_object(orjson.loads(match[1]))
    except orjson.JSONDecodeError:
        return None
    call = read_object({"arguments": None} | (plain_object(held.get("function")) or held))
    return LoggedCall(call.name, call.arguments) if call else None
