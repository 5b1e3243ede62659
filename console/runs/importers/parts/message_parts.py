"""Conversion of messages and their parts, in the dialects of logs, to turns.

OpenAI chat and Responses, Anthropic, Gemini, Bedrock, LangChain, AutoGen, the AI SDK and OpenTelemetry differ in the
names of a few fields. A call in any of these dialects becomes a call. The intake counts unknown parts as left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, LoggedCall, Turn, join_thoughts
from console.runs.importers.parts.intake import (
    Intake,
    as_text,
    holds_prose,
    is_picture,
    picture_data,
    plain_list,
    plain_object,
    read_picture,
    tell_unknown_calls,
    word,
)
from console.runs.importers.parts.part_kinds import (
    CALL_IDS,
    GIVEN,
    HELD,
    Part,
    add_part_type,
    after_results,
    call_id,
    is_call,
    is_result,
    read_id,
)
from console.runs.importers.parts.written_calls import with_written_calls
from console.runs.importers.records import build_decision_extra
from console.trajectory import Picture
from console.trajectory.messages import ARGUMENT_NAMES, list_calls, read_call

_ROLES = dict.fromkeys(("system", "developer", "SystemMessage", "systemmessage"), SYSTEM)
_ROLES |= dict.fromkeys(("user", "human", "HumanMessage", "UserMessage"), USER)
_ROLES |= dict.fromkeys(("assistant", "ai", "model", "AIMessage", "AIMessageChunk", "AssistantMessage"), AGENT)
_ROLES |= dict.fromkeys(("tool", "function", "ipython", "tool_result", "ToolMessage", "FunctionMessage"), TOOL)
_ROLES |= dict.fromkeys(("FunctionExecutionResultMessage", "ToolCallExecutionEvent", "environment"), TOOL)
_ROLES |= {"agent": AGENT, "bot": AGENT}
_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal")
_BESIDE = ("reasoning_content", "reasoning", "thinking", "tool_plan", "thought")
"""Fields of a message with the agent's thought, beside its content."""
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "thought", "reasoningContent")
_RESULTS = ("content", "output", "response", "result", "tools", "outputs", "text", "run", "blocks")
_ABOUT_RESULT = frozenset({*CALL_IDS, "type", "id", "role", "name", "is_error", "isError", "status", "cache_control"})
_ANSWERING = re.compile(r"_call$")
_GIVEN_BACK = ("output", "outputs", "result", "results", "error")
_NOT_ARGUMENTS = frozenset(
    {"type", "id", "call_id", "status", "name", "agent", "server_label", "fingerprint", *_GIVEN_BACK}
)
_REQUEST, _DRAWN = "mcp_approval_request", "image_generation_call"
_BY = "the user of the session"
_PLAIN, _PLAIN_ROLES = frozenset({"role", "content", "tool_call_id"}), ("system", "user", "assistant", "tool")
"""The fields and roles of most messages; they are equal in all dialects, so the code reads them directly."""
_SAYING = frozenset(
    {"content", "parts", "blocks", "items", "refusal", "audio", "toolInvocations"}
    | {"reasoning_content", "reasoning", "thinking"}
)
_NO_NAME = "A call has no name. Add its tool's name, or remove the call."


@dataclass(slots=True)
class _Parts:
    intake: Intake
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[LoggedCall] = field(default_factory=list)
    results: list[Turn] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


def read_turns(messages: Sequence[Any], intake: Intake, first: int = 1) -> list[Turn]:
    """Return the turns of messages or items, numbered from `first`; raise UnreadableFile if a call has no name."""
    turns: list[Turn] = []
    asked = {read_id(one.get("id")) for one in messages if isinstance(one, dict) and one.get("type") == _REQUEST}
    for number, message in enumerate(messages, first):
        if not isinstance(message, dict):
            intake.leave_out("message that is not an object")
        elif message.keys() <= _PLAIN and type(message.get("content")) is str and message.get("role") in _PLAIN_ROLES:
            answers = read_id(message.get("tool_call_id"))
            turns.append(Turn(_ROLES[message["role"]], message["content"], answers=answers, number=number))
        elif message.get("type") == "mcp_call" and message.get("approval_request_id") in asked:
            # The request represents the call; this is its result.
            turns.append(replace(result_turn(message, intake), answers=message["approval_request_id"], number=number))
        else:
            turns += [replace(turn, number=number) for turn in message_turns(message, intake)]
    return list(join_thoughts(with_written_calls(turns, intake)))


