"""The model client: a call gets its reply from the cache, from an equal call in progress, or from a paid request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from console.llm.budget import Price, SpendingAccount, find_price, load_prices
from console.llm.cache import Replies
from console.llm.declined import find_refusal
from console.llm.endpoint import Endpoint
from console.llm.errors import ModelError, NoModel, RequestRejected, SpendingCapReached
from console.llm.messages import GREEDY, PROBE, Message, Reply, Request, Sampling, join_replies, merge_retries
from console.llm.transport import ClientUsage, Limits, LoopState, Transport
from console.settings import settings

LONGEST_REPLY = 16_384
"""The maximum length of a reply, in tokens."""
_GROWTH, _GROWTH_OF_SILENCE = 4, 16
"""Factors of the token limit after a cut reply, and after an empty reply that used all its tokens for reasoning."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Options of a model client: the endpoint, its limits, the cache and the budget.

    `timeout_s` limits one request, and `deadline_s` one call with all its retries, in seconds. `cache_dir`, if set, is
    a folder or a URL that stores replies unless `keep` is false. The client checks `spending_cap_usd` before each call,
    over all processes with the same `account`. `reasoning_effort` (low, medium, high ...) applies to models that
    accept it.
    """

    base_url: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = 8
    cache_dir: Path | str | None = None
    timeout_s: float = 60.0
    deadline_s: float = 180.0
    retries: int = 5
    spending_cap_usd: float | None = None
    account: str | None = None
    prices: dict[str, Price] | None = None
    reasoning_effort: str | None = None
    transport: Callable[[Endpoint, Limits], Transport] = Transport
    keep: bool = True


class LLM:
    """A model behind an OpenAI-compatible endpoint. Close the client, or use `async with LLM(...) as llm`."""

    def __init__(self, model: str, options: ClientOptions | None = None) -> None:
        if not model:
            raise NoModel("No model is set. Set INFERACT_MODEL, or name a model.")
        chosen = options or ClientOptions()
        self.model = model
        self.reasoning_effort = chosen.reasoning_effort
        self._tokens_needed = 0
        self._keep = chosen.keep
        limits = Limits(chosen.concurrency, chosen.timeout_s, chosen.deadline_s, chosen.retries)
        self._transport = chosen.transport(Endpoint(chosen.base_url, chosen.api_key), limits)
        self.price = find_price(load_prices() if chosen.prices is None else chosen.prices, model)
        self._replies = Replies(chosen.cache_dir) if chosen.cache_dir else None
        self._spending = SpendingAccount(chosen.spending_cap_usd, chosen.account, self._replies)

    def __repr__(self) -> str:
        return f"LLM({self.model} at {self.endpoint})"

    @property
    def endpoint(self) -> str:
        """The address of the endpoint, without secrets."""
        return self._transport.endpoint.name

    @property
    def tally(self) -> ClientUsage:
        """The usage of this client so far."""
        return self._transport.tally

    @property
    def lacking(self) -> tuple[str, ...]:
        """The requested parameters that the endpoint did not provide."""
        return tuple(sorted(self._transport.lacking))

    @property
    def spent_usd(self) -> float:
        """The amount spent so far in USD, by the whole account if an account is set."""
        return self._spending.spent_usd

    async def __aenter__(self) -> LLM:
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections and the cache."""
        await self._transport.aclose()
        if self._replies is not None:
            self._replies.close()

    async def complete(
        self,
        messages: Sequence[Message],
        sampling: Sampling = GREEDY,
        *,
        schema: Mapping[str, Any] | None = None,
        is_complete: Callable[[str], object] = str.strip,
    ) -> Reply:
        """Return the model's reply from the cache or from the endpoint.

        If the length limit cuts a reply, request it again with more tokens; request missing choices one by one. Send
        equal simultaneous requests once. `without` of the reply lists features that the endpoint does not offer. Raise
        ModelError if no usable reply arrives, SpendingCapReached if the cap does not cover the call, or NoModel without
        address and key.
        """
        options = asdict(sampling) | {"reasoning_effort": self.reasoning_effort, "schema": schema}
        request = Request(self.model, _encodable(messages), **options)
        key = request.key(self.endpoint)
        kept = self._replies.get(key) if self._replies else None
        if kept is not None:
            self.tally.cached += 1
            return kept
        loop_state = await self._transport.loop_state()
        if (task := loop_state.out.get(key)) is not None:
            self.tally.cached += 1
            return (await asyncio.shield(task)).as_cached()
        task = asyncio.create_task(self._ask(key, request, is_complete))
        loop_state.out[key] = task
        task.add_done_callback(lambda done: _forget(loop_state, key, done))
        return await asyncio.shield(task)

    async def _ask(self, key: str, request: Request, is_complete: Callable[[str], object]) -> Reply:
        try:
            reply = await self._long_enough(request, is_complete)
        except ModelError:
            self.tally.failed += 1
            raise
        if self._replies is not None and self._keep and not (reply.is_empty or find_refusal(reply)):
            self._replies.put(key, reply)
        return reply

    async def _long_enough(self, request: Request, is_complete: Callable[[str], object]) -> Reply:
        """Return a complete reply; request more tokens after a cut reply, and remember the required number."""
        request = replace(request, max_tokens=max(request.max_tokens, self._tokens_needed))
        replies = [await self._choices(request)]
        while (
            replies[-1].is_cut and request.max_tokens < LONGEST_REPLY and not all(map(is_complete, replies[-1].texts))
        ):
            growth = _GROWTH_OF_SILENCE if replies[-1].is_empty else _GROWTH
            request = replace(request, max_tokens=min(growth * request.max_tokens, LONGEST_REPLY))
            try:
                replies.append(await self._choices(request))
            except RequestRejected:
                # The model does not accept a larger limit.
                break
            self._tokens_needed = max(self._tokens_needed, request.max_tokens)
        return merge_retries(replies)

    async def _choices(self, request: Request) -> Reply:
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
        whole = join_replies([*first, *(other for other in others if isinstance(other, Reply))])
        return replace(whole, without=tuple(sorted({*whole.without, "n"})))

    async def _pay(self, request: Request) -> Reply:
        with self._spending.reserving(request, self.price) as bill:
            reply = await self._transport.exchange(request)
            cost = self.price.cost_usd(reply.usage) if self.price else None
            bill.usd = cost or 0.0
        self.tally.prompt_tokens += reply.usage.prompt_tokens
        self.tally.completion_tokens += reply.usage.completion_tokens
        self.tally.cost_usd += cost or 0.0
        paid = replace(reply, cost_usd=cost)
        self._spending.count(paid)
        return paid


