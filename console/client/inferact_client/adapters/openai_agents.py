"""OpenAI Agents SDK: `gated(tool, gate)` wraps a function tool; `resolve` answers `needs_approval` interruptions.

The task is the first user message of the turn's input. `task_id` identifies the task, or else its text.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from agents import FunctionTool, Runner

from inferact_client.adapters.shared import ask_about, hold, read_decision, record
from inferact_client.gate import Gate
from inferact_client.steps import from_openai


def gated(tool: FunctionTool, gate: Gate, *, task_id: str | None = None) -> FunctionTool:
    """Return the tool with the gate before it; approvals, feedback and edits all reach the agent."""
    run = tool.on_invoke_tool

    async def invoke(context: Any, given: str) -> Any:
        told = from_openai(context.turn_input)
        held = await hold(gate, told, tool.name, json.loads(given or "{}"), task_id, tool.params_json_schema)
        if held.arguments is None:
            return held.message
        result = await run(context, json.dumps(held.arguments))
        await record(gate, held, result)
        return held.describe(str(result)) if held.message else result

    return dataclasses.replace(tool, on_invoke_tool=invoke, needs_approval=False)


async def resolve(agent: Any, result: Any, gate: Gate, *, task_id: str | None = None) -> Any:
    """Ask about all interruptions of a result in parallel, and continue until no interruption is left.

    The SDK cannot replace the arguments of an approved call (0.24), so a call that a reviewer edits is rejected, and
    the model gets the edit as text. Wrap the tool with `gated` if reviewers edit.
    """
    while result.interruptions:
        state, told = result.to_state(), from_openai(result.to_input_list())
        calls = [(item, item.name or "", json.loads(item.arguments or "{}")) for item in result.interruptions]
        decided = await gate.acheck_many(ask_about(told, name, given, task_id, None) for _, name, given in calls)
        begun = {}
        for (item, name, given), decision in zip(calls, decided, strict=True):
            held = read_decision(decision, name, given)
            if held.arguments is not None and not decision.edited:
                state.approve(item)
                begun[item.call_id] = held
            else:
                again = f"A reviewer changed this call to {decision.action}. Make that call instead."
                state.reject(item, rejection_message=again if decision.edited else held.message)
        result = await Runner.run(agent, state)
        for item in result.new_items:
            call_id = getattr(item, "call_id", None)
            if item.type == "tool_call_output_item" and call_id in begun:
                await record(gate, begun.pop(call_id), item.output)
    return result
