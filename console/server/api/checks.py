"""Checks of an agent: submit one, wait for its decision, begin the action, report its result.

One task looks for the decisions of all waiting checks, so that a waiting agent occupies no thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BeforeValidator
from starlette.exceptions import HTTPException

from console.auth.audit_log import By, Door, acting
from console.database import database_url, now_ms, writing
from console.errors import BadInput, Refused
from console.gate import Gate, GateDecision, Reason, checks
from console.gate.checks import CheckId, Wait, find_news
from console.gate.request import Asker, StepLike
from console.gate.transcript import read_steps
from console.server import shutdown
from console.server.api.admission import asker
from console.server.api.body import JsonRoute, in_thread
from console.server.api.errors import refusals
from console.server.api.schema import Check, CheckDecision, CheckSent, Result, ResultSent
from console.server.sign_in.wrong_tokens import address_of

_FIRST_LOOKS_S, _LATER_LOOKS_S, _YOUNG_S = 0.1, 0.4, 5.0
_ATTEND_S = 0.5
"""The seconds after which a waiting request is checked for a disconnected agent or a stopping server."""

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Watched:
    wait: Wait
    found: asyncio.Future[GateDecision]
    since_s: float = field(default_factory=time.monotonic)


@dataclass
class _Lookout:
    """The waiting requests of one event loop, and the task that looks for their decisions while any request waits."""

    watched: set[_Watched] = field(default_factory=set)
    task: asyncio.Task[None] | None = None

    def add(self, one: _Watched) -> None:
        """Add a waiting request to the watched requests."""
        self.watched.add(one)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        while self.watched:
            now = time.monotonic()
            is_young = any(now - one.since_s < _YOUNG_S for one in self.watched)
            await asyncio.sleep(_FIRST_LOOKS_S if is_young else _LATER_LOOKS_S)
            by_url: dict[str, list[_Watched]] = {}
            for one in self.watched:
                by_url.setdefault(one.wait.url, []).append(one)
            for url, some in by_url.items():
                try:
                    await self._look_at(url, some)
                except Exception as failure:
                    # The other agents still wait, and this look is repeated.
                    _log.exception("Looking for decisions failed: %s", failure)

    async def _look_at(self, url: str, some: list[_Watched]) -> None:
        news = await in_thread(find_news, url, [one.wait for one in some])
        by_wait = {id(one.wait): one for one in some}
        for wait in news:
            one = by_wait[id(wait)]
            if one not in self.watched:
                continue
            try:
                decision = await in_thread(wait.look)
            except Exception as failure:
                if not one.found.done():
                    one.found.set_exception(failure)
                continue
            if decision is not None and not one.found.done():
                one.found.set_result(decision)


_lookouts: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lookout] = WeakKeyDictionary()


async def wait_for(wait: Wait, until_s: float, is_gone: Callable[[], Awaitable[bool]]) -> GateDecision | None:
    """Return the decision, or None at `until_s` (monotonic seconds), if the agent `is_gone` or the server stops.

    Raise the errors of `Wait.look`.
    """
    loop = asyncio.get_running_loop()
    lookout = _lookouts.setdefault(loop, _Lookout())
    one = _Watched(wait, loop.create_future())
    lookout.add(one)
    try:
        while (left := until_s - time.monotonic()) > 0 and not shutdown.is_set() and not await is_gone():
            with suppress(asyncio.TimeoutError):
                return await asyncio.wait_for(asyncio.shield(one.found), min(left, _ATTEND_S))
        return one.found.result() if one.found.done() else None
    finally:
        lookout.watched.discard(one)
        one.found.cancel()


LONGEST_WAIT_S = 60.0
_DECIDED = "Decided."
_WAITING: dict[int | str, dict[str, Any]] = {
    202: {"model": Check, "description": "A reviewer must decide. Wait for the check."}
}

router = APIRouter(prefix="/checks", route_class=JsonRoute, responses=refusals(401, 422))


def _seconds(text: object) -> float:
    try:
        seconds = float(str(text))
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= LONGEST_WAIT_S:
        raise BadInput(f"wait is {text!r}. Use a number of seconds from 0 to {LONGEST_WAIT_S:g}.")
    return seconds


async def _check_id(check_id: str) -> CheckId:
    return checks.check_id(check_id)


CheckAt = Annotated[CheckId, Depends(_check_id)]
Asking = Annotated[Asker, Depends(asker)]
Seconds = Annotated[
    float,
    BeforeValidator(_seconds),
    Query(
        alias="wait",
        description="Seconds to wait for the decision.",
        json_schema_extra={"minimum": 0, "maximum": LONGEST_WAIT_S},
    ),
]


@router.post("", response_description=_DECIDED, responses=_WAITING | refusals(400, 404, 409, 413, 429))
async def submit(sent: CheckSent, who: Asking, request: Request, response: Response) -> Check:
    """Ask whether an action may run. Respond with the decision, or with 202 and a check to wait for."""
    with acting(By(who.name, Door.API, address_of(request))):
        return _answered(await in_thread(_submit, sent, who), response)


@router.get("/{check_id}", response_description=_DECIDED, responses=_WAITING | refusals(404))
async def wait(at: CheckAt, who: Asking, request: Request, response: Response, seconds: Seconds = 0.0) -> Check:
    """Return the decision of a check; if `wait=SECONDS` is given, return the decision as soon as it exists.

    If an agent has waited this way and sends no request for a minute, it counts as crashed and the item leaves the
    queue. If a rule sets the deadline, the check waits until the deadline, even if its agent has crashed.
    """
    started = time.monotonic()
    answer = await in_thread(checks.open_wait, database_url(), at, who, beats=seconds > 0)
    # An agent that has hung up must not look alive.
    if isinstance(answer, Wait) and not await request.is_disconnected():
        answer = await in_thread(answer.look) or answer
    if isinstance(answer, Wait) and seconds:
        answer = await wait_for(answer, started + seconds, request.is_disconnected) or answer
    return _answered(_check(answer, at), response)


@router.delete("/{check_id}", response_description=_DECIDED, responses=_WAITING | refusals(404))
async def withdraw(at: CheckAt, who: Asking, response: Response) -> Check:
    """Withdraw a check that no one waits for; if the check has a decision, return the decision."""
    return _answered(await in_thread(_withdraw, at, who), response)


@router.post(
    "/{check_id}/begin",
    response_description="The action may run now, this once.",
    responses=refusals(403, 404, 409, 410),
)
async def begin(at: CheckAt, who: Asking) -> Check:
    """Begin the approved action just before it runs. A second request gets 409, because the action may have run.

    Respond with 403 if the changed policy no longer allows the action, or an operator stopped the run, or the check was
    withdrawn. Respond with 410 if the console was restored from a backup since; in this case, submit the check again.
    """
    return _check(await in_thread(_begin, at, who), at)


@router.post(
    "/{check_id}/result",
    response_description="The result is recorded, now or by an earlier request.",
    responses=refusals(400, 404, 409, 413),
)
async def report(at: CheckAt, who: Asking, sent: ResultSent) -> Result:
    """Record the result of an action that has begun; respond with 409 if the action has not begun.

    A repeated request changes nothing.
    """
    return Result(check_id=str(at), recorded=await in_thread(_report, at, who, sent.observation))


def _submit(sent: CheckSent, who: Asker) -> Check:
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
        agent=who.name,
    )
    action = sent.model_dump(include={"action"})["action"]
    steps: list[StepLike] = [step.model_dump() for step in sent.steps]
    if sent.transcript is not None:
        steps += read_steps(sent.transcript.format, sent.transcript.text, action)
    answer = gate.ask_for(
        who,
        sent.task,
        steps,
        action,
        task_id=sent.task_id,
        trial=sent.trial,
        tool_schema=sent.tool_schema,
        hints=None if sent.hints is None else sent.hints.model_dump(),
    )
    token = answer.check.ask.token if isinstance(answer, Wait) else answer.check_id
    return _check(answer, None if token is None else CheckId(token))


def _withdraw(at: CheckId, who: Asker) -> Check:
    answer = checks.open_wait(database_url(), at, who, beats=False)
    return _check((answer.withdraw() or answer) if isinstance(answer, Wait) else answer, at)


def _begin(at: CheckId, who: Asker) -> GateDecision:
    decision = checks.begin_check(database_url(), at, who)
    if decision.reason is Reason.VOID:
        raise HTTPException(410, decision.feedback)
    if decision.reason is Reason.ALREADY_HANDED_OUT:
        raise Refused(f"Check {at} has already begun, so the action may have run. Find out whether the action ran.")
    if not decision.approved:
        # 200 means that the action may run.
        raise HTTPException(403, decision.feedback)
    return decision


def _report(at: CheckId, who: Asker, observation: str) -> bool:
    with writing() as session:
        return checks.record_result(session, at, who, observation, now_ms())


def _check(answer: Wait | GateDecision, at: CheckId | None) -> Check:
    name = None if at is None else str(at)
    if isinstance(answer, Wait):
        left_ms = (answer.check.ask.deadline_ms or 0) - now_ms()
        return Check(check_id=name, status="waiting", seconds_left=max(left_ms, 0) / 1_000)
    return Check(check_id=name, status="decided", decision=CheckDecision.model_validate(answer, from_attributes=True))


def _answered(check: Check, response: Response) -> Check:
    response.status_code = 202 if check.status == "waiting" else 200
    return check
