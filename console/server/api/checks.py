"""Asking for permission: submit a check, wait for its decision, take it back, report what came of it."""

from __future__ import annotations

import asyncio
import time

from starlette.requests import Request
from starlette.responses import Response

from console.database import database_url, now_ms, reading, writing
from console.errors import BadInput
from console.gate import Gate, GateDecision, checks
from console.gate.checks import CheckId
from console.gate.wait import Wait
from console.server import shutdown
from console.server.api.schema import Check, CheckSent, Decision, Result, ResultSent, StepSent, ToolCall
from console.server.api.wire import answer, in_thread, read_json

LONGEST_WAIT_S = 60.0
_FIRST_LOOKS_S, _LATER_LOOKS_S = 0.1, 0.4


async def submit(request: Request) -> Response:
    """Asks whether an action may run: decided at once, or 202 and a check to wait for."""
    sent = await read_json(request, CheckSent)
    return _answered(await in_thread(_submit, sent))


async def wait(request: Request) -> Response:
    """The decision of a check; with `wait=SECONDS` the answer comes as soon as it is there, 202 if it is not."""
    seconds, started = _seconds(request), time.monotonic()
    at = checks.check_id(request.path_params["check_id"])
    found = await in_thread(_reopen, at)
    while isinstance(found, Wait):
        # A go-ahead is given once, so it must not be given to somebody who has hung up.
        if await request.is_disconnected():
            break
        decision = await in_thread(found.look)
        if decision is not None:
            found = decision
            break
        waited = time.monotonic() - started
        if waited >= seconds or shutdown.is_set():
            break
        await asyncio.sleep(min(_FIRST_LOOKS_S if waited < 5 else _LATER_LOOKS_S, seconds - waited))
    return _answered(_check(found, at))


async def withdraw(request: Request) -> Response:
    """Takes a check back that nobody waits for any more; a decision that is there already is the answer."""
    at = checks.check_id(request.path_params["check_id"])
    return _answered(await in_thread(_withdraw, at))


async def report(request: Request) -> Response:
    """Records what came of an action that was let run; sent again, it changes nothing."""
    at = checks.check_id(request.path_params["check_id"])
    sent = await read_json(request, ResultSent)
    recorded = await in_thread(_report, at, sent.observation)
    return answer(Result(check_id=str(at), recorded=recorded))


def _submit(sent: CheckSent) -> Check:
    gate = Gate(
        sent.run,
        sent.detector,
        sent.critical,
        environment=sent.environment,
        threshold=sent.threshold,
        budget=sent.budget,
        reviews_per_item=sent.reviews_per_item,
        timeout_s=sent.timeout_s,
        undo_s=sent.undo_s,
        agent=sent.agent,
    )
    steps = [_step(step) for step in sent.steps]
    found = gate.ask(sent.task, steps, _action(sent.action), task_id=sent.task_id, trial=sent.trial)
    if isinstance(found, Wait):
        return _check(found, CheckId(found.check.ask.trajectory_id, found.check.request.step))
    with reading() as session:
        return _check(found, checks.check_id_of(session, found))


def _reopen(at: CheckId) -> Wait | GateDecision:
    url = database_url()
    with reading(url) as session:
        return checks.reopened(session, url, at)


def _withdraw(at: CheckId) -> Check:
    found = _reopen(at)
    return _check((found.withdraw() or found) if isinstance(found, Wait) else found, at)


def _report(at: CheckId, observation: str) -> bool:
    with writing() as session:
        return checks.record_result(session, at, observation, now_ms())


def _check(found: Wait | GateDecision, at: CheckId | None) -> Check:
    name = None if at is None else str(at)
    if isinstance(found, Wait):
        return Check(check_id=name, status="waiting")
    call = found.call
    decision = Decision(
        approved=found.approved,
        action=found.action,
        call=None if call is None else ToolCall(name=call.name, arguments=dict(call.arguments)),
        feedback=found.feedback,
        reason=found.reason,
        item_id=found.item_id,
        decision_id=found.decision_id,
        score=found.score,
    )
    return Check(check_id=name, status="decided", decision=decision)


def _answered(check: Check) -> Response:
    return answer(check, 202 if check.status == "waiting" else 200)


def _step(step: StepSent) -> dict[str, object]:
    return {"thought": step.thought, "action": _action(step.action), "observation": step.observation}


def _action(action: str | ToolCall) -> str | dict[str, object]:
    return action if isinstance(action, str) else action.model_dump()


def _seconds(request: Request) -> float:
    text = request.query_params.get("wait", "0")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= LONGEST_WAIT_S:
        raise BadInput(f"wait is {text!r}; it is a number of seconds from 0 to {LONGEST_WAIT_S:g}.")
    return seconds
