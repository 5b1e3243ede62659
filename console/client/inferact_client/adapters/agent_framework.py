"""Microsoft Agent Framework: `Agent(middleware=gated(gate))`.

The task is the conversation's first user message; its id is the session's id. Without a session, or with a new session
for each request, a repeated request is a task of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

from agent_framework import ChatMiddleware, Content, FunctionMiddleware

from inferact_client.adapters.shared import hold, record
from inferact_client.gate import Gate
from inferact_client.steps import Converted, from_agent_framework

_told = ContextVar[Converted]("inferact_told", default=("", []))


class _Conversation(ChatMiddleware):
    """Middleware that stores the conversation before each answer of the model, for the middleware of the calls."""

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        _told.set(from_agent_framework(context.messages))
        await call_next()


class _Asking(FunctionMiddleware):
    """Middleware that asks before each call; an exception becomes the call's error, so that the call does not run."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        tool, given = context.function, context.arguments
        arguments = dict(given) if isinstance(given, Mapping) else given.model_dump()
        task_id = context.session.session_id if context.session is not None else None
        held = await hold(self._gate, _told.get(), tool.name, arguments, task_id, tool.parameters())
        if held.arguments is None:
            context.result = held.message
            return
        if held.decision.edited:
            context.arguments = held.arguments
        await call_next()
        result = context.result if isinstance(context.result, list) else [Content.from_text(str(context.result))]
        await record(self._gate, held, "\n".join(getattr(part, "text", None) or str(part) for part in result))
        if held.message:
            context.result = [Content.from_text(held.message), *result]


def gated(gate: Gate) -> list[Any]:
    """Return the middleware that asks before each call of an agent and records its result."""
    return [_Conversation(), _Asking(gate)]
