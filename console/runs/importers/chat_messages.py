"""Plain conversations, one per record: messages of OpenAI, its Responses API, Anthropic, LangChain and ShareGPT."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from console.environments import ENVIRONMENTS
from console.runs.importers.parts.conversation import (
    AGENT,
    SYSTEM,
    TOOL,
    USER,
    LoggedCall,
    Turn,
    entry_of,
    restore_export,
)
from console.runs.importers.parts.intake import Intake, as_text, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import (
    BASES,
    Record,
    group_records,
    json_records,
    objects,
    outlines,
    read_required_list,
)
from console.runs.importers.parts.message_parts import read_turns
from console.runs.importers.parts.rewards import RESULT_FIELDS, SCALED, list_doubts, number_of, read_result, trial_of
from console.runs.importers.parts.written_calls import with_written_calls
from console.runs.importers.records import Entry, Importer, Progress, Skipped, WrittenCalls

_IDS = ("id", "task_id", "instance_id", "custom_id", "conversation_id", "thread_id", "session_id")
_SESSION_IDS = ("session_id", "sessionId", "conversation_id", "thread_id")
_SAID = frozenset({"content", "data", "parts", "blocks", "items", "_content"})
_BEGINNING = ("system", "developer", "user", "human", "model")
_LISTS = ("messages", "items", "history", "conversation", "contents", "events")
_TOOLS = ("tools", "functions")
_EXPORTED = ("opening", "outcome")
"""Further record fields in the console's own exports."""
_OWN = frozenset({"trial", "environment", "instruction", *_TOOLS, *_LISTS, *_IDS, *RESULT_FIELDS})
_INNER = ("request", "values", "body", "result", "message", "llm_context", "run_data")
"""Names of fields with inner fields that count as the record's fields, unless the record has the same field."""
_EXCHANGE = frozenset({"system", "instructions", "input", "output", "request", "response", "choices"})
_ANSWER = frozenset({"type", "role", "content"})
"""The fields of a record that is itself the agent's message."""

_AS_TEXT = "tool-call"
"""The role of a message whose calls are Python literals, in the prompts of smolagents."""
_ITEM = re.compile(r"^(?:message|reasoning)$|_call$|_call_output$|^tool_(?:use|result)$")


def conversations(
    name: str, marks: tuple[tuple[str, ...], ...], path: Path, progress: Progress | None = None
) -> Iterator[Entry]:
    """Yield the conversations of a file, one per record; raise UnreadableFile if a record has no messages."""
    scaled = _scaled(path, marks)
    for record in _conversations(json_records(path, progress, *marks), path):
        intake = Intake(path, record.line, name)
        fields = _without_state(plain_object(record.value))
        result = read_result(fields, scaled)
        for doubt in list_doubts(fields, scaled):
            intake.leave_out(doubt)
        messages = record.value if isinstance(record.value, list) else _messages(fields, intake)
        answered = plain_object(fields.get("response"))
        if not messages and any(one.get("error") for one in (fields, answered, plain_object(answered.get("body")))):
            yield Skipped(record.line, "The request failed, so there is nothing to review")
            continue
        if not messages or not all(isinstance(message, dict) for message in messages):
            raise intake.refusal(
                "This record has no list of messages with roles. Fix the record or remove it, then import again."
            )
        if first := messages[0].get("message_id"):
            intake.leave_out(f"beginning of the session (its first message has number {first})")
        if any(message.get("role") == _AS_TEXT for message in messages):
            raise intake.refusal(
                "These are prompts of smolagents, with calls as text. Write the steps of agent.memory.get_full_steps() "
                "as JSON, then import that file."
            )
        named, own = fields.get("environment"), _OWN if any(fields.get(key) for key in _LISTS) else _OWN | _EXCHANGE
        own |= _ANSWER if fields.get("role") == AGENT else frozenset()
        told = {name: fields.get(name) for name in _EXPORTED if "instruction" in fields and "trial" in fields}
        extra = {key: value for key, value in fields.items() if key not in own and key not in told}
        for key in filter(lambda key: _holds_items(extra[key]), extra):
            intake.leave_out(f"list {key} of messages or items")
        entry = entry_of(
            intake,
            read_turns(messages, intake),
            next((as_text(fields[key]) for key in _IDS if fields.get(key) is not None), _id_of(messages)),
            result,
            instruction=fields.get("instruction"),
            environment=named if isinstance(named, str) and named in ENVIRONMENTS else "generic",
            trial=trial_of(fields.get("trial")),
            extra=extra | record.notes,
            tools=_offered(fields),
        )
        yield restore_export(entry, told)


