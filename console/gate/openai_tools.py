"""Tool calls of a chat loop in OpenAI's message form, each checked by the gate before it runs.

`messages += run_calls(gate, messages, tools, task_id=...)` replaces the code of the loop that runs the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import orjson

from console.errors import BadInput
from console.gate import Gate, GateDecision
from console.trajectory import Step, call_action
from console.trajectory.messages import Message, content_text, join_paragraphs, list_calls, read_call, respond_action

Tools = Mapping[str, Callable[..., object]]


def run_calls(
    gate: Gate, messages: Sequence[Any], tools: Tools, *, task_id: str, task: str | None = None, trial: int = 0
) -> list[dict[str, Any]]:
    """Check and run the last message's calls; return their tool messages: results, or the reviewer's feedback.

    `messages` are mappings or the client's own objects; `task` defaults to the user's first message. An edited call
    runs as the reviewer wrote it. If a tool raises an exception, raise it again, because it is unknown whether the tool
    has run.
    """
    told = [_plain(message) for message in messages]
    if not told or not list_calls(told[-1]):
        return []
    asked = task or next((_text(message) for message in told if message.get("role") == "user"), "")
    steps = list(_steps(told[:-1]))
    answers = []
    for place, call in enumerate(list_calls(told[-1])):
        decision = gate.check(asked, steps, _action(call), task_id=task_id, trial=trial)
        content = _run(gate, tools, decision)
        answers.append({"role": "tool", "tool_call_id": content_text(call.get("id")), "content": content})
        thought = "" if place else _thought(told[-1], _text(told[-1]))
        steps.append(Step(thought, decision.action if decision.approved else _action(call), content))
    return answers


def _run(gate: Gate, tools: Tools, decision: GateDecision) -> str:
    if not decision.approved:
        return f"This call was not run. {decision.feedback}"
    arguments = _arguments(decision)
    if decision.call is None or decision.call.name not in tools or arguments is None:
        known = ", ".join(tools)
        content = f"This call was not run: {decision.action} is not a call of {known} with its arguments as JSON."
    else:
        content = content_text(tools[decision.call.name](**arguments))
    if decision.intent_id is not None:
        gate.done(decision, content)
    return f"{content}\n(The reviewer says: {decision.feedback})" if decision.feedback else content


def _arguments(decision: GateDecision) -> dict[str, Any] | None:
    """Return the arguments in the text `name({...})`, or None if the arguments cannot be parsed."""
    name, _, rest = decision.action.strip().partition("(")
    try:
        read = orjson.loads(rest.removesuffix(")"))
    except orjson.JSONDecodeError:
        return None
    return read if name and isinstance(read, dict) else None


def _steps(messages: Sequence[Message]) -> Iterator[Step]:
    """Yield a step for each call with its result, or one step for a message to the user without calls."""
    begun = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
    for place, end in pairwise([*begun, len(messages)]):
        message, answers = messages[place], messages[place + 1 : end]
        found = list_calls(message)
        results = {answer.get("tool_call_id"): _text(answer) for answer in answers}
        for number, call in enumerate(found):
            thought = "" if number else _thought(message, _text(message))
            yield Step(thought, _action(call), results.get(call.get("id"), ""))
        if not found:
            words = "\n".join(_text(answer) for answer in answers)
            yield Step(_thought(message, ""), respond_action(_text(message)), words)


def _text(message: Message) -> str:
    return content_text(message.get("content"))


def _thought(message: Message, beside: str) -> str:
    """Return the recorded reasoning, followed by `beside`, the text next to the message's calls."""
    return join_paragraphs(content_text(message.get("reasoning_content") or message.get("reasoning")), beside)


def _action(call: Message) -> str:
    """Return the call as an action, `name({json})`; raise BadInput if the call has no name."""
    read = read_call(call)
    if read is None:
        raise BadInput("A tool call has no name, so it cannot be checked. Give the name of its function.")
    return call_action(*read)


def _plain(message: Any) -> Message:
    if isinstance(message, Mapping):
        return message
    if not hasattr(message, "model_dump"):
        raise BadInput(
            f"{type(message).__name__} is not a message. Give mappings, or the messages of the OpenAI client."
        )
    plain: dict[str, Any] = orjson.loads(orjson.dumps(message.model_dump(exclude_none=True)))
    return plain
