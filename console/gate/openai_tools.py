"""Tool calls of a chat loop in OpenAI's message form, each asked about at the gate before it runs.

`messages += run_calls(gate, messages, tools, task_id=...)` stands where the loop would run the calls itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from console.errors import BadInput
from console.gate import Gate, GateDecision
from console.runs.importers.parts.conversation import respond
from console.runs.importers.parts.messages import (
    Message,
    call_text,
    first_user_message,
    said,
    text_of,
    thought_of,
    tool_calls,
    turns,
)
from console.trajectory import Step

Tools = Mapping[str, Callable[..., object]]


def run_calls(
    gate: Gate,
    messages: Sequence[Any],
    tools: Tools,
    *,
    task_id: str,
    task: str | None = None,
    trial: int = 0,
) -> list[dict[str, Any]]:
    """The tool messages that answer the last message's calls: results, or the reviewer's words where none ran.

    `messages` are mappings or the client's own objects; `task` is the user's first message unless it is given. An
    edited call runs as the reviewer wrote it. What a tool raises goes up, since nobody knows whether it ran.
    """
    told = [_plain(message) for message in messages]
    if not told or not tool_calls(told[-1]):
        return []
    asked = task or first_user_message(told)
    steps = list(_steps(told[:-1]))
    answers = []
    for place, call in enumerate(tool_calls(told[-1])):
        decision = gate.check(asked, steps, call_text(call), task_id=task_id, trial=trial)
        content = _run(gate, tools, decision)
        answers.append({"role": "tool", "tool_call_id": text_of(call.get("id")), "content": content})
        thought = "" if place else thought_of(told[-1], said(told[-1]))
        steps.append(Step(thought, decision.action if decision.approved else call_text(call), content))
    return answers


def _run(gate: Gate, tools: Tools, decision: GateDecision) -> str:
    if not decision.approved:
        return f"This call was not run. {decision.feedback}"
    arguments = _arguments(decision)
    if decision.call is None or decision.call.name not in tools or arguments is None:
        known = ", ".join(tools)
        content = f"This call was not run: {decision.action} is no call of {known} with its arguments as JSON."
    else:
        content = text_of(tools[decision.call.name](**arguments))
    if decision.intent_id is not None:
        gate.done(decision, content)
    return f"{content}\n(The reviewer says: {decision.feedback})" if decision.feedback else content


def _arguments(decision: GateDecision) -> dict[str, Any] | None:
    """The arguments of `name({...})`, None where they cannot be read."""
    name, _, rest = decision.action.strip().partition("(")
    try:
        read = orjson.loads(rest.removesuffix(")"))
    except orjson.JSONDecodeError:
        return None
    return read if name and isinstance(read, dict) else None


def _steps(messages: Sequence[Message]) -> Iterator[Step]:
    """One step a call, with the answer of its id, or one for the words to the user."""
    for message, answers in turns(messages):
        found = tool_calls(message)
        results = {answer.get("tool_call_id"): said(answer) for answer in answers}
        for place, call in enumerate(found):
            thought = "" if place else thought_of(message, said(message))
            yield Step(thought, call_text(call), results.get(call.get("id"), ""))
        if not found:
            words = "\n".join(said(answer) for answer in answers)
            yield Step(thought_of(message, ""), respond(said(message)), words)


def _plain(message: Any) -> Message:
    if isinstance(message, Mapping):
        return message
    if not hasattr(message, "model_dump"):
        raise BadInput(f"{type(message).__name__} is no message: give mappings, or the messages of the OpenAI client.")
    plain: dict[str, Any] = orjson.loads(orjson.dumps(message.model_dump(exclude_none=True)))
    return plain
