"""The transport of requests to one endpoint: slots, deadlines, retries, and omission of unsupported parameters.

This module implements the retries itself. The openai client does not retry garbled replies, has no deadline over all
attempts, and keeps a slot during a pause. With tenacity, every hook would still need code here (condition, pause, stop,
sleep, tally).
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

import orjson

from console.llm.endpoint import Connection, Endpoint, NotOffered, timeout_error
from console.llm.errors import ModelError
from console.llm.messages import Reply, Request, Token, Usage, read_reply
from console.llm.refusals import CHAT

ONE_CHOICE = ("n", "seed")
"""Parameters that the Responses API does not support."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 20.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a client: parallel requests, seconds per request, seconds per call with retries, and retries."""

    concurrency: int
    timeout_s: float
    deadline_s: float
    retries: int


@dataclass(slots=True)
class ClientUsage:
    """The usage of a client: requests sent (including retries), calls with a cached reply, tokens, USD."""

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
    """The state for one event loop: connections, free slots, and the requests in progress."""

    connection: Connection
    slots: asyncio.Semaphore
    out: dict[str, asyncio.Task[Reply]] = field(default_factory=dict)


@dataclass(slots=True)
class _Clock:
    """The time left before a deadline; the wait for a free slot does not count."""

    left_s: float

    @contextmanager
    def running(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.left_s -= time.monotonic() - started


class Transport:
    """The connection to one endpoint.

    `without` holds the parameters that the endpoint rejects; `lacking` holds the requested but missing parameters.
    """

    def __init__(self, endpoint: Endpoint, limits: Limits) -> None:
        self.endpoint, self.limits = endpoint, limits
        self.tally = ClientUsage()
        self.without: frozenset[str] = frozenset()
        self.lacking: frozenset[str] = frozenset()
        self._loops: dict[asyncio.AbstractEventLoop, tuple[LoopState, AsyncGenerator[LoopState, None]]] = {}

    async def loop_state(self) -> LoopState:
        """Return the state for the running event loop; loops and threads cannot share connections."""
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            for ended in [other for other in list(self._loops) if other.is_closed()]:
                del self._loops[ended]
            opened = _open_connections(self.endpoint, self.limits)
            self._loops[loop] = (await anext(opened), opened)
        return self._loops[loop][0]

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        held = self._loops.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held[1].aclose()

    async def exchange(self, request: Request) -> Reply:
        """Return the reply to one request, with retries within the deadline; raise ModelError if all attempts fail."""
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
        # Parsed after the slot is free, so that the next request starts meanwhile.
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
            raise timeout_error(self.endpoint.name, limit_s) from None


async def _open_connections(endpoint: Endpoint, limits: Limits) -> AsyncGenerator[LoopState, None]:
    """Open connections in an async generator, because an event loop closes open generators when it ends."""
    connection = endpoint.connect()
    try:
        yield LoopState(connection, asyncio.Semaphore(limits.concurrency))
    finally:
        await connection.close()


def _pause_s(failures: int, asked_s: float | None) -> float:
    """Compute the pause before a retry in seconds: the endpoint's requested pause, or a doubling pause with jitter."""
    if asked_s is not None:
        return asked_s + random.uniform(0, min(0.1, asked_s / 4))
    return float(min(_FIRST_PAUSE_S * 2 ** (failures - 1), _LONGEST_PAUSE_S)) * random.uniform(0.5, 1.0)


_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,3}|[^\w\s]|_|\n+")
_STEP = re.compile(r"^Step (\d+)", re.MULTILINE)
_SURE = -0.05
_SENTENCE = "it is what the last page of the record shows, the request names it, and nothing speaks against it."


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text, roughly proportional to the count by a model's own tokenizer."""
    return sum(1 for _ in _PIECE.finditer(text))


class Rehearsal(Transport):
    """A transport that sends nothing: it counts requests and returns plausible replies, for cost estimates."""

    async def exchange(self, request: Request) -> Reply:
        """Return an invented reply to the request."""
        self.tally.requests += 1
        chat = "\n".join(message["content"] for message in request.messages)
        # A and B are equally frequent, so that follow-up questions after each are counted in part.
        letter = "AB"[len(chat) % 2]
        text = letter if request.logprobs else _reply(chat)
        token = (Token(letter, _SURE),) if request.logprobs else None
        used = Usage(estimate_tokens(chat), request.n * estimate_tokens(text))
        return Reply((text,) * request.n, (token,) * request.n, request.model, used, ("stop",) * request.n)


_REQUEST = re.compile(r"<<<REQUEST (\w+)\n(.*?)\nREQUEST \1>>>", re.DOTALL)
_REQUIREMENT = re.compile(r"^\d+\. \w+", re.MULTILINE)
_WORDS_A_REQUIREMENT = 4


def _reply(chat: str) -> str:
    if '"further"' in chat:
        count = len(_REQUIREMENT.findall(chat))
        rows = [{"number": at + 1, "standing": "met", "quote": _SENTENCE[:40], "step": 1} for at in range(count)]
        return orjson.dumps({"lines": rows, "further": []}).decode()
    if '{"requirements"' in chat:
        return orjson.dumps({"requirements": _requirements(chat)}).decode()
    if "Step N" not in chat:
        return f"Task: buy a green kettle of one litre\nVerdict: Correct\nReason: {_SENTENCE}\nA"
    steps = max((int(number) for number in _STEP.findall(chat)), default=1)
    lines = [f"Step {number}: 0.9" for number in range(1, steps + 1)]
    return "\n".join([*lines, f"Justification: {_SENTENCE}"])


def _requirements(chat: str) -> list[dict[str, str]]:
    """Return groups of the request's words as requirements, so that the second question has lines to fill in."""
    found = _REQUEST.search(chat)
    words = found[2].split()[:200] if found else []
    quotes = (" ".join(words[at : at + _WORDS_A_REQUIREMENT]) for at in range(0, len(words), 2 * _WORDS_A_REQUIREMENT))
    return [{"kind": "attribute", "source": "request", "quote": quote, "bound_to": ""} for quote in quotes]
