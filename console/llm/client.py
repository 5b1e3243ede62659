"""The model client: a question is answered from the cache, joined to the same one that is already out, or paid for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from console.llm.budget import Price, Purse, load_prices, price_of
from console.llm.cache import Replies
from console.llm.endpoint import Endpoint
from console.llm.errors import ModelError, NoModel, RequestRejected
from console.llm.messages import Message, Reply, Request, joined, last_of
from console.llm.transport import ClientUsage, Limits, LoopState, Transport

LONGEST_REPLY = 16_384
"""Tokens beyond which no reply is let grow."""
_GROWTH, _GROWTH_OF_SILENCE = 4, 16
"""A reply that says nothing yet spends its tokens on reasoning, of which there is more."""


class LLM:
    """A model behind an OpenAI-compatible endpoint.

    `concurrency` requests at a time; a request may take `timeout_s`, a call with all its retries `deadline_s`.
    Replies are kept under `cache_dir` (None: nowhere). `spending_cap_usd` is checked before each call; with an
    `account` it covers every process that uses that account. `reasoning_effort` (low, medium, high ...) is asked of
    models that take it. Another `transport` may answer in the endpoint's place; without `keep` its replies do not enter
    the cache. Close it, or use it as `async with LLM(...) as llm`.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int = 8,
        cache_dir: Path | None = None,
        timeout_s: float = 60.0,
        deadline_s: float = 180.0,
        retries: int = 5,
        spending_cap_usd: float | None = None,
        account: str | None = None,
        prices: dict[str, Price] | None = None,
        reasoning_effort: str | None = None,
        transport: Callable[[Endpoint, Limits], Transport] = Transport,
        keep: bool = True,
    ) -> None:
        if not model:
            raise NoModel("No model is named: set INFERACT_MODEL, or give --model.")
        self.model = model
        self.reasoning_effort = reasoning_effort
        self._room = 0
        self._keep = keep
        self._transport = transport(Endpoint(base_url, api_key), Limits(concurrency, timeout_s, deadline_s, retries))
        self._price = price_of(load_prices() if prices is None else prices, model)
        self._replies = Replies(cache_dir) if cache_dir else None
        self._purse = Purse(spending_cap_usd, account, self._replies)

    def __repr__(self) -> str:
        return f"LLM({self.model} at {self.endpoint})"

    @property
    def endpoint(self) -> str:
        """The endpoint's address, without anything secret."""
        return self._transport.endpoint.name

    @property
    def tally(self) -> ClientUsage:
        """What this client has done so far."""
        return self._transport.tally

    @property
    def price(self) -> Price | None:
        """What the model's tokens cost, None where nobody knows."""
        return self._price

    @property
    def lacking(self) -> tuple[str, ...]:
        """The parameters that were wanted and that the endpoint did not give."""
        return tuple(sorted(self._transport.lacking))

    @property
    def spent_usd(self) -> float:
        """What was spent so far, by the whole account where it has one."""
        return self._purse.spent_usd

    async def __aenter__(self) -> LLM:
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections and the cache."""
        await self._transport.aclose()
        if self._replies is not None:
            self._replies.close()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        temperature: float = 0.0,
        max_tokens: int = 512,
        n: int = 1,
        logprobs: bool = False,
        top_logprobs: int | None = None,
        seed: int | None = None,
        take: int = 0,
        schema: Mapping[str, Any] | None = None,
        enough: Callable[[str], object] = str.strip,
        top_p: float | None = None,
    ) -> Reply:
        """The model's reply with `n` choices: from the cache, or from the endpoint.

        A reply that was cut by its length and does not say `enough` is asked for again with more tokens. Where the
        endpoint does not give n choices, the missing ones are asked one by one; where it gives no logprobs or takes no
        `schema` (JSON), the reply says so. The same question asked twice at once is sent once; another `take` is
        another question. Raises ModelError, SpendingCapReached and NoModel.
        """
        asked = (temperature, max_tokens, n, logprobs, top_logprobs, seed, take, self.reasoning_effort, schema, top_p)
        request = Request(self.model, _sendable(messages), *asked)
        key = request.key(self.endpoint)
        kept = self._replies.get(key) if self._replies else None
        if kept is not None:
            self.tally.cached += 1
            return kept
        return await self._shared(await self._transport.loop_state(), key, request, enough)

    async def _shared(
        self, loop_state: LoopState, key: str, request: Request, enough: Callable[[str], object]
    ) -> Reply:
        task = loop_state.out.get(key)
        if task is not None:
            self.tally.cached += 1
            return (await asyncio.shield(task)).as_cached()
        task = asyncio.create_task(self._ask(key, request, enough))
        loop_state.out[key] = task
        task.add_done_callback(lambda done: _forget(loop_state, key, done))
        return await asyncio.shield(task)

    async def _ask(self, key: str, request: Request, enough: Callable[[str], object]) -> Reply:
        try:
            reply = await self._long_enough(request, enough)
        except ModelError:
            self.tally.failed += 1
            raise
        if self._replies is not None and self._keep and not reply.is_empty:
            self._replies.put(key, reply)
        return reply

    async def _long_enough(self, request: Request, enough: Callable[[str], object]) -> Reply:
        """The reply; where its length cut it short, that of a request for more. The room it took is remembered."""
        request = replace(request, max_tokens=max(request.max_tokens, self._room))
        replies = [await self._choices(request)]
        while replies[-1].is_cut and request.max_tokens < LONGEST_REPLY and not all(map(enough, replies[-1].texts)):
            growth = _GROWTH_OF_SILENCE if replies[-1].is_empty else _GROWTH
            request = replace(request, max_tokens=min(growth * request.max_tokens, LONGEST_REPLY))
            try:
                replies.append(await self._choices(request))
            except RequestRejected:
                # The model gives no more than that.
                break
            self._room = max(self._room, request.max_tokens)
        return last_of(replies)

    async def _choices(self, request: Request) -> Reply:
        """A reply with all the choices, however many requests that takes."""
        first = [await self._pay(request)] if request.n == 1 or "n" not in self._transport.without else []
        got = sum(len(reply.texts) for reply in first)
        if got >= request.n:
            return first[0]
        self._transport.without |= {"n"}
        singles = request.singles(request.n - got, got)
        others = await asyncio.gather(*(self._pay(single) for single in singles), return_exceptions=True)
        for other in others:
            if isinstance(other, BaseException):
                raise other
        whole = joined([*first, *(other for other in others if isinstance(other, Reply))])
        return replace(whole, without=tuple(sorted({*whole.without, "n"})))

    async def _pay(self, request: Request) -> Reply:
        with self._purse.reserving(request, self._price) as bill:
            reply = await self._transport.exchange(request)
            cost = self._price.cost_usd(reply.usage) if self._price else None
            bill.usd = cost or 0.0
        self.tally.prompt_tokens += reply.usage.prompt_tokens
        self.tally.completion_tokens += reply.usage.completion_tokens
        self.tally.cost_usd += cost or 0.0
        return replace(reply, cost_usd=cost)


def _sendable(messages: Sequence[Message]) -> tuple[Message, ...]:
    # Logs hold halves of surrogate pairs, which have no form in UTF-8.
    return tuple({name: text.encode("utf-8", "replace").decode() for name, text in each.items()} for each in messages)


def _forget(loop_state: LoopState, key: str, done: asyncio.Task[Reply]) -> None:
    loop_state.out.pop(key, None)
    if not done.cancelled():
        # Whoever asked may be gone; the error is theirs, not the event loop's.
        done.exception()
