"""The model client: a question is answered from the cache, joined to the same one that is already out, or paid for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from console.llm.budget import Price, Purse, load_prices, price_of
from console.llm.cache import Replies
from console.llm.endpoint import Endpoint
from console.llm.errors import ModelError, NoModel
from console.llm.messages import Message, Reply, Request, joined
from console.llm.transport import ClientUsage, Limits, LoopState, Transport


class LLM:
    """A model behind an OpenAI-compatible endpoint.

    `concurrency` requests at a time; a request may take `timeout_s`, a call with all its retries `deadline_s`.
    Replies are kept under `cache_dir` (None: nowhere). `spending_cap_usd` is checked before each call; with an
    `account` it covers every process that uses that account. Close it, or use it as `async with LLM(...) as llm`.
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
    ) -> None:
        if not model:
            raise NoModel("No model is named: set INFERACT_MODEL, or give --model.")
        self.model = model
        self._transport = Transport(Endpoint(base_url, api_key), Limits(concurrency, timeout_s, deadline_s, retries))
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
        top_p: float | None = None,
    ) -> Reply:
        """The model's reply with `n` choices: from the cache, or from the endpoint.

        Where the endpoint does not give n choices, the missing ones are asked one by one; where it gives no logprobs,
        the reply says so. The same question asked twice at once is sent once; another `take` is another question.
        Raises ModelError, SpendingCapReached and NoModel.
        """
        request = Request(
            self.model, _sendable(messages), temperature, max_tokens, n, logprobs, top_logprobs, seed, take, top_p
        )
        key = request.key(self.endpoint)
        kept = self._replies.get(key) if self._replies else None
        if kept is not None:
            self.tally.cached += 1
            return kept
        return await self._shared(await self._transport.loop_state(), key, request)

    async def _shared(self, loop_state: LoopState, key: str, request: Request) -> Reply:
        task = loop_state.out.get(key)
        if task is not None:
            self.tally.cached += 1
            return (await asyncio.shield(task)).as_cached()
        task = asyncio.create_task(self._ask(key, request))
        loop_state.out[key] = task
        task.add_done_callback(lambda done: _forget(loop_state, key, done))
        return await asyncio.shield(task)

    async def _ask(self, key: str, request: Request) -> Reply:
        try:
            reply = await self._choices(request)
        except ModelError:
            self.tally.failed += 1
            raise
        if self._replies is not None:
            self._replies.put(key, reply)
        return reply

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
