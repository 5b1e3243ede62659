"""The steps of every adapter: hold a call for its decision, run the call as decided, record its result."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferact_client.decision import Decision
from inferact_client.errors import ClientError
from inferact_client.gate import Gate
from inferact_client.steps import Converted
from inferact_client.talk import Cancellation

UNKNOWN_TASK = "(The framework did not report the user's request.)"
_MOST_RESULT = 20_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Held:
    """A call with its decision; `arguments` are the arguments to use, or None if the call must not run."""

    decision: Decision
    arguments: dict[str, Any] | None
    message: str

    def describe(self, result: str) -> str:
        """Return the result for the model, after the sentence about an edit."""
        return f"{self.message}\n{result}" if self.message else result


def ask_about(
    told: Converted, name: str, arguments: Mapping[str, Any], task_id: str | None, schema: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the arguments of `Gate.check` for one call of a tool."""
    task, steps = told
    action = {"name": name, "arguments": dict(arguments)}
    asked = {"task": task.strip() or UNKNOWN_TASK, "steps": steps, "action": action}
    return {**asked, "task_id": task_id, "tool_schema": dict(schema) if schema else None}


def read_decision(decision: Decision, name: str, arguments: Mapping[str, Any]) -> Held:
    """Return the call to run after the decision; an edit to a call of another tool does not run."""
    if not decision.approved:
        return Held(decision, None, decision.message)
    if not decision.edited:
        return Held(decision, dict(arguments), decision.message)
    if decision.arguments is None or (decision.call or {}).get("name") != name:
        words = f"A reviewer changed this call to {decision.action}, so it did not run. Make that call instead."
        return Held(decision, None, words)
    return Held(decision, decision.arguments, decision.message)


async def hold(
    gate: Gate,
    told: Converted,
    name: str,
    arguments: Mapping[str, Any],
    task_id: str | None = None,
    schema: Mapping[str, Any] | None = None,
    cancel: Cancellation | None = None,
) -> Held:
    """Wait for the decision on one call, and begin the call if it may run; if `cancel` is set, withdraw the check."""
    asked = ask_about(told, name, arguments, task_id, schema)
    return read_decision(await gate.acheck(**asked, cancel=cancel), name, arguments)


async def record(gate: Gate, held: Held, result: object) -> None:
    """Record the result; if the console is unreachable, log the result, because the tool has run already."""
    try:
        await gate.adone(held.decision, str(result)[:_MOST_RESULT])
    except ClientError as failure:
        _log.warning("The result of %s is not recorded: %s", held.decision.action[:200], failure)


def record_now(gate: Gate, held: Held, result: object) -> None:
    """Record the result like `record`, for code without an event loop."""
    try:
        gate.done(held.decision, str(result)[:_MOST_RESULT])
    except ClientError as failure:
        _log.warning("The result of %s is not recorded: %s", held.decision.action[:200], failure)
