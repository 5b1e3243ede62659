"""Model calls of an Actor: unreadable replies are requested again, and the usage of every call is counted."""

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
"""A thought in place of an action; it has no effect in any world."""
RE_ASKS = 2
"""How often an unreadable reply is requested again."""
_TRIALS_AT_MOST = 1_000


@dataclass(slots=True)
class ModelCalls:
    """The model calls of one Actor for one move."""

    llm: LLM
    seed: int
    sampling: Sampling = field(default_factory=Sampling)
    usage: ModelUsage = field(default_factory=ModelUsage)

    async def read(self, messages: Sequence[Message], parse: Callable[[str], T | None]) -> T | None:
        """Return the parsed reply, or None if three replies could not be parsed.

        Raise ModelRefused if each of the three refused to answer.
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
        """Return the text of a reply; different values of `take` give separate replies."""
        return (await self._reply(messages, take)).text.strip()

    async def _reply(self, messages: Sequence[Message], take: int) -> Reply:
        reply = await self.llm.complete(messages, replace(self.sampling, seed=self.seed + take, take=take))
        self.usage.add(reply)
        return reply


def user_chat(text: str) -> list[Message]:
    """Return a chat with a single user message."""
    return [{"role": "user", "content": text}]


def with_chosen_model(function: Callable[[LLM, Given], Awaitable[T]]) -> Callable[[Given], Awaitable[T]]:
    """Bind a function to the model of the settings; the connection opens at the first call."""

    async def call(given: Given) -> T:
        return await function(connect_chosen_model(), given)

    return call


def connect_chosen_model() -> LLM:
    """Return the model of the present purpose or of the settings; raise NoModel if none is set."""
    return _connected(chosen_model(), settings().data_dir, get_purpose())


@lru_cache(maxsize=4)
def _connected(model: str | None, data_dir: Path, purpose: Purpose | None) -> LLM:
    # One client serves all trials of a process. A trial has one request at a time, so its runner sets the limit.
    return connect(model, concurrency=_TRIALS_AT_MOST)