def message_turns(message: Part, intake: Intake) -> Iterator[Turn]:
    """Yield the turns of one message: its results, its text and its calls."""
    message = _unwrapped(message)
    if message.get("partial") is True:
        intake.leave_out("partial message, which a later message repeats")
        return
    kind = message.get("type")
    if message.get("object") == "response" and "role" not in message:
        for item in plain_list(message.get("output")):
            yield from message_turns(plain_object(item), intake)
        return
    told = message.get("role", message.get("source") if "source" in message else None)
    named = word(message.get("role"))
    role = _ROLES.get(named) or _ROLES.get(named.lower()) or (_ROLES.get(word(kind)) if "role" not in message else None)
    if role is None and "role" not in message and isinstance(kind, str) and not _is_chat(kind):
        yield from _item(message, intake)
        return
    called = _calls(message, intake)
    if role is None and (called or _holds_calls(message)):
        role = AGENT
    if role is None and isinstance(told, str) and word(kind).endswith(("Message", "Event")):
        role = USER if told == "user" else AGENT
        if kind == "ThoughtEvent":
            message = {"type": kind, "source": told, "thought": message.get("content"), "content": None}
    if role is None:
        named = f" of role {told}" if isinstance(told, str) and told else " without a role"
        intake.leave_out(f"message{named}")
        return
    yield from _said(message, role, called, intake)
    for call, told in zip(called, list_calls(message), strict=True):
        if any(told.get(key) is not None for key in GIVEN):
            yield replace(result_turn(told, intake), answers=call.id)


def call_of(call: Part, intake: Intake) -> LoggedCall:
    """Return the call from an object in any dialect; raise UnreadableFile if the call has no name."""
    read = read_call(call)
    if read is None:
        raise intake.refusal(_NO_NAME)
    if read[1]:
        _tell_unknown_arguments(call, intake)
    return LoggedCall(*read, call_id(call) or read_id(call.get("id")))


def result_turn(holder: Part, intake: Intake, *, own_id: bool = False) -> Turn:
    """Return the turn of a tool's result or error; if `own_id` is true, the field `id` holds the call's id."""
    value = next((holder[key] for key in _RESULTS if holder.get(key) is not None), None)
    text, pictures = result_text(value, intake)
    error = holder.get("error", holder.get("errorText"))
    told = intake.expected(error, "error", "message") if isinstance(error, dict) else error
    if told is None and not any(key in holder for key in (*_RESULTS, *GIVEN)) and holder.keys() - _ABOUT_RESULT:
        intake.leave_out("result without its content")
    if isinstance(told, str) and told.strip() and told not in text:
        text = f"{text}\n{told}" if text else told
    answers = call_id(holder) or (read_id(holder.get("id")) if own_id else "")
    return Turn(TOOL, text, answers=answers, pictures=tuple(pictures))


def result_text(value: object, intake: Intake) -> tuple[str, list[Picture]]:
    """Return (text, pictures) of a result. If the result is not a list of parts, return its JSON as text."""
    if isinstance(value, str):
        return value, []
    texts: list[str] = []
    pictures: list[Picture] = []
    # Data are objects without a type; a list of texts or parts is not.
    is_data = (
        isinstance(value, list)
        and len(value) > 0
        and not any(isinstance(one, str) or (isinstance(one, dict) and "type" in add_part_type(one)) for one in value)
    )
    for part in value if isinstance(value, list) and not is_data else [value]:
        _read_result_part(part, texts, pictures, intake)
    return "\n".join(texts), pictures


def spoken_text(value: object, intake: Intake) -> str:
    """Return the text of a message's content without calls or results."""
    parts = _Parts(intake)
    _read(value, parts)
    return "\n".join(parts.texts)


