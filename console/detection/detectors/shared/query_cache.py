"""The query cache of one checkpoint: every question is put to the models once, whichever detectors want its answer."""

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
    """The models that are asked: `infer` works out the agent's task, `verify` answers everything else.

    `swap_labels` asks each A-or-B question a second time with the labels exchanged and takes the mean;
    `with_thoughts` lets the inference see the agent's thoughts.
    """

    infer: LLM
    verify: LLM
    swap_labels: bool = False
    with_thoughts: bool = False


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of a model: its reply and the name of the prompt that asked for it."""

    prompt: str
    reply: Reply


class QueryCache:
    """The cache of one checkpoint's queries, for its detectors. Errors of the endpoint go up; a refusal has no text."""

    def __init__(self, checkpoint: Checkpoint, models: Models, seed: int = 0) -> None:
        self.checkpoint, self.models, self.seed = checkpoint, models, seed
        self._answers: dict[str, asyncio.Task[Any]] = {}

    @cached_property
    def full_view(self) -> PromptView:
        """The view of the whole record, thoughts included."""
        return full(self.checkpoint)

    @cached_property
    def masked_view(self) -> PromptView:
        """The view without the user's words, and without thoughts unless the models may see them."""
        return masked(self.checkpoint, with_thoughts=self.models.with_thoughts)

    @property
    def midway(self) -> bool:
        """Whether the action can come before the task is complete."""
        terminal = environment(self.checkpoint.environment).terminal
        return self.checkpoint.kind is CheckpointKind.ACTION and not is_critical(self.checkpoint.action, terminal)

    async def once(self, name: str, ask: Callable[[QueryCache], Coroutine[Any, Any, T]]) -> T:
        """The answer to the query of that name; a second caller shares that of the first."""
        query = self._answers.get(name)
        if query is None:
            query = self._answers[name] = asyncio.ensure_future(ask(self))
        answer: T = await query
        return answer

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
    """The chat message that says this text as the user."""
    return {"role": "user", "content": text}
