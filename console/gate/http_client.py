"""The client of a served console: a check over HTTP, asked, waited for and begun.

Whatever goes wrong on the way, the answer is a decision that lets nothing run, with the reason `unreachable`: a lost
connection is tried again, with the same question and so the same check, until the time of the check is over; what the
console refuses (a wrong token, a run of another kind) is not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from console.errors import BadInput, ConsoleError, Refused
from console.gate.request import CheckRequest
from console.gate.types import GateDecision, Reason
from console.gate.wait import Cancellation
from console.review.edits import TOOL_SCHEMA

_POLL_S = 5
_ANSWER_S = 30
"""How long an answer may take beyond the wait that was asked for."""
_PAUSE_S = 0.3
_GRACE_S = 15
"""The console itself says that the time is over; only where it cannot be heard is this the end."""
_DONE_S = 60
_NOT_BEGUN = {403: Reason.DENIED, 409: Reason.ALREADY_HANDED_OUT}


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    path: str
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Reply:
    """What the console answered; its status is 0 where it cannot be heard now."""

    status: int
    document: Mapping[str, Any]


_AWAY = _Reply(0, {})
_Talk = Generator[_Call | float, _Reply, GateDecision]
"""Yields calls, each to be answered with its reply, and seconds to pause."""


def is_served(url: str | None) -> bool:
    """Whether the URL is a console's address rather than a database's."""
    return url is not None and url.startswith(("http://", "https://"))


class ServedConsole:
    """The console at an address, asked as one agent about one run; raises BadInput without a token."""

    def __init__(self, address: str, token: str | None, run: Mapping[str, Any]) -> None:
        if not token:
            raise BadInput("A served console asks for the agent's token: `inferact agent add NAME` prints one.")
        self.address, self._run = address.rstrip("/"), dict(run)
        # Proxies and .netrc of the agent's shell have no business between it and its console.
        self._options: dict[str, Any] = {
            "base_url": f"{self.address}/api/v1/",
            "headers": {"Authorization": f"Bearer {token}"},
            "timeout": _POLL_S + _ANSWER_S,
            "trust_env": False,
        }

    def check(self, request: CheckRequest, timeout_s: float, cancel: Cancellation | None) -> GateDecision:
        """The decision, begun where it lets the action run."""
        question = self._question(request, timeout_s)
        talk, reply = _talk(request.action, question, timeout_s, cancel), _AWAY
        with httpx.Client(**self._options) as client:
            try:
                step = next(talk)
                while True:
                    if isinstance(step, float):
                        time.sleep(step)
                    else:
                        reply = _answered(client, step)
                    step = talk.send(reply)
            except StopIteration as end:
                decision: GateDecision = end.value
                return decision
            except KeyboardInterrupt:
                self._leave(question)
                raise

    async def acheck(self, request: CheckRequest, timeout_s: float, cancel: Cancellation | None) -> GateDecision:
        """As `check`, without blocking the event loop; a cancelled task takes its check back."""
        question = self._question(request, timeout_s)
        talk, reply = _talk(request.action, question, timeout_s, cancel), _AWAY
        async with httpx.AsyncClient(**self._options) as client:
            try:
                step = next(talk)
                while True:
                    if isinstance(step, float):
                        await asyncio.sleep(step)
                    else:
                        reply = await _answered_meanwhile(client, step)
                    step = talk.send(reply)
            except StopIteration as end:
                decision: GateDecision = end.value
                return decision
            except asyncio.CancelledError:
                await asyncio.shield(asyncio.to_thread(self._leave, question))
                raise

    def done(self, check_id: str, observation: str) -> None:
        """Records the result; raises Refused, and ConsoleError where the console is away for a minute."""
        until = time.monotonic() + _DONE_S
        call = _Call("POST", f"checks/{check_id}/result", {"observation": observation})
        with httpx.Client(**self._options) as client:
            while (reply := _answered(client, call)) is _AWAY and time.monotonic() < until:
                time.sleep(_PAUSE_S)
        if reply is _AWAY:
            raise ConsoleError("The console cannot be reached, so the result is not recorded; call done again.")
        if reply.status >= 400:
            raise Refused(_words(reply))

    def _leave(self, question: Mapping[str, Any]) -> None:
        """Takes the check back that this question made, where the console can be heard."""
        with httpx.Client(**self._options) as client:
            check = _answered(client, _Call("POST", "checks", question))
            if check.status == 202:
                _answered(client, _Call("DELETE", f"checks/{check.document['check_id']}"))

    def _question(self, request: CheckRequest, timeout_s: float) -> dict[str, Any]:
        record = request.record
        steps = [{"thought": one.thought, "action": one.action, "observation": one.observation} for one in record.steps]
        return self._run | {
            "task": record.instruction,
            "task_id": record.task_id if request.named else None,
            "trial": record.trial,
            "steps": steps,
            "action": request.action,
            "timeout_s": max(timeout_s, 0.001),
            "tool_schema": record.extra.get(TOOL_SCHEMA),
        }


def _talk(action: str, question: Mapping[str, Any], timeout_s: float, cancel: Cancellation | None) -> _Talk:
    """Asks until there is a decision, and begins what it lets run."""
    until = time.monotonic() + timeout_s + question["undo_s"] + _GRACE_S
    call = _Call("POST", "checks", question)
    while True:
        reply = yield call
        if reply.status == 202:
            call = _next_look(reply.document["check_id"], cancel)
        elif reply.status == 200:
            break
        elif reply is not _AWAY:
            return _unreachable(action, _words(reply))
        elif time.monotonic() >= until:
            return _unreachable(action, "The console could not be reached, so nobody could look at this action.")
        else:
            # The same question is the same check, wherever the connection was lost.
            call = _Call("POST", "checks", question)
            yield _PAUSE_S
    decision = _decision(reply.document)
    if not decision.approved or decision.check_id is None:
        return decision
    return (yield from _begin(decision, until))


def _next_look(check_id: str, cancel: Cancellation | None) -> _Call:
    if cancel is not None and cancel.is_set():
        return _Call("DELETE", f"checks/{check_id}")
    return _Call("GET", f"checks/{check_id}?wait={_POLL_S if cancel is None else 1}")


def _begin(decision: GateDecision, until: float) -> _Talk:
    call = _Call("POST", f"checks/{decision.check_id}/begin")
    while (reply := (yield call)) is _AWAY:
        if time.monotonic() >= until:
            return _unreachable(
                decision.action, "The console could not be told that the action begins, so it must not."
            )
        yield _PAUSE_S
    if reply.status == 200:
        return _decision(reply.document)
    reason = _NOT_BEGUN.get(reply.status, Reason.UNREACHABLE)
    return replace(decision, approved=False, feedback=_words(reply), reason=reason)


def _unreachable(action: str, words: str) -> GateDecision:
    return GateDecision(False, action, words, Reason.UNREACHABLE)


def _decision(check: Mapping[str, Any]) -> GateDecision:
    said = check["decision"]
    known = {name: said[name] for name in ("item_id", "decision_id", "score")}
    return GateDecision(
        said["approved"] is True,
        said["action"],
        said["feedback"],
        Reason(said["reason"]),
        **known,
        check_id=check["check_id"],
    )


def _words(reply: _Reply) -> str:
    return str(reply.document.get("error") or f"The console answered {reply.status}.")


def _answered(client: httpx.Client, call: _Call) -> _Reply:
    try:
        return _read(client.request(call.method, call.path, json=call.body))
    except httpx.TransportError:
        return _AWAY


async def _answered_meanwhile(client: httpx.AsyncClient, call: _Call) -> _Reply:
    try:
        return _read(await client.request(call.method, call.path, json=call.body))
    except httpx.TransportError:
        return _AWAY


def _read(response: httpx.Response) -> _Reply:
    """The reply; what no console says, such as a proxy's page, is none."""
    try:
        document = response.json()
    except ValueError:
        return _AWAY
    is_said = isinstance(document, dict) and response.status_code < 500
    return _Reply(response.status_code, document) if is_said else _AWAY