def _conversations(records: Iterator[Record], path: Path) -> Iterator[Record]:
    """Yield the records; join the messages of a file with one message per line, and split stores of conversations."""
    first = next(records, None)
    if first is None:
        return
    records = chain([first], records)
    if _speaker_of(first.value) in _BEGINNING:
        for _, said in group_records(_by_session(records, first.value), path):
            yield Record(said[0].line, [one.value for one in said])
        return
    for record in records:
        sessions = [plain_object(one).get("runs") for one in plain_list(record.value)]
        fields = plain_object(record.value)
        stored = plain_object(plain_object(fields.get("chat_store", fields)).get("store"))
        sessions.append(fields.get("tasks_output"))
        runs = [run for one in sessions for run in plain_list(one)] or [one for one in stored.values() if one]
        yield from (Record(record.line, run) for run in runs) if runs else [record]


def _speaker_of(value: object) -> str:
    """Return the role of a record that is itself a message, else ""."""
    held = plain_object(value)
    if "message_id" in held:
        held = plain_object(held.get("message"))
    told = next((held[name] for name in ("role", "_role") if name in held), None)
    if told is None and any(held.get(name) for name in _LISTS):
        return ""
    further = (plain_object(held.get("content")).get("role"), held.get("type"))
    return next(filter(None, map(word, (told, *further))), "").lower() if _SAID & held.keys() else ""


def _by_session(records: Iterator[Record], first: object) -> Iterator[tuple[str, int, Any]]:
    """Yield (session, line, message); a repeated policy, or the number 0 of Strands, begins a further session."""
    place = 0
    for record in records:
        fields = plain_object(record.value)
        place += fields.get("message_id") == 0 or (fields.get("role") == SYSTEM and record.value == first)
        named = next((fields[name] for name in _SESSION_IDS if isinstance(fields.get(name), str)), "")
        yield f"{named}/{place}", record.line, record.value


