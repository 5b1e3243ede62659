"""The client of a served console: submits a check over HTTP, waits for its decision and begins the action.

Any failure becomes a decision that does not allow the action, with the reason `unreachable`. After a lost connection,
the client repeats the same request, which the console treats as the same check, until the deadline of the check. The
client does not retry if the console refuses the request (a wrong token, a run of another kind).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from console.errors import BadInput, ConsoleError, Refused
from console.gate.checks import Cancellation
from console.gate.policy.rules import DEADLINE_S, MAX_DEADLINE_S, UNDO_S
from console.gate.request import CheckRequest
from console.gate.resolve import STILL_WAITS
from console.gate.types import GateDecision, Reason
from console.review.edits import TOOL_SCHEMA

_POLL_S = 5
_ANSWER_S = 30
"""Seconds that a reply may take beyond the requested wait."""
_PAUSE_S = 0.3
_GRACE_S = 15
"""Seconds after the deadline; if the console is still unreachable then, the check counts as ended."""
_OVERLAP_S = 1.0
"""Seconds within which the end of the agent's wait and the deadline of the check count as one."""
_DONE_S = 60
_NOT_BEGUN = {403: Reason.DENIED, 409: Reason.ALREADY_HANDED_OUT, 410: Reason.VOID}


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    path: str
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Reply:
    """The console's reply; status 0 means that the console cannot be reached now."""

    status: int
    document: Mapping[str, Any]


_AWAY = _Reply(0, {})
_Talk = Generator[_Call | float, _Reply, GateDecision]
"""A generator of calls, to be resumed with their replies, and of pauses in seconds; it returns the decision."""


class ServedConsole:
    """A served console, used by one agent for one run; raise BadInput if no token is given."""

    def __init__(self, address: str, token: str | None, run: Mapping[str, Any]) -> None:
        if not token:
            raise BadInput("A served console needs the agent's token. Create a token: inferact agent add NAME")
        self.address, self._run = address.rstrip("/"), dict(run)
        # Proxies and .netrc of the agent's shell must not come between the agent and its console.
        self._options: dict[str, Any] = {
            "base_url": f"{self.address}/api/v1/",
            "headers": {"Authorization": f"Bearer {token}"},
            "timeout": _POLL_S + _ANSWER_S,
            "trust_env": False,
        }

    def check(self, request: CheckRequest, timeout_s: float | None, cancel: Cancellation | None) -> GateDecision:
        """Return the decision on a request; if the decision allows the action, begin the action.

        After `timeout_s`, return a timeout; if a rule sets a longer deadline, the check stays open.
        """
        question = self._question(request, timeout_s)
        talk, reply = _talk(request.action, question, timeout_s, cancel), _AWAY
        with httpx.Client(**self._options) as client:
            try:
                step = next(talk)
                while True:
                    if isinstance(step, float):
                        time.sleep(step)
                    else:
                        reply = _send(client, step)
                    step = talk.send(reply)
            except StopIteration as end:
                decision: GateDecision = end.value
                return decision
            except KeyboardInterrupt:
                self._withdraw_check(question)
                raise

    async def acheck(self, request: CheckRequest, timeout_s: float | None, cancel: Cancellation | None) -> GateDecision:
        """Like `check`, without blocking the event loop; if the asyncio task is cancelled, withdraw its check."""
        question = self._question(request, timeout_s)
        talk, reply = _talk(request.action, question, timeout_s, cancel), _AWAY
        async with httpx.AsyncClient(**self._options) as client:
            try:
                step = next(talk)
                while True:
                    if isinstance(step, float):
                        await asyncio.sleep(step)
                    else:
                        reply = await _send_async(client, step)
                    step = talk.send(reply)
            except StopIteration as end:
                decision: GateDecision = end.value
                return decision
            except asyncio.CancelledError:
                await asyncio.shield(asyncio.to_thread(self._withdraw_check, question))
                raise

    def done(self, check_id: str, observation: str) -> None:
        """Record the result; raise Refused if the console rejects it, ConsoleError if unreachable for a minute."""
        until = time.monotonic() + _DONE_S
        call = _Call("POST", f"checks/{check_id}/result", {"observation": observation})
        with httpx.Client(**self._options) as client:
            while (reply := _send(client, call)) is _AWAY and time.monotonic() < until:
                time.sleep(_PAUSE_S)
        if reply is _AWAY:
            raise ConsoleError("Cannot reach the console, so the result is not recorded; call done again.")
        if reply.status >= 400:
            raise Refused(_error_text(reply))

    def _withdraw_check(self, question: Mapping[str, Any]) -> None:
        with httpx.Client(**self._options) as client:
            check = _send(client, _Call("POST", "checks", question))
            if check.status == 202:
                _send(client, _Call("DELETE", f"checks/{check.document['check_id']}"))

    def _question(self, request: CheckRequest, timeout_s: float | None) -> dict[str, Any]:
        record = request.record
        steps = [{"thought": one.thought, "action": one.action, "observation": one.observation} for one in record.steps]
        return self._run | {
            "task": record.instruction,
            "task_id": record.task_id if request.named else None,
            "trial": record.trial,
            "steps": steps,
            "action": request.action,
            "timeout_s": None if timeout_s is None else max(timeout_s, 0.001),
            "tool_schema": record.extra.get(TOOL_SCHEMA),
        }


