"""Conversations: a trajectory as the chat messages that other tools read, with calls or as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import orjson

from console.trajectory import Step, Trajectory
from console.trajectory.calls import Call, read_action
from console.trajectory.checkpoints import Checkpoint
from console.trajectory.messages import FIRST_WORDS, POLICY

Chat = dict[str, Any]
"""One message with its `role` and content."""


def given(instruction: str, opening: str) -> list[Chat]:
    """Return the messages before the agent's first step: a system message for a policy, and the user's message."""
    policy, words = "", opening
    if opening.startswith(f"{POLICY}\n"):
        policy, _, words = opening.removeprefix(f"{POLICY}\n").partition(f"\n\n{FIRST_WORDS}\n")
    words = words.removeprefix(f"{FIRST_WORDS}\n")
    if instruction not in words:
        words = "\n\n".join(filter(None, (instruction, words)))
    system = [{"role": "system", "content": policy}] if policy else []
    return [*system, {"role": "user", "content": words}]


def in_words(checkpoint: Checkpoint) -> list[Chat]:
    """Return the conversation up to a checkpoint as plain user and assistant turns, which chat templates accept."""
    turns = given(checkpoint.instruction, checkpoint.opening)
    for step in checkpoint.steps:
        turns.append(assistant(step.thought, step.action))
        turns.append({"role": "user", "content": step.observation})
    return _alternating(turns)


def assistant(thought: str, action: str) -> Chat:
    """Return an assistant's turn as text: the thought, then the action on its own lines."""
    return {"role": "assistant", "content": "\n\n".join(filter(None, (thought, action)))}


def spoken(call: Call) -> str | None:
    """Return the text that a call sends to the user, or None if the call does not send a text to the user."""
    if call.name != "respond" or list(call.arguments) != ["content"]:
        return None
    content = call.arguments["content"]
    return content if isinstance(content, str) else None


def calls_of(step: Step) -> list[Call]:
    """Return the calls of a step's action; an action that is not a call becomes one call of `act` with its text."""
    return list(read_action(step.action)) or ([Call("act", {"argument": step.action})] if step.action else [])


def numbered(steps: Sequence[Step]) -> Iterator[tuple[Step, list[tuple[str, Call]], str | None]]:
    """Yield each step with its calls, each with an id that is unique within the conversation, and its text.

    The text is what the step sends to the user: "" if the step has no call, and None if it has other calls.
    """
    numbers = count()
    for step in steps:
        named = [(f"call_{next(numbers)}", call) for call in calls_of(step)]
        lone = spoken(named[0][1]) if len(named) == 1 else None
        yield step, named, lone if named else ""


def functions(records: Iterable[Trajectory]) -> list[dict[str, Any]]:
    """Return the called tools as JSON schemas: the tools' names, and the names and types of their arguments."""
    seen: dict[str, dict[str, Any]] = {}
    for record in records:
        for call in (call for step in record.steps for call in calls_of(step) if spoken(call) is None):
            kinds = {name: {"type": _KINDS.get(type(value), "string")} for name, value in call.arguments.items()}
            seen.setdefault(call.name, {}).update(kinds)
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
        for name, properties in seen.items()
    ]


def arguments_text(call: Call) -> str:
    """Return the arguments as JSON text."""
    return orjson.dumps(dict(call.arguments)).decode()


_KINDS = {bool: "boolean", int: "integer", float: "number", dict: "object", list: "array", type(None): "null"}


def _alternating(turns: Sequence[Chat]) -> list[Chat]:
    """Return the turns without empty ones; merge consecutive turns of one role."""
    found: list[Chat] = []
    for turn in turns:
        if not turn["content"]:
            continue
        if found and found[-1]["role"] == turn["role"]:
            found[-1] = {**turn, "content": f"{found[-1]['content']}\n\n{turn['content']}"}
        else:
            found.append(dict(turn))
    return found
