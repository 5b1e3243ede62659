"""A gate on a served console, over HTTP."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from inferact_client.decision import REFUSED, Check, Decision, read_check
from inferact_client.errors import CheckRefused, ClientError, ConsoleAway
from inferact_client.talk import ANSWER_S, AWAY, PAUSE_S, Call, Cancellation, Reply, ask, begin, person_s, spare_s
from inferact_client.transport import Connection

_DONE_S, _WITHDRAW_S, _LONGEST_WAIT_S = 60.0, 5.0, 60.0


class Served:
    """The checks of one agent in one run of a served console; raise ClientError if address or token is unusable."""

    def __init__(self, url: str, token: str | None, settings: Mapping[str, Any]) -> None:
        self._connection, self._settings = Connection(url, token), dict(settings)

    def check(self, asked: Mapping[str, Any], deadline_s: float, cancel: Cancellation | None) -> Decision:
        """Return the decision within `deadline_s`; on Ctrl+C, withdraw the check."""
        ends = time.monotonic() + deadline_s - spare_s(deadline_s)
        question, action = self._question(asked, person_s(deadline_s, self._settings["undo_s"])), _text(asked["action"])
        if (problem := _problem(question)) is not None:
            return Decision(False, action, problem, REFUSED)
        return self._connection.run(ask(question, action, ends, cancel), ends, lambda: self._withdraw_asked(question))

    async def acheck(self, asked: Mapping[str, Any], deadline_s: float, cancel: Cancellation | None) -> Decision:
        """Return the decision within `deadline_s`; if the asyncio task is cancelled, withdraw the check."""
        ends = time.monotonic() + deadline_s - spare_s(deadline_s)
        question, action = self._question(asked, person_s(deadline_s, self._settings["undo_s"])), _text(asked["action"])
        if (problem := _problem(question)) is not None:
            return Decision(False, action, problem, REFUSED)
        try:
            return await self._connection.arun(ask(question, action, ends, cancel), ends)
        except asyncio.CancelledError:
            # Not `to_thread`: an event loop that ends now cancels a task before its first step.
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._withdraw_asked, question))
            raise

    def submit(self, asked: Mapping[str, Any], expires_s: float | None, deadline_s: float) -> Check:
        """Submit a check; raise CheckRefused if the console refuses the check, ConsoleAway if it is unreachable."""
        question = self._question(asked, expires_s)
        if (problem := _problem(question)) is not None:
            raise CheckRefused(problem)
        return self._insist(Call("POST", "checks", question), deadline_s)

    def fetch(self, check_id: str, wait_s: float, deadline_s: float) -> Check:
        """Return a check after at most `wait_s` seconds; raise CheckRefused if unknown, ConsoleAway if unreachable."""
        ends = time.monotonic() + wait_s
        while True:
            left = max(min(ends - time.monotonic(), _LONGEST_WAIT_S), 0.0)
            check = self._insist(Call("GET", f"checks/{_path(check_id)}?wait={left:.3g}"), deadline_s + left)
            if check.decision is not None or time.monotonic() >= ends:
                return check

    async def asubmit(self, asked: Mapping[str, Any], expires_s: float | None, deadline_s: float) -> Check:
        """Submit a check without blocking the event loop; raise the errors of `submit`."""
        question = self._question(asked, expires_s)
        if (problem := _problem(question)) is not None:
            raise CheckRefused(problem)
        return self._read(await self._areply(Call("POST", "checks", question), deadline_s))

    async def afetch(self, check_id: str, wait_s: float, deadline_s: float) -> Check:
        """Return a check like `fetch`, without blocking the event loop."""
        ends = time.monotonic() + wait_s
        while True:
            left = max(min(ends - time.monotonic(), _LONGEST_WAIT_S), 0.0)
            call = Call("GET", f"checks/{_path(check_id)}?wait={left:.3g}", patience_s=left + ANSWER_S)
            check = self._read(await self._areply(call, deadline_s + left))
            if check.decision is not None or time.monotonic() >= ends:
                return check

    async def abegin(self, decision: Decision, deadline_s: float) -> Decision:
        """Record that the action begins, without blocking the event loop; return the valid decision."""
        ends = time.monotonic() + deadline_s
        return await self._connection.arun(begin(decision, ends), ends)

    async def awithdraw(self, check_id: str, deadline_s: float) -> Check:
        """Withdraw a check without blocking the event loop; raise the errors of `withdraw`."""
        return self._read(await self._areply(Call("DELETE", f"checks/{_path(check_id)}"), deadline_s))

    def begin(self, decision: Decision, deadline_s: float) -> Decision:
        """Record that the action begins; return the valid decision."""
        ends = time.monotonic() + deadline_s
        return self._connection.run(begin(decision, ends), ends)

    def withdraw(self, check_id: str, deadline_s: float) -> Check:
        """Withdraw a check; raise CheckRefused if the console refuses, ConsoleAway if the console is unreachable."""
        return self._insist(Call("DELETE", f"checks/{_path(check_id)}"), deadline_s)

    def done(self, check_id: str, observation: str) -> None:
        """Record a result; raise CheckRefused, or ConsoleAway after a minute."""
        body = {"observation": observation}
        if (problem := _problem(body)) is not None:
            raise CheckRefused(problem)
        self._reply(Call("POST", f"checks/{_path(check_id)}/result", body), _DONE_S)

    def close(self) -> None:
        """Close the connections of this process."""
        self._connection.close()

    def _insist(self, call: Call, deadline_s: float) -> Check:
        return self._read(self._reply(call, deadline_s))

    def _read(self, reply: Reply) -> Check:
        try:
            return read_check(reply.document)
        except (KeyError, TypeError, ValueError, AttributeError) as strange:
            raise ConsoleAway(f"{self._connection.address} is not a review console. Check the address.") from strange

    def _reply(self, call: Call, seconds: float) -> Reply:
        ends = time.monotonic() + seconds
        while (reply := self._connection.send(call, ends)) is AWAY and time.monotonic() < ends:
            time.sleep(PAUSE_S)
        return self._answered(reply)

    async def _areply(self, call: Call, seconds: float) -> Reply:
        ends = time.monotonic() + seconds
        async with self._connection.lease() as client:
            while (reply := await self._connection.asend(client, call, ends)) is AWAY and time.monotonic() < ends:
                await asyncio.sleep(PAUSE_S)
        return self._answered(reply)

    def _answered(self, reply: Reply) -> Reply:
        """Return the reply; raise ConsoleAway if no reply came, CheckRefused if the reply is a refusal."""
        if reply is AWAY:
            raise ConsoleAway(f"Cannot reach the console at {self._connection.address}. Call again later.")
        if reply.status >= 400:
            raise CheckRefused(reply.error)
        return reply

    def _withdraw_asked(self, question: Mapping[str, Any]) -> None:
        ends = time.monotonic() + _WITHDRAW_S
        check = self._connection.send(Call("POST", "checks", question), ends)
        if check.status == 202:
            self._connection.send(Call("DELETE", f"checks/{check.document.get('check_id')}"), ends)

    def _question(self, asked: Mapping[str, Any], person: float | None) -> dict[str, Any]:
        return self._settings | dict(asked) | {"timeout_s": person}


def _problem(body: object) -> str | None:
    """Return the reason why the body cannot be sent as JSON, or None if it can."""
    try:
        json.dumps(body, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError) as unreadable:
        return f"The request cannot be written as JSON ({unreadable}). Use JSON values only."
    return None


def _text(action: object) -> str:
    if isinstance(action, Mapping):
        arguments = action.get("arguments", {})
        given = arguments if isinstance(arguments, str) else json.dumps(arguments, sort_keys=True, default=str)
        return f"{action.get('name')}({given})"
    return str(action)


def _path(check_id: str) -> str:
    if not check_id.isalnum() or not check_id.isascii():
        raise ClientError(f"{check_id!r} is not the id of a check. Use the id of a submitted check.")
    return check_id
