"""The model client: any OpenAI-compatible endpoint, with limits, retries, a cache on disk, and a budget."""

from __future__ import annotations

from collections.abc import Callable

from console.llm.budget import load_prices
from console.llm.client import LLM, ClientOptions
from console.llm.endpoint import Endpoint
from console.llm.messages import Message, Reply, Sampling, Token, Usage
from console.llm.transport import ClientUsage, Limits, Transport
from console.settings import settings


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
    chosen = settings()
    options = ClientOptions(
        concurrency=concurrency or chosen.concurrency,
        cache_dir=chosen.data_dir / "cache" if cached else None,
        spending_cap_usd=spending_cap_usd,
        account=account,
        prices=load_prices(chosen.data_dir / "prices.toml"),
        reasoning_effort=reasoning_effort or chosen.reasoning_effort,
        transport=transport,
        keep=keep,
    )
    return LLM(model or chosen.model or "", options)
