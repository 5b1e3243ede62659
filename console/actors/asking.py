"""Model calls of an Actor: a request is repeated after an unreadable reply, and the usage of every call is counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from console.llm import LLM, Message, ModelUsage, Purpose, Reply, Sampling, chosen_model, connect, get_purpose
from console.llm.declined import find_refusal
from console.llm.errors import ModelRefused
from console.settings import settings

T = TypeVar("T")
Given = TypeVar("Given")

NO_ACTION = "think[no action could be read in the model's reply]"
"""The placeholder action for an unreadable reply: a thought, which has no effect in any environment."""
RE_ASKS = 2
"""The number of repeated requests after an unreadable reply."""
_TRIALS_AT_MOST = 1_000


@dataclass(slots=True)
class ModelCalls:
    """The model calls of one Actor for one move."""

    llm: LLM
    seed: int
    sampling: Sampling = field(default_factory=Sampling)
    usage: ModelUsage = field(default_factory=ModelUsage)

    async def read(self, messages: Sequence[Message], parse: Callable[[str], T | None]) -> T | None:
        """Return the first reply that can be parsed, or None if three replies are unreadable.

        Raise ModelRefused if the model refuses to answer three times.
        """
        refusals = []
        for take in range(RE_ASKS + 1):
            reply = await self._reply(messages, take)
            found = parse(reply.text.strip())
            if found is not None:
                return found
            refusals.append(find_refusal(reply))
        if all(refusals):
            raise ModelRefused(f"The model declined to answer: {refusals[-1]}")
        return None

    async def text(self, messages: Sequence[Message], take: int = 0) -> str:
        """Return the text of one reply; each value of `take` requests a separate reply."""
        return (await self._reply(messages, take)).text.strip()

    async def _reply(self, messages: Sequence[Message], take: int) -> Reply:
        reply = await self.llm.complete(messages, replace(self.sampling, seed=self.seed + take, take=take))
        self.usage.add(reply)
        return reply


def user_chat(text: str) -> list[Message]:
    """Return a chat with a single user message."""
    return [{"role": "user", "content": text}]


def with_chosen_model(function: Callable[[LLM, Given], Awaitable[T]]) -> Callable[[Given], Awaitable[T]]:
    """Bind the chosen model as the first argument of a function; the connection opens at the first call."""

    async def call(given: Given) -> T:
        return await function(connect_chosen_model(), given)

    return call


def connect_chosen_model() -> LLM:
    """Return a client for the model of the current purpose or of the settings; raise NoModel if neither is set."""
    return _connected(chosen_model(), settings().data_dir, get_purpose())


@lru_cache(maxsize=4)
def _connected(model: str | None, data_dir: Path, purpose: Purpose | None) -> LLM:
    # One client serves all trials of a process. A trial has one request at a time, so its runner sets the limit.
    return connect(model, concurrency=_TRIALS_AT_MOST)
