"""LangChain and LangGraph: `GateMiddleware(gate)` for `create_agent`.

The task is the first human message. Its id is the configuration's `thread_id`, or else the task's text."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage

from inferact_client.adapters.shared import Held, ask_about, hold, read_decision, record, record_now
from inferact_client.gate import Gate
from inferact_client.steps import from_langchain


class GateMiddleware(AgentMiddleware):
    """Middleware that asks before each tool call of the agent; calls of one message wait in parallel."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self._gate = gate

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Run the call as decided, or return the message with the reason why the call did not run."""
        call = request.tool_call
        held = read_decision(self._gate.check(**ask_about(*_about(request))), call["name"], call["args"])
        if held.arguments is None:
            return _describe(held, call)
        answer = handler(request.override(tool_call={**call, "args": held.arguments}))
        record_now(self._gate, held, getattr(answer, "content", ""))
        return _describe(held, call, answer)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Run the call like `wrap_tool_call`, without blocking the event loop."""
        call = request.tool_call
        held = await hold(self._gate, *_about(request))
        if held.arguments is None:
            return _describe(held, call)
        answer = await handler(request.override(tool_call={**call, "args": held.arguments}))
        await record(self._gate, held, getattr(answer, "content", ""))
        return _describe(held, call, answer)


def _about(request: Any) -> tuple[Any, ...]:
    """Return the conversation, name, arguments, task id and schema of a call."""
    state, call = request.state, request.tool_call
    messages = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    thread = (getattr(request.runtime, "config", None) or {}).get("configurable", {}).get("thread_id")
    schema = getattr(request.tool, "tool_call_schema", None)
    read = schema.model_json_schema() if hasattr(schema, "model_json_schema") else schema
    return from_langchain(messages or ()), call["name"], call["args"], thread, read


def _describe(held: Held, call: Any, answer: Any = None) -> Any:
    if held.arguments is None:
        return ToolMessage(held.message, tool_call_id=call["id"], name=call["name"], status="error")
    if held.message and isinstance(answer, ToolMessage):
        return answer.model_copy(update={"content": held.describe(str(answer.content))})
    return answer
