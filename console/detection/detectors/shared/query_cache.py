"""The bench: one checkpoint and the models, where every question is asked once, whoever wants its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from console.detection.detectors.shared.prompt_views import PromptView, full, masked
from console.environments import environment
from console.llm import LLM, Message, ModelRefused, Reply, prompts
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, is_critical

SAMPLES = 5
"""How many answers a frequency is taken from (InferAct, section 4.1: m = 5)."""
SAMPLING_TEMPERATURE = 0.7

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Models:
    """Who is asked: `infer` works out the agent's task, `verify` answers everything else.

    `swap_labels` asks each A-or-B question a second time with the labels exchanged and takes the mean;
    `with_thoughts` lets the inference see the agent's thoughts.
    """

    infer: LLM
    verify: LLM
    swap_labels: bool = False
    with_thoughts: bool = False


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A reply and the name of the prompt that asked for it."""

    prompt: str
    reply: Reply


class QueryCache:
    """One checkpoint in front of the models. Errors of the endpoint go up; a refusal is an answer without a text."""

    def __init__(self, checkpoint: Checkpoint, models: Models, seed: int = 0) -> None:
        self.checkpoint, self.models, self.seed = checkpoint, models, seed
        self._asked: dict[str, asyncio.Task[Any]] = {}

    @cached_property
    def whole(self) -> PromptView:
        """The record as the agent's own thoughts tell it too."""
        return full(self.checkpoint)

    @cached_property
    def chain(self) -> PromptView:
        """The record without thoughts and without the user's words."""
        return masked(self.checkpoint, with_thoughts=self.models.with_thoughts)

    @property
    def midway(self) -> bool:
        """Whether the action can come before the task is complete."""
        terminal = environment(self.checkpoint.environment).terminal
        return self.checkpoint.kind is CheckpointKind.ACTION and not is_critical(self.checkpoint.action, terminal)

    async def once(self, name: str, ask: Callable[[QueryCache], Coroutine[Any, Any, T]]) -> T:
        """What that question brings; a second caller shares the answer of the first."""
        task = self._asked.get(name)
        if task is None:
            task = self._asked[name] = asyncio.ensure_future(ask(self))
        found: T = await task
        return found

    def prompt(self, method: str, step: str) -> str:
        """The name of a method's prompt for this checkpoint's environment."""
        return prompts.name_for(method, self.checkpoint.environment, step)

    def filled(self, prompt: str, view: PromptView, **slots: str) -> str:
        """The prompt with this checkpoint in it."""
        request = self.checkpoint.instruction
        return prompts.render(prompt, trajectory=view.text, steps=view.steps, instruction=request, **slots)

    async def ask(self, llm: LLM, prompt: str, chat: Sequence[Message], **options: Any) -> ModelCall:
        """The model's reply to the chat, at temperature 0 unless told otherwise."""
        try:
            return ModelCall(prompt, await llm.complete(chat, **options))
        except ModelRefused as refused:
            return ModelCall(prompt, Reply(("",), (None,), llm.model, finish=(str(refused),)))

    async def sample(self, llm: LLM, prompt: str, chat: Sequence[Message], max_tokens: int) -> ModelCall:
        """Five replies to the chat in one request."""
        drawn = {"n": SAMPLES, "temperature": SAMPLING_TEMPERATURE, "seed": self.seed}
        return await self.ask(llm, prompt, chat, max_tokens=max_tokens, **drawn)


def user(text: str) -> Message:
    """A message of ours."""
    return {"role": "user", "content": text}
