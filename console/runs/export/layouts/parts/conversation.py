"""Conversations: a trajectory as the chat messages that other tools read, with its calls or in words alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from console.runs.importers.parts.messages import FIRST_WORDS, POLICY
from console.trajectory import Step, Trajectory
from console.trajectory.checkpoints import Call, Checkpoint, calls

Chat = dict[str, Any]
"""One message: a `role` and what it says."""


def given(instruction: str, opening: str) -> list[Chat]:
    """What the agent had before its first step: a system message where there was a policy, and the user's words."""
    policy, words = "", opening
    if opening.startswith(f"{POLICY}\n"):
        policy, _, words = opening.removeprefix(f"{POLICY}\n").partition(f"\n\n{FIRST_WORDS}\n")
    words = words.removeprefix(f"{FIRST_WORDS}\n")
    if instruction not in words:
        words = "\n\n".join(filter(None, (instruction, words)))
    system = [{"role": "system", "content": policy}] if policy else []
    return [*system, {"role": "user", "content": words}]


def in_words(checkpoint: Checkpoint) -> list[Chat]:
    """The conversation up to a checkpoint as plain turns of user and assistant, which every chat template takes."""
    turns = given(checkpoint.instruction, checkpoint.opening)
    for step in checkpoint.steps:
        turns.append(assistant(step.thought, step.action))
        turns.append({"role": "user", "content": step.observation})
    return _alternating(turns)


def assistant(thought: str, action: str) -> Chat:
    """An assistant's turn in words: the thought, then the action on lines of its own."""
    return {"role": "assistant", "content": "\n\n".join(filter(None, (thought, action)))}


def spoken(call: Call) -> str | None:
    """What a call says to the user, None for any other call."""
    content = call.arguments.get("content")
    return (
        content if call.name == "respond" and list(call.arguments) == ["content"] and isinstance(content, str) else None
    )


def calls_of(step: Step) -> list[Call]:
    """The calls of a step's action; an action that is no call is one to `act` with its text."""
    return calls(step.action) or ([Call("act", {"argument": step.action})] if step.action else [])


def numbered(steps: Sequence[Step]) -> Iterator[tuple[Step, list[tuple[str, Call]]]]:
    """Each step with its calls, every call under an id of its own within the conversation."""
    count = 0
    for step in steps:
        named = []
        for call in calls_of(step):
            named.append((f"call_{count}", call))
            count += 1
        yield step, named


def functions(records: Iterable[Trajectory]) -> list[dict[str, Any]]:
    """The tools that were called as JSON schemas: their names, and the names and kinds of the arguments seen."""
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
    """The arguments as JSON text."""
    return orjson.dumps(dict(call.arguments)).decode()


_KINDS = {bool: "boolean", int: "integer", float: "number", dict: "object", list: "array", type(None): "null"}


def _alternating(turns: Sequence[Chat]) -> list[Chat]:
    """The turns with nothing empty, those that one role says in a row as one."""
    found: list[Chat] = []
    for turn in turns:
        if not turn["content"]:
            continue
        if found and found[-1]["role"] == turn["role"]:
            found[-1] = {**turn, "content": f"{found[-1]['content']}\n\n{turn['content']}"}
        else:
            found.append(dict(turn))
    return found
