"""The transport of requests to one endpoint: free slots, deadlines, retries, leaving out what is not offered.

The retries are our own. The openai client knows neither garbled replies nor a deadline over all attempts, and would
hold the slot while it pauses; with tenacity each hook (what counts, pause, stop, sleep, tally) would still be ours.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

from console.llm.endpoint import Connection, Endpoint, NotOffered, too_slow
from console.llm.errors import ModelError
from console.llm.messages import Reply, Request
from console.llm.refusals import CHAT
from console.llm.response import read_reply

ONE_CHOICE = ("n", "seed")
"""What the Responses API does not know."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 20.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How many requests at a time, how long one may take, how long a call with all its retries, and how many those."""

    concurrency: int
    timeout_s: float
    deadline_s: float
    retries: int


@dataclass(slots=True)
class ClientUsage:
    """What a client has done: requests sent (again-sent ones included), calls answered from the cache, tokens, USD."""

    requests: int = 0
    retries: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: ClientUsage) -> ClientUsage:
        return ClientUsage(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


@dataclass(slots=True)
class LoopState:
    """What belongs to one event loop: connections, free slots, and the questions that are out."""

    connection: Connection
    slots: asyncio.Semaphore
    out: dict[str, asyncio.Task[Reply]] = field(default_factory=dict)


@dataclass(slots=True)
class _Clock:
    """Time left of a call's deadline; waiting for a free slot does not count."""

    left_s: float

    @contextmanager
    def running(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.left_s -= time.monotonic() - started


class Transport:
    """The way to one endpoint. `without` grows by each parameter that the endpoint turns out not to take.

    `lacking` are those that were wanted and not given, whether refused or passed over in silence.
    """

    def __init__(self, endpoint: Endpoint, limits: Limits) -> None:
        self.endpoint, self.limits = endpoint, limits
        self.tally = ClientUsage()
        self.without: frozenset[str] = frozenset()
        self.lacking: frozenset[str] = frozenset()
        self._loops: dict[asyncio.AbstractEventLoop, tuple[LoopState, AsyncGenerator[LoopState, None]]] = {}

    async def loop_state(self) -> LoopState:
        """What the running event loop has of connections; loops, and threads with their loops, cannot share them."""
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            for ended in [other for other in list(self._loops) if other.is_closed()]:
                del self._loops[ended]
            opened = _opened(self.endpoint, self.limits)
            self._loops[loop] = (await anext(opened), opened)
        return self._loops[loop][0]

    async def aclose(self) -> None:
        """Closes the connections of the running event loop."""
        held = self._loops.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held[1].aclose()

    async def exchange(self, request: Request) -> Reply:
        """The reply to one request, sent again where that helps and the deadline allows; raises ModelError."""
        clock, failures = _Clock(self.limits.deadline_s), 0
        while True:
            try:
                return await self._once(request, clock)
            except NotOffered as refusal:
                also = ONE_CHOICE if refusal.parameter == CHAT else ()
                self.without |= {refusal.parameter, *also}
            except ModelError as failure:
                failures += 1
                pause_s = _pause_s(failures, failure.retry_after_s)
                if not failure.retryable or failures > self.limits.retries or pause_s >= clock.left_s:
                    raise
                self.tally.retries += 1
                with clock.running():
                    await asyncio.sleep(pause_s)

    async def _once(self, request: Request, clock: _Clock) -> Reply:
        loop_state = await self.loop_state()
        async with loop_state.slots:
            without = self.without
            body = request.body(without)
            self.tally.requests += 1
            started = time.perf_counter()
            with clock.running():
                content = await self._within(loop_state, body, min(self.limits.timeout_s, clock.left_s))
            latency_ms = (time.perf_counter() - started) * 1_000
        # Read after the slot is free: the next request is on its way meanwhile.
        reply = read_reply(content, request.model)
        lacking = frozenset() if reply.has_logprobs or not request.logprobs else frozenset({"logprobs"})
        missing = request.left_out(without) | lacking
        self.lacking |= missing
        return replace(reply, latency_ms=latency_ms, without=tuple(sorted(missing)))

    async def _within(self, loop_state: LoopState, body: dict[str, Any], limit_s: float) -> bytes:
        try:
            async with asyncio.timeout(limit_s):
                return await loop_state.connection.post(body, limit_s)
        except TimeoutError:
            raise too_slow(self.endpoint.name, limit_s) from None


async def _opened(endpoint: Endpoint, limits: Limits) -> AsyncGenerator[LoopState, None]:
    """Connections that a loop which ends closes by itself, as it does with every generator that is left open."""
    connection = endpoint.connect()
    try:
        yield LoopState(connection, asyncio.Semaphore(limits.concurrency))
    finally:
        await connection.close()


def _pause_s(failures: int, asked_s: float | None) -> float:
    """How long to wait: what the endpoint asks for, or twice as long each time; in both cases not all at once."""
    if asked_s is not None:
        return asked_s + random.uniform(0, min(0.1, asked_s / 4))
    return float(min(_FIRST_PAUSE_S * 2 ** (failures - 1), _LONGEST_PAUSE_S)) * random.uniform(0.5, 1.0)