def _said(message: Part, role: str, called: list[LoggedCall], intake: Intake) -> Iterator[Turn]:
    if role == TOOL:
        yield from _tool_turns(message, intake)
        return
    if not _SAYING & message.keys() and (not called or holds_prose(message)):
        intake.leave_out("message without its content")
    runs = [*after_results(_content(message))]
    if role == AGENT and len(runs) > 1:
        yield from _said({**message, "content": runs[0]}, role, called, intake)
        for run in runs[1:]:
            yield from _said({"role": role, "content": run, "name": message.get("name")}, role, [], intake)
        return
    before = intake.how_much
    parts = _Parts(intake)
    _read(_content(message), parts)
    for invocation in plain_list(message.get("toolInvocations")):
        _read([{"type": "tool-invocation", "toolInvocation": invocation}], parts)
    if role != AGENT:
        yield from parts.results
    known = {call.id or call.action for call in called}
    calls = [*called, *(call for call in parts.calls if (call.id or call.action) not in known)]
    text = "\n".join(parts.texts) or word(message.get("refusal"))
    text = text or word(plain_object(message.get("audio")).get("transcript"))
    if role == AGENT and not calls:
        tell_unknown_calls(message, intake)
    if role == USER and calls:
        # A call by the user is not an action of the agent, but something that the agent sees.
        text = "\n".join([*parts.texts, *(f"user calls {call.action}" for call in calls)])
        calls = []
    thought = _thought(message, parts)
    if text or calls or thought or parts.pictures or not (parts.results or intake.how_much > before):
        speaker, pictures = _speaker(message, role), tuple(parts.pictures)
        yield Turn(role, text, thought=thought, calls=tuple(calls), speaker=speaker, pictures=pictures)
    if role == AGENT:
        yield from parts.results


def _content(message: Part) -> object:
    return next((message[key] for key in ("content", "parts", "blocks", "items") if key in message), None)


def _tell_unknown_arguments(call: Part, intake: Intake) -> None:
    """Count a call with unknown argument fields as left out."""
    held = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    if not any(held.get(name) is not None for name in ARGUMENT_NAMES):
        intake.leave_out("call without a known field for arguments (its other fields were taken)")


def _tool_turns(message: Part, intake: Intake) -> Iterator[Turn]:
    lists = (message.get(key) for key in ("tool_messages", "parts", "content", "items"))
    held: list[Any] = next((one for one in lists if isinstance(one, list)), [])
    typed = (one if "role" in one else add_part_type(one) for one in held if isinstance(one, dict))
    results = [one for one in typed if "role" in one or is_result(one)]
    for result in results or [message]:
        turn = result_turn(result, intake, own_id=True)
        by_user = (result.get("requestor") or message.get("requestor")) == "user"
        yield Turn(USER, turn.text, pictures=turn.pictures) if by_user else turn


def _thought(message: Part, parts: _Parts) -> str:
    told = next((message[key] for key in _BESIDE if message.get(key)), None)
    if told is not None and not parts.thoughts:
        _read_thought({"thinking": told}, parts)
    return "\n\n".join(text.strip() for text in parts.thoughts if text.strip())


def _speaker(message: Part, role: str) -> str:
    source = message.get("source") if word(message.get("type")).endswith(("Message", "Event")) else None
    told = next((one for one in (message.get("name"), message.get("agent"), source) if isinstance(one, str)), "")
    return "" if role == SYSTEM or told == role else told


def _calls(message: Part, intake: Intake) -> list[LoggedCall]:
    calls = message.get("tool_calls")
    if calls and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        raise intake.refusal(
            '"tool_calls" is not a list of calls. Write each call as an object with a name and arguments.'
        )
    for broken in plain_list(message.get("invalid_tool_calls")):
        intake.leave_out(f"call of {plain_object(broken).get('name') or 'no tool'} that the model wrote incorrectly")
    return [call_of(call, intake) for call in list_calls(message)]


def _holds_calls(message: Part) -> bool:
    content = _content(message)
    return isinstance(content, list) and any(is_call(add_part_type(part)) for part in content if isinstance(part, dict))


def _item(item: Part, intake: Intake) -> Iterator[Turn]:
    kind = word(item.get("type"))
    if kind in _THOUGHTS:
        parts = _Parts(intake)
        _read_thought(item, parts)
        if parts.thoughts:
            yield Turn(AGENT, thought="\n\n".join(parts.thoughts))
    elif is_result(item):
        yield result_turn(item, intake)
    elif kind == _REQUEST:
        yield Turn(AGENT, calls=(replace(call_of(item, intake), id=read_id(item.get("id"))),))
    elif kind == "mcp_approval_response":
        extra = build_decision_extra("approve" if item.get("approve") else "reject", _BY, word(item.get("reason")))
        yield Turn(TOOL, answers=read_id(item.get("approval_request_id")), step_extra=extra)
    elif is_call(item):
        yield Turn(AGENT, calls=(_item_call(item, kind, intake),), speaker=word(item.get("agent")))
        if _ANSWERING.search(kind) and any(item.get(key) is not None for key in GIVEN):
            shown = {**item, "result": [{"type": "image", "data": item["result"]}]} if kind == _DRAWN else item
            yield replace(result_turn(shown, intake), answers=call_id(item) or read_id(item.get("id")))
    else:
        intake.leave_out(f"item of type {kind or 'none'}")


