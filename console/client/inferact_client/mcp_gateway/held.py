"""Checks that stay pending between repeated calls of the agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field

from inferact_client.decision import UNREACHABLE, Check, Decision
from inferact_client.errors import ClientError, ConsoleAway
from inferact_client.gate import Gate

_LOOK_S, _PROGRESS_S, _WITHDRAW_S = 10.0, 2.0, 20.0


@dataclass
class _Held:
    task: asyncio.Task[Decision] | None = None
    waiters: int = 0
    left_s: float = field(default_factory=time.monotonic)


class HeldChecks:
    """The pending checks of a gateway, each bound to its call."""

    def __init__(self, gate: Gate, hold_s: float, return_s: float) -> None:
        self._gate, self._hold_s, self._return_s = gate, hold_s, return_s
        self._held: dict[Hashable, _Held] = {}

    async def decide(
        self, call: Hashable, submit: Callable[[], Awaitable[Check]], progress: Callable[[float], Awaitable[None]]
    ) -> Decision | None:
        """Return the decision on the call, or None if a person has not decided within `hold_s`.

        A repeated call uses the same check. If the asyncio task is cancelled, withdraw the check, unless another
        call waits for it. `progress` gets the seconds waited.
        """
        held = self._held.get(call)
        if held is None:
            held = self._held[call] = _Held()
            held.task = asyncio.create_task(self._keep(call, held, submit))
        assert held.task is not None
        held.waiters += 1
        started = time.monotonic()
        try:
            while (waited := time.monotonic() - started) < self._hold_s:
                await asyncio.wait({held.task}, timeout=min(_PROGRESS_S, self._hold_s - waited))
                if held.task.done():
                    self._forget(call, held)
                    return held.task.result()
                with suppress(Exception):
                    await progress(time.monotonic() - started)
        except asyncio.CancelledError:
            if held.waiters == 1:
                self._forget(call, held)
                held.task.cancel()
            raise
        finally:
            held.waiters -= 1
            held.left_s = time.monotonic()
        return None

    async def withdraw_all(self) -> None:
        """Withdraw every pending check."""
        tasks = {held.task for held in self._held.values() if held.task is not None}
        self._held.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_WITHDRAW_S)

    def _forget(self, call: Hashable, held: _Held) -> None:
        if self._held.get(call) is held:
            del self._held[call]

    async def _keep(self, call: Hashable, held: _Held, submit: Callable[[], Awaitable[Check]]) -> Decision:
        """Submit the check and wait for its decision; withdraw it if cancelled or if no call is repeated."""
        check: Check | None = None
        try:
            check = await submit()
            while check.decision is None:
                if not held.waiters and time.monotonic() - held.left_s > self._return_s:
                    check = await self._gate.awithdraw(check.check_id or "")
                    self._forget(call, held)
                else:
                    check = await self._gate.afetch(check.check_id or "", wait_s=_LOOK_S)
            return check.decision
        except ConsoleAway as away:
            return Decision(False, "", str(away), UNREACHABLE, check_id=check.check_id if check is not None else None)
        except asyncio.CancelledError:
            await self._withdraw(check, submit)
            raise

    async def _withdraw(self, check: Check | None, submit: Callable[[], Awaitable[Check]]) -> None:
        """Withdraw a check; if its reply was lost, submit it again, which returns the same check."""
        with suppress(ClientError, asyncio.TimeoutError):
            check = check or await asyncio.wait_for(submit(), _WITHDRAW_S)
            if check.check_id is not None and check.decision is None:
                await asyncio.wait_for(self._gate.awithdraw(check.check_id), _WITHDRAW_S)
