"""Inspect: `gate(run, url)` for `ApprovalPolicy`; in an approval file `{name: inferact_client/gate, run: R, url: U}`.

The token is INFERACT_TOKEN, because Inspect logs an approver's parameters. Calls of one message are checked in turn.
The task is the sample's first user message; its id names evaluation, sample and epoch."""

from __future__ import annotations

import dataclasses
import os
from contextvars import ContextVar
from typing import Any

from inspect_ai.approval import Approval, Approver, approver
from inspect_ai.hooks import Hooks, SampleEvent, SampleStart, hooks

from inferact_client.adapters.shared import Held, hold, record
from inferact_client.gate import DEADLINE_S, Gate
from inferact_client.steps import from_inspect

_sample = ContextVar[tuple[str, str | None]]("inferact_sample", default=("", None))
_gates, _begun, _edited = list[Gate](), dict[tuple[str, str], tuple[Gate, Held]](), dict[tuple[str, str], str]()


@approver(name="gate")
def gate(run: str, url: str, deadline_s: float = DEADLINE_S) -> Approver:
    """Return the approver that asks the console about each call."""
    asked = Gate(run, url=url, token=os.environ.get("INFERACT_TOKEN"), deadline_s=deadline_s)
    _gates.append(asked)

    async def approve(message: str, call: Any, view: Any, history: list[Any]) -> Approval:
        sample, task_id = _sample.get()
        held = await hold(asked, from_inspect(history), call.function, call.arguments, task_id)
        if held.arguments is None:
            return Approval(decision="reject", explanation=held.message)
        _begun[sample, call.id] = (asked, held)
        if not held.decision.edited:
            return Approval(decision="approve")
        _edited[sample, call.id] = held.message
        return Approval(decision="modify", modified=dataclasses.replace(call, arguments=held.arguments))

    return approve


@hooks(name="gate", description="Records results in InferAct Console, and says what ran instead after an edit")
class _Results(Hooks):
    def enabled(self) -> bool:
        return bool(_gates)

    async def on_sample_start(self, data: SampleStart) -> None:
        _sample.set((data.sample_id, f"{data.eval_id}:{data.summary.id}:{data.summary.epoch}"))

    async def on_sample_event(self, data: SampleEvent) -> None:
        if (found := _begun.pop((data.sample_id, getattr(data.event, "id", "")), None)) is not None:
            await record(*found, data.event.error or data.event.result)

    async def on_before_model_generate(self, data: Any) -> None:
        for place, message in enumerate(data.input):
            words = _edited.get((_sample.get()[0], getattr(message, "tool_call_id", None) or ""))
            if message.role == "tool" and words and not message.text.startswith(words):
                data.input[place] = message.model_copy(update={"content": f"{words}\n{message.text}"})