def _item_call(item: Part, kind: str, intake: Intake) -> LoggedCall:
    if kind in ("function_call", "custom_tool_call", "tool_call", "mcp_call", "tool_use", "toolCall"):
        call = call_of(item, intake)
        custom = kind == "custom_tool_call" and isinstance(call.arguments, str)
        return replace(call, arguments={"input": call.arguments}) if custom else call
    rest = {key: value for key, value in item.items() if key not in _NOT_ARGUMENTS and value is not None}
    arguments = rest["action"] if rest.keys() == {"action"} else rest.get("arguments", rest)
    return LoggedCall(_ANSWERING.sub("", kind), arguments, call_id(item) or read_id(item.get("id")))


def _read(content: object, into: _Parts) -> None:
    if content is None:
        return
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict):
            _read_part(add_part_type(part), into)
        else:
            into.texts.append(as_text(part))


def _read_part(part: Part, into: _Parts) -> None:
    kind = word(part.get("type"))
    if kind in _TEXTS:
        if not {"text", "content", "refusal"} & part.keys():
            into.intake.leave_out(f"part of type {kind} without its text")
        into.texts.append(_first_text(part, "text", "content", "refusal"))
    elif kind in _THOUGHTS:
        _read_thought(part, into)
    elif is_result(part):
        into.results.append(result_turn(part, into.intake, own_id=True))
    elif is_call(part):
        into.calls.append(call_of(part, into.intake))
        if any(part.get(key) is not None for key in GIVEN):
            into.results.append(result_turn(part, into.intake, own_id=True))
    elif is_picture(part):
        read_picture(part, into.texts, into.pictures, into.intake)
    else:
        into.intake.leave_out(f"part of type {kind}" if kind else "part without a type")


def _read_thought(part: Part, into: _Parts) -> None:
    summary = part.get("summary")
    told = (part.get(name) for name in ("thinking", "reasoning", "reasoningText", "reasoning_text", "text", "content"))
    for held in (*told, summary):
        held = held.get("text") if isinstance(held, dict) else held
        if isinstance(held, str) and held:
            into.thoughts.append(held)
            return
        if isinstance(held, list) and held:
            inner = _Parts(into.intake)
            _read(held, inner)
            into.thoughts += [text for text in (*inner.thoughts, *inner.texts) if text]
            return


def _read_result_part(part: object, texts: list[str], pictures: list[Picture], intake: Intake) -> None:
    typed = add_part_type(part) if isinstance(part, dict) else {}
    if typed.get("type") in _TEXTS and isinstance(typed.get("text", typed.get("content")), str):
        texts.append(_first_text(typed, "text", "content"))
    elif is_picture(typed) and picture_data(typed) is not None:
        read_picture(typed, texts, pictures, intake)
    elif part is not None:
        if typed.get("type") in (*_TEXTS, *HELD):
            intake.leave_out(f"part of type {typed['type']} without its text (shown as JSON)")
        texts.append(as_text(part))


def _is_chat(kind: str) -> bool:
    return kind == "message" or kind in _ROLES or kind.endswith(("Message", "Event"))


def _unwrapped(message: Part) -> Part:
    if isinstance(message.get("message"), dict) and "message_id" in message:
        return plain_object(message.get("redact_message")) or plain_object(message["message"])
    if "_role" in message:
        # Older versions of Haystack.
        return {name.removeprefix("_"): value for name, value in message.items()}
    if message.get("type") == "constructor" and isinstance(message.get("kwargs"), dict):
        path = message.get("id")
        name = path[-1] if isinstance(path, list) and path else ""
        return {"type": name, **{key: value for key, value in message["kwargs"].items() if key != "type"}}
    if isinstance(message.get("data"), dict) and "role" not in message and "content" not in message:
        return {**message["data"], "type": message.get("type")}
    if isinstance(message.get("content"), dict) and "parts" in message["content"] and "role" not in message:
        return {**message["content"], "name": message.get("author")}
    return message


def _first_text(part: Part, *names: str) -> str:
    return as_text(next((part[name] for name in names if part.get(name) is not None), ""))