def _talk(action: str, question: Mapping[str, Any], timeout_s: float | None, cancel: Cancellation | None) -> _Talk:
    """Repeat calls until there is a decision; if the decision allows the action, begin the action."""
    leaves = time.monotonic() + (MAX_DEADLINE_S if timeout_s is None else timeout_s)
    grace_s = (question["undo_s"] or UNDO_S) + _GRACE_S
    until = time.monotonic() + (DEADLINE_S if timeout_s is None else timeout_s) + grace_s
    call = _Call("POST", "checks", question)
    while True:
        reply = yield call
        if reply.status == 202:
            check_id, left_s = reply.document["check_id"], float(reply.document.get("seconds_left") or 0.0)
            own_s = leaves - time.monotonic()
            if own_s <= 0 and left_s > _OVERLAP_S and not (cancel is not None and cancel.is_set()):
                return GateDecision(False, action, STILL_WAITS, Reason.TIMEOUT, check_id=check_id)
            until = max(until, time.monotonic() + min(left_s, max(own_s, 0)) + grace_s)
            call = _next_look(check_id, cancel, max(own_s, _OVERLAP_S))
        elif reply.status == 200:
            break
        elif reply is not _AWAY:
            return _unreachable(action, _error_text(reply))
        elif time.monotonic() >= until:
            return _unreachable(action, "The console could not be reached, so no one reviewed this action.")
        else:
            # The console treats the same request as the same check, so it is safe to repeat.
            call = _Call("POST", "checks", question)
            yield _PAUSE_S
    decision = _decision(reply.document)
    if not decision.approved or decision.check_id is None:
        return decision
    return (yield from _begin(decision, until))


def _next_look(check_id: str, cancel: Cancellation | None, own_s: float) -> _Call:
    if cancel is not None and cancel.is_set():
        return _Call("DELETE", f"checks/{check_id}")
    return _Call("GET", f"checks/{check_id}?wait={min(_POLL_S if cancel is None else 1, own_s):g}")


def _begin(decision: GateDecision, until: float) -> _Talk:
    call = _Call("POST", f"checks/{decision.check_id}/begin")
    while (reply := (yield call)) is _AWAY:
        if time.monotonic() >= until:
            return _unreachable(
                decision.action, "The console could not be reached before the action began, so it must not run."
            )
        yield _PAUSE_S
    if reply.status == 200:
        return _decision(reply.document)
    reason = _NOT_BEGUN.get(reply.status, Reason.UNREACHABLE)
    return replace(decision, approved=False, feedback=_error_text(reply), reason=reason)


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


def _error_text(reply: _Reply) -> str:
    return str(reply.document.get("error") or f"The console answered {reply.status}.")


def _send(client: httpx.Client, call: _Call) -> _Reply:
    try:
        return _parse_reply(client.request(call.method, call.path, json=call.body))
    except httpx.TransportError:
        return _AWAY


async def _send_async(client: httpx.AsyncClient, call: _Call) -> _Reply:
    try:
        return _parse_reply(await client.request(call.method, call.path, json=call.body))
    except httpx.TransportError:
        return _AWAY


def _parse_reply(response: httpx.Response) -> _Reply:
    """Parse a reply; treat a reply that no console sends, such as a proxy's page, as a lost connection."""
    try:
        document = response.json()
    except ValueError:
        return _AWAY
    is_said = isinstance(document, dict) and response.status_code < 500
    return _Reply(response.status_code, document) if is_said else _AWAY
