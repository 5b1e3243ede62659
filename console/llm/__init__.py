"""The model client: any OpenAI-compatible endpoint, with limits, retries, a cache on disk, and a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from console.llm.budget import load_prices
from console.llm.cache import Replies
from console.llm.client import LLM, ClientOptions
from console.llm.endpoint import Endpoint
from console.llm.messages import Message, ModelUsage, Reply, Sampling, Token, Usage
from console.llm.transport import ClientUsage, Limits, Transport
from console.settings import settings


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of this process's model requests: the model, the account that counts the usage, and the cap."""

    model: str
    account: str
    cap_usd: float | None = None


_purpose: Purpose | None = None


@contextmanager
def spending_on(purpose: Purpose) -> Iterator[None]:
    """Use this model and account within the context, for every connection without its own model or account."""
    global _purpose  # not a context variable: judges run in threads of pools that exist already
    before, _purpose = _purpose, purpose
    try:
        yield
    finally:
        _purpose = before


def get_purpose() -> Purpose | None:
    """Return the current purpose, or None if no purpose is set."""
    return _purpose


def chosen_model() -> str | None:
    """Return the model of the current purpose, or the model in the settings, or None if neither is set."""
    return _purpose.model if _purpose else settings().model


def read_account(account: str) -> ModelUsage:
    """Return the usage of an account so far, over all processes."""
    replies = Replies(settings().cache_url or settings().data_dir / "cache")
    try:
        return replies.used(account)
    finally:
        replies.close()


def connect(
    model: str | None = None,
    *,
    concurrency: int | None = None,
    spending_cap_usd: float | None = None,
    account: str | None = None,
    reasoning_effort: str | None = None,
    transport: Callable[[Endpoint, Limits], Transport] = Transport,
    keep: bool = True,
    cached: bool = True,
) -> LLM:
    """Return a client for this model, or for the model in the settings; raise NoModel if neither is set.

    The client's cache (unless `cached` is false) and its prices are in the data directory.
    """
    chosen, purpose = settings(), _purpose
    if purpose and account is None:
        account, spending_cap_usd = purpose.account, spending_cap_usd or purpose.cap_usd
    options = ClientOptions(
        concurrency=concurrency or chosen.concurrency,
        cache_dir=(chosen.cache_url or chosen.data_dir / "cache") if cached else None,
        spending_cap_usd=spending_cap_usd,
        account=account,
        prices=load_prices(chosen.data_dir / "prices.toml"),
        reasoning_effort=reasoning_effort or chosen.reasoning_effort,
        transport=transport,
        keep=keep,
    )
    return LLM(model or chosen_model() or "", options)
