"""Asking a model on an Actor's behalf: replies that cannot be read are asked for again, and every call is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from console.llm import LLM, Message, Reply, connect
from console.settings import settings

T = TypeVar("T")

NO_ACTION = "think[no action could be read in the model's reply]"
"""A thought in place of an action: it does nothing in any world."""
RE_ASKS = 2
"""How often a reply that cannot be read is asked for again."""
_TRIALS_AT_MOST = 1_000


@dataclass(slots=True)
class ModelUsage:
    """The usage of a model over several calls; the cost is in USD, None where no price is known."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def add(self, reply: Reply) -> None:
        """Counts one reply, a cached one as nothing."""
        if reply.cached:
            return
        self.requests += reply.requests
        self.prompt_tokens += reply.usage.prompt_tokens
        self.completion_tokens += reply.usage.completion_tokens
        unknown = self.cost_usd is None or reply.cost_usd is None
        self.cost_usd = None if unknown else (self.cost_usd or 0.0) + (reply.cost_usd or 0.0)

    def as_dict(self) -> dict[str, Any]:
        """The usage as a step keeps it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replies are drawn."""

    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 512


@dataclass(slots=True)
class ModelCalls:
    """A model as one Actor asks it for one move."""

    llm: LLM
    seed: int
    sampling: Sampling = field(default_factory=Sampling)
    usage: ModelUsage = field(default_factory=ModelUsage)

    async def read(self, messages: Sequence[Message], parse: Callable[[str], T | None]) -> T | None:
        """What `parse` reads in the reply; None where it could read none of three."""
        for take in range(RE_ASKS + 1):
            found = parse(await self.text(messages, take))
            if found is not None:
                return found
        return None

    async def text(self, messages: Sequence[Message], take: int = 0) -> str:
        """The reply as it is."""
        how = self.sampling
        reply = await self.llm.complete(
            messages,
            temperature=how.temperature,
            top_p=how.top_p,
            max_tokens=how.max_tokens,
            seed=self.seed + take,
            take=take,
        )
        self.usage.add(reply)
        return reply.text.strip()


def question(text: str) -> list[Message]:
    """A chat of one question."""
    return [{"role": "user", "content": text}]


def chosen_model() -> LLM:
    """The model of the settings; raises NoModel."""
    chosen = settings()
    return _connected(chosen.model, chosen.data_dir)


@lru_cache(maxsize=4)
def _connected(model: str | None, data_dir: Path) -> LLM:
    # One client for all trials of a process, for its connections; a trial has one request out, so who runs the trials
    # sets the limit.
    return connect(model, concurrency=_TRIALS_AT_MOST)
