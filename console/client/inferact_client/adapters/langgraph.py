"""LangGraph: `resolve` answers the interrupts of LangChain's `HumanInTheLoopMiddleware`, in both of its modes.

The task is the first human message. Its id is the `thread_id` of the configuration; without a `thread_id`, the text
identifies the task. The middleware runs the calls itself, so their results are not recorded: use `GateMiddleware` of
`inferact_client.adapters.langchain` to record them.
"""

from __future__ import annotations

from typing import Any

from langgraph.types import Command

from inferact_client.adapters.shared import Held, ask_about, read_decision
from inferact_client.gate import Gate
from inferact_client.steps import from_langchain


async def resolve(app: Any, out: dict[str, Any], gate: Gate, config: Any) -> dict[str, Any]:
    """Ask about the interrupts of `HumanInTheLoopMiddleware`, in both modes, until no interrupt is left."""
    while interrupts := out.get("__interrupt__"):
        told = from_langchain(out.get("messages") or ())
        thread = (config or {}).get("configurable", {}).get("thread_id")
        requests = [_actions(one.value) for one in interrupts]
        asked = [ask_about(told, one["name"], one["args"], thread, None) for some in requests for one in some]
        decided = iter(await gate.acheck_many(asked))
        answers = {}
        for one, some in zip(interrupts, requests, strict=True):
            said = [_answer(read_decision(next(decided), call["name"], call["args"])) for call in some]
            answers[one.id] = {"decisions": said} if "action_requests" in one.value else said[0]
        out = await app.ainvoke(Command(resume=answers), config)
    return out


def _actions(value: Any) -> list[dict[str, Any]]:
    return list(value["action_requests"]) if "action_requests" in value else [value]


def _answer(held: Held) -> dict[str, Any]:
    if held.arguments is None:
        return {"type": "reject", "message": held.message}
    call = {"name": (held.decision.call or {}).get("name"), "args": held.arguments}
    return {"type": "edit", "edited_action": call} if held.decision.edited else {"type": "approve"}
