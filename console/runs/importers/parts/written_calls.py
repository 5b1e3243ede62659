"""The calls that agents write in the text of their answers, as models and the frameworks around them ask for.

These are the forms of Hermes, Qwen, Llama, Mistral, DeepSeek and GPT-OSS, and of the prompts of ReAct, LangChain and
AutoGPT.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from typing import Any

import orjson

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, LoggedCall, Turn
from console.runs.importers.parts.intake import Intake, as_text, plain_object, word
from console.trajectory.calls import read_action, read_arguments
from console.trajectory.messages import join_paragraphs, read_call
from console.trajectory.strict_yaml import Pattern, read_data

_FORMS = read_data(files(__package__) / "written_calls.yaml", dict[str, Pattern])
_NAMED, _MARKED, _TAGGED, _REACT = (_FORMS[name] for name in ("named", "marked", "tagged", "react"))
"""Calls in tags or marks of models, also as JSON, and in ReAct prompts."""
COMMANDS = "command in a code block (it stays in the text)"
_FEW_COMMANDS = 2
_CHATS = ("openai-messages", "anthropic-messages", "langchain-messages", "openai-responses", "sharegpt")


def with_written_calls(turns: Iterable[Turn], intake: Intake) -> Iterator[Turn]:
    """Yield the turns with the calls that agents wrote as text; a user's report of a result becomes the call's result.

    Count an unreadable call, and each command of an agent without calls, as left out. Leave their text unchanged.
    """
    waiting = has_calls = False
    commands = 0
    for turn in turns:
        if turn.role == AGENT and not turn.calls:
            if calls := read_written_calls(turn.text):
                turn = replace(turn, text="", calls=calls)
            elif _FORMS["may_hold"].search(turn.text):
                turn = _with_calls_of_text(turn, intake)
            elif intake.format in _CHATS:
                turn = _with_action(turn, intake)
            for name in _FORMS["as_tags"].findall(turn.text):
                intake.leave_out(f"call of {name} written as tags (it stays in the text)")
        if turn.role == USER and waiting and _FORMS["observed"].match(turn.text):
            text = _FORMS["observed"].sub("", turn.text).removesuffix("</tool_response>").rstrip()
            yield replace(turn, role=TOOL, text=text)
            continue
        waiting = turn.role == AGENT and any(not call.id for call in turn.calls)
        has_calls = has_calls or bool(turn.calls)
        commands += turn.role == AGENT and len(_FORMS["command"].findall(turn.text)) == 1
        yield turn
    if commands >= _FEW_COMMANDS and not has_calls:
        intake.leave_out(COMMANDS, commands)


def _with_action(turn: Turn, intake: Intake) -> Turn:
    """Return the turn with the action at the end of its text: a JSON object, or what follows `Action:` in a prompt."""
    if found := _FORMS["json_action"].match(turn.text):
        with suppress(orjson.JSONDecodeError):
            held = orjson.loads(found["json"])
            inner = {"name": held.get("action"), "args": held.get("action_input")} if "action" in held else held
            inner = plain_object(inner.get("command")) or inner
            rest = as_text(held["thoughts"]) if "thoughts" in held else ""
            said = join_paragraphs(turn.thought, _FORMS["thought"].sub("", found["thought"]), rest)
            if word(inner.get("name")) and ("args" in inner if "command" in held else "action_input" in held):
                if inner["name"] == "Final Answer":
                    return replace(turn, text=as_text(inner["args"]), thought=said)
                return replace(turn, text=said, calls=(LoggedCall(inner["name"], inner["args"]),))
    if found := _FORMS["acted"].match(turn.text):
        thought, action = found["thought"], found["action"]
        if (thought or _FORMS["in_brackets"].match(action)) and (calls := read_action(action)):
            said = _FORMS["thought"].sub("", thought or "").strip()
            return replace(turn, text=said, calls=(LoggedCall(calls[0].name, calls[0].arguments, text=action),))
        intake.leave_out("action in a text (it stays in the text)")
    return turn


def read_written_calls(text: str) -> tuple[LoggedCall, ...]:
    """Return the calls of a text that consists only of calls as JSON objects with a type or a function, or ()."""
    if text[:1] not in ("{", "[") or _FORMS["json_call"].search(text) is None:
        return ()
    try:
        held = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ()
    listed = held if isinstance(held, list) else [held]
    calls = [read_call(one) for one in listed if isinstance(one, dict) and _is_written_call(one)]
    if not calls or len(calls) != len(listed) or None in calls:
        return ()
    ids = [next((one[key] for key in ("id", "call_id", "tool_call_id") if word(one.get(key))), "") for one in listed]
    return tuple(LoggedCall(*call, id) for call, id in zip(calls, ids, strict=True) if call is not None)


def _is_written_call(one: Mapping[str, Any]) -> bool:
    if isinstance(one.get("function"), dict):
        return "name" in one["function"] and "arguments" in one["function"]
    return word(one.get("type")) in ("function", "function_call", "tool_call", "tool_use") and "name" in one


def _with_calls_of_text(turn: Turn, intake: Intake) -> Turn:
    calls: list[LoggedCall] = []

    def taken(match: re.Match[str]) -> str:
        if calls and not match[1]:
            return ""
        found = _written_calls(match)
        if not found:
            intake.leave_out("call written in a text that cannot be read")
        calls.extend(found)
        return "" if found else match[0]

    text = turn.text
    for form in (_NAMED, _MARKED, _TAGGED, _REACT):
        text = form.sub(taken, text)
    return replace(turn, text=_FORMS["thought"].sub("", text).strip() if calls else text, calls=tuple(calls))


def _written_calls(match: re.Match[str]) -> list[LoggedCall]:
    if match.re is _NAMED and match[2][:1] != "{":
        return [LoggedCall(match[1], dict(_FORMS["parameter"].findall(match[2])))]
    if match.re is not _TAGGED:
        given = read_arguments(match[2])
        return [LoggedCall(match[1].strip(), {"input": match[2]} if given is None else given)]
    try:
        held = orjson.loads(match[1])
    except orjson.JSONDecodeError:
        return []
    calls = [read_call(plain_object(one)) for one in (held if isinstance(held, list) else [held])]
    return [LoggedCall(*call) for call in calls if call] if all(calls) else []
