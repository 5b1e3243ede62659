"""Pydantic AI: `handle(gate)` answers deferred calls of tools with `requires_approval=True`.

    agent = Agent(model, tools=[Tool(refund, requires_approval=True)], capabilities=[handle(gate)])

The task is the first user prompt. Its id is the run's `conversation_id`, if the framework has one, else its `run_id`.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls

from inferact_client.adapters.shared import Held, ask_about, read_decision, record
from inferact_client.gate import Gate
from inferact_client.steps import from_pydantic_ai


class _Handler(HandleDeferredToolCalls[Any]):
    """A handler that asks about all calls of one message in parallel, and records their results."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(handler=self._decide)
        self._gate, self._begun = gate, dict[str, Held]()

    async def _decide(self, context: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults:
        told = from_pydantic_ai(context.messages)
        task_id = getattr(context, "conversation_id", None) or context.run_id
        calls = [(call, call.args_as_dict()) for call in requests.approvals]
        asked = [ask_about(told, call.tool_name, given, task_id, None) for call, given in calls]
        results = DeferredToolResults()
        for (call, given), decision in zip(calls, await self._gate.acheck_many(asked), strict=True):
            held = read_decision(decision, call.tool_name, given)
            if held.arguments is None:
                results.approvals[call.tool_call_id] = ToolDenied(held.message)
            else:
                self._begun[call.tool_call_id] = held
                results.approvals[call.tool_call_id] = ToolApproved(override_args=held.arguments)
        return results

    async def after_tool_execute(self, _context: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        """Record the result; after an edit, return the result with a sentence about the edited call."""
        held = self._begun.pop(call.tool_call_id, None)
        if held is None:
            return result
        await record(self._gate, held, result)
        return held.describe(str(result)) if held.message else result


def handle(gate: Gate) -> HandleDeferredToolCalls[Any]:
    """Return the capability that asks before each call that requires approval."""
    return _Handler(gate)
