"""Google ADK: `GatePlugin(gate)` in `Runner(plugins=[...])`.

The task is the session's first message of the user; its id is the session's id.
"""

from __future__ import annotations

from typing import Any

from google.adk.plugins.base_plugin import BasePlugin

from inferact_client.adapters.shared import Held, hold, record
from inferact_client.gate import Gate
from inferact_client.steps import from_adk


class GatePlugin(BasePlugin):
    """A plug-in that asks before each tool call of every agent of the runner."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(name="inferact")
        self._gate, self._begun = gate, dict[str, Held]()

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
        """Let the call run as decided, or return the message for the model as the call's result."""
        session = tool_context.session
        declared = tool._get_declaration() if hasattr(tool, "_get_declaration") else None
        schema = getattr(declared, "parameters_json_schema", None)
        held = await hold(self._gate, from_adk(session.events), tool.name, tool_args, session.id, schema)
        if held.arguments is None:
            return {"error": held.message}
        self._begun[tool_context.function_call_id] = held
        if held.decision.edited:
            tool_args.clear()
            tool_args.update(held.arguments)
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: dict[str, Any]
    ) -> Any:
        """Record the result; after an edit, return the result with a sentence about the edited call."""
        held = self._begun.pop(tool_context.function_call_id, None)
        if held is None:
            return None
        await record(self._gate, held, result)
        return {"note": held.message, "result": result} if held.message else None