def _without_state(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the messages of a stored team of AutoGen or `RunState` of the Agents SDK; keep other records."""
    if isinstance(team := fields.get("agent_states"), dict):
        return {"messages": [*_team_messages(team)]}
    if not {"original_input", "generated_items"} <= fields.keys():
        return fields
    items = [plain_object(one).get("raw_item", one) for one in plain_list(fields["generated_items"])]
    return {"input": fields["original_input"], "output": items} | collect_fields(fields, "conversation_id", "max_turns")


def _team_messages(team: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the thread of a team, and the messages of its agents with a call that the thread does not have yet."""
    states = [plain_object(one) for one in team.values()]
    threads = (plain_list(one.get("message_thread")) for one in states)
    thread = next(filter(None, threads), list[Any]())
    yield from thread
    parts = (part for one in thread for part in plain_list(plain_object(one).get("content")))
    known = {plain_object(part).get("id") for part in parts}
    for state in states:
        context = plain_object(plain_object(state.get("agent_state")).get("llm_context"))
        for message in map(plain_object, plain_list(context.get("messages"))):
            calls = [one for one in map(plain_object, plain_list(message.get("content"))) if "arguments" in one]
            if any(one.get("id") not in known for one in calls):
                yield message


def _scaled(path: Path, marks: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    """Return the fields of results with a value below 0 or above 1 in this file, for which 1 may not mean success."""
    names = [name for name in SCALED if any(f"{base}.{name}" in paths for paths in outlines(path) for base in BASES)]
    told = (plain_object(record.value) for record in json_records(path, None, *marks)) if names else ()
    return frozenset(name for one in told for name in names if not 0 <= (number_of(one.get(name)) or 0) <= 1)


def _holds_items(value: object) -> bool:
    first = plain_object(next(iter(plain_list(value)), None))
    return "role" in first or (_ITEM.search(word(first.get("type"))) is not None)


def _offered(fields: Mapping[str, Any]) -> object:
    """Return the tools listed by the record or its request."""
    holders = (fields, *(plain_object(fields.get(name)) for name in _INNER))
    return next((holder[name] for holder in holders for name in _TOOLS if holder.get(name)), ())


def _messages(fields: Mapping[str, Any], intake: Intake) -> list[Any]:
    """Return the messages of a record, or of its request and response, after a separate system prompt."""
    exchange = dict(fields)
    for name in _INNER:
        exchange = {**plain_object(exchange.get(name)), **exchange}
    found: list[Any] = []
    policy = exchange.get("system") or exchange.get("instructions")
    if isinstance(policy, (str, list)) and policy:
        found.append({"role": SYSTEM, "content": policy})
    given = next((exchange[name] for name in (*_LISTS, "input") if isinstance(exchange.get(name), list)), None)
    if given is None and isinstance(exchange.get("input"), str):
        given = [{"role": "user", "content": exchange["input"]}]
    return [*found, *(given or ()), *_answered(exchange, intake)]


def _answered(exchange: Mapping[str, Any], intake: Intake) -> list[Any]:
    response = plain_object(exchange.get("response"))
    for holder in (response, plain_object(response.get("body")), exchange):
        output, choices = holder.get("output"), holder.get("choices")
        if isinstance(output, list) and all({"type", "role"} & plain_object(one).keys() for one in output):
            return output
        if isinstance(choices, list) and choices and "message" in plain_object(choices[0]):
            if len(choices) > 1:
                intake.leave_out("choice beside the first", len(choices) - 1)
            return [choices[0]["message"]]
        if holder.get("role") == "assistant":
            return [holder]
    return []


def _id_of(messages: object) -> str:
    return "c-" + hashlib.sha1(orjson.dumps(messages), usedforsecurity=False).hexdigest()[:12]


_SHARE_GPT = "sharegpt"
_SHARE_GPT_MARKS = ((".conversations[].from", ".conversations[].value"),)
_ROLES = {"system": SYSTEM, "human": USER, "user": USER, "gpt": AGENT, "assistant": AGENT, "chatgpt": AGENT}
_ROLES |= dict.fromkeys(("observation", "tool", "function", "function_response", "tool_response"), TOOL)
_CALLS = ("function_call", "tool_call", "function-call")


def read_share_gpt(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield ShareGPT conversations; their calls are separate turns or parts of a text."""
    for record in objects(path, progress, *_SHARE_GPT_MARKS):
        intake = Intake(path, record.line, _SHARE_GPT)
        said = read_required_list(record, path, "conversations")
        policy = word(record.value.get("system"))
        turns = [Turn(SYSTEM, policy)] if policy else []
        turns += [turn for number, one in enumerate(said, 1) if (turn := _turn(plain_object(one), number, intake))]
        task_id, tools = str(record.value.get("id") or _id_of(said)), record.value.get("tools")
        turns = list(with_written_calls(turns, intake))
        for doubt in list_doubts(record.value):
            intake.leave_out(doubt)
        yield entry_of(intake, turns, task_id, read_result(record.value), extra=record.notes, tools=tools)


def _turn(said: Mapping[str, Any], number: int, intake: Intake) -> Turn | None:
    who, text = word(said.get("from")), as_text(said.get("value"))
    if who in _CALLS:
        return Turn(AGENT, calls=tuple(_calls(text, intake)), number=number)
    if who not in _ROLES:
        intake.leave_out(f"turn from {who or 'an unnamed speaker'}")
        return None
    return Turn(_ROLES[who], text, number=number)


def _calls(text: str, intake: Intake) -> Iterator[LoggedCall]:
    """Yield the calls of a turn whose text is JSON: one call or a list of calls."""
    try:
        told = orjson.loads(text)
    except orjson.JSONDecodeError as broken:
        reason = "A turn that is a call is not JSON. Fix the turn or remove it, then import again."
        raise intake.refusal(reason) from broken
    for one in map(plain_object, plain_list(told) or [told]):
        name = one.get("name")
        if not isinstance(name, str) or not name.strip():
            raise intake.refusal("A call has no name. Add its tool's name, or remove the turn.")
        yield LoggedCall(name, one.get("arguments", one.get("parameters")))


def _importer(
    name: str,
    title: str,
    marks: tuple[tuple[str, ...], ...],
    also: tuple[tuple[str, ...], ...] = (),
    words: re.Pattern[bytes] | None = None,
    written: WrittenCalls | None = None,
) -> Importer:
    read = partial(conversations, name, (*marks, *also))
    return Importer(name, title, read, marks, also=also, words=words, written=written)


SHARE_GPT = Importer(_SHARE_GPT, "ShareGPT conversations", read_share_gpt, _SHARE_GPT_MARKS)

_ANTHROPIC_PARTS = re.compile(rb'"type"\s*:\s*"(?:(?:\w+_)?tool_(?:use|result)|thinking|redacted_thinking)"')
_LANGCHAIN_TYPES = re.compile(
    rb'"type"\s*:\s*"(?:human|ai|AIMessageChunk)"|"(?:AIMessage|AIMessageChunk|HumanMessage)"'
)
_RESPONSES_ITEMS = re.compile(
    rb'"type"\s*:\s*"(?:function_call(?:_output)?|custom_tool_call|[a-z_]+_call|output_text|input_text)"'
)

ANTHROPIC = _importer(
    "anthropic-messages",
    "Conversations as Anthropic messages",
    ((".messages[].role",), ("[].role",), (".request.messages[].role",)),
    # What a batch gives back, and a bare answer.
    ((".result.message.role",), (".role", ".content", ".stop_reason")),
    _ANTHROPIC_PARTS,
)
LANGCHAIN = _importer(
    "langchain-messages",
    "LangChain and LangGraph messages",
    ((".messages[].type",), ("[].type",), (".messages[].lc",), ("[].lc",), (".values.messages[].type",)),
    # A message per line.
    ((".type", ".content"), (".type", ".data.content")),
    words=_LANGCHAIN_TYPES,
)
RESPONSES = _importer(
    "openai-responses",
    "Items of the OpenAI Responses API and the Agents SDK",
    ((".output[].type",), (".input[].type",), (".input[].role",), (".items[].type",), (".response.output[].type",)),
    ((".original_input", ".generated_items"), ("[].type",), ("[].role",), ("[].content",)),
    _RESPONSES_ITEMS,
)
OPENAI = _importer(
    "openai-messages",
    "Conversations as OpenAI messages",
    ((".messages[].role",), ("[].role",), (".messages[].content",), (".messages[].tool_calls",)),
    # Requests with their answers, what a batch gives back, Gemini's contents, and the events of Google's ADK.
    (
        *((".response.body.choices",), (".choices[].message",), (".request.messages[].role",)),
        *((".contents[].parts",), (".events[].content.parts",)),
        # AutoGen's messages, and the saved state of an agent.
        (".llm_context.messages[].type",),
        (".agent_states", ".version"),
        # The stores of LlamaIndex and Agno, the output of CrewAI, and messages of Haystack's older versions.
        *((".store", ".class_name"), (".chat_store.store", ".class_name")),
        *((".run_data.messages[].role",), ("[].runs[].messages[].role",), (".tasks_output[].messages[].role",)),
        *(("[]._role", "[]._content"), (".messages[]._role",)),
        # A message per line, also of a session of Strands or events of Google's ADK.
        (".message.role", ".message_id"),
        *((".role", f".{said}") for said in ("content", "parts", "blocks", "items")),
        *(("._role", "._content"), (".content.parts", ".author"), ("[].content.parts", "[].author")),
        *((".messages[].source", ".messages[].models_usage"), ("[].source", "[].models_usage")),
    ),
    written=WrittenCalls(
        re.compile(r"(?:^|\.|\])(?:content|text)$"),
        re.compile(r"(<function=[\w.-]+>\s*(?:<parameter=.*?|)</function>)", re.DOTALL),
    ),
)
