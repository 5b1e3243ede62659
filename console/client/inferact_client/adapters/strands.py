"""Strands: `GateHandler(gate)` in `Agent(interventions=[...])`.

The task is the agent's first user message. `task_id` identifies the task, or else its text. `agent.cancel()` withdraws
the check.
"""

from __future__ import annotations

from typing import Any

from strands.interventions import Deny, InterventionHandler, Proceed, Transform

from inferact_client.adapters.shared import Held, hold, record
from inferact_client.gate import Gate
from inferact_client.steps import from_strands


class GateHandler(InterventionHandler):
    """A handler that asks before each tool call; an error of the handler denies the call."""

    name = "inferact"
    on_error = "deny"

    def __init__(self, gate: Gate, *, task_id: str | None = None) -> None:
        self._gate, self._task_id, self._begun = gate, task_id, dict[str, Held]()

    async def before_tool_call(self, event: Any, **_: Any) -> Any:
        """Let the call run as decided, or deny it with the message for the model."""
        use, tool = event.tool_use, event.selected_tool
        schema = tool.tool_spec["inputSchema"].get("json") if tool is not None else None
        told, cancel = from_strands(event.agent.messages), getattr(event.agent, "cancel_signal", None)
        held = await hold(self._gate, told, use["name"], use["input"], self._task_id, schema, cancel)
        if held.arguments is None:
            return Deny(reason=held.message)
        self._begun[use["toolUseId"]] = held
        if not held.decision.edited:
            return Proceed()
        edited = {**use, "input": held.arguments}
        return Transform(apply=lambda changed: setattr(changed, "tool_use", edited))

    async def after_tool_call(self, event: Any, **_: Any) -> Any:
        """Record the result; after an edit, return the result with a sentence about the edited call."""
        held = self._begun.pop(event.tool_use["toolUseId"], None)
        if held is None:
            return Proceed()
        await record(self._gate, held, event.result)
        if not held.message:
            return Proceed()
        content = [{"text": held.message}, *event.result["content"]]
        return Transform(apply=lambda changed: setattr(changed, "result", {**changed.result, "content": content}))