def _encodable(messages: Sequence[Message]) -> tuple[Message, ...]:
    # Logs contain lone surrogates, which UTF-8 cannot encode.
    return tuple({name: text.encode("utf-8", "replace").decode() for name, text in each.items()} for each in messages)


def _forget(loop_state: LoopState, key: str, done: asyncio.Task[Reply]) -> None:
    loop_state.out.pop(key, None)
    if not done.cancelled():
        # The caller may have gone; its error is not one of the event loop.
        done.exception()


_PROBING = Sampling(temperature=1.0, max_tokens=5, n=2, logprobs=True, top_logprobs=5, seed=0)
_PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of a model's endpoint, or the reason why the endpoint did not reply (`problem`).

    `choices`: several answers per request; `alternatives`: number of alternative tokens with probabilities; `left_out`:
    rejected parameters.
    """

    model: str
    endpoint: str
    answers: bool
    choices: bool = False
    logprobs: bool = False
    alternatives: int = 0
    left_out: tuple[str, ...] = ()
    latency_ms: float = 0.0
    problem: str | None = None


async def find_capabilities(model: str | None = None) -> Capabilities:
    """Test the capabilities of the endpoint in the settings for this model, by default the model in the settings."""
    named = model or settings().model or ""
    options = ClientOptions(timeout_s=_PATIENCE_S, deadline_s=_PATIENCE_S, retries=1)
    try:
        async with LLM(named, options) as llm:
            return await probe(llm)
    except NoModel as nothing:
        return Capabilities(named, "", answers=False, problem=str(nothing))


async def probe(llm: LLM) -> Capabilities:
    """Test the endpoint with one short request, or with two if it returns one choice at a time."""
    try:
        reply = await llm.complete([PROBE], _PROBING)
    except (ModelError, SpendingCapReached) as failure:
        return Capabilities(llm.model, llm.endpoint, answers=False, problem=str(failure))
    alternatives = [len(token.top) for tokens in reply.token_logprobs for token in tokens or ()]
    return Capabilities(
        model=reply.model,
        endpoint=llm.endpoint,
        answers=True,
        choices="n" not in reply.without,
        logprobs=reply.has_logprobs,
        alternatives=max(alternatives, default=0),
        left_out=reply.without,
        latency_ms=reply.latency_ms,
    )
