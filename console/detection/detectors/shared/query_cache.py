"""The query cache of one checkpoint: every question is put to the models once, whichever detectors want its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from console.detection.detectors.shared.prompt_views import PromptView, full, masked
from console.detection.detectors.shared.reply_form import as_lines
from console.environments import environment
from console.llm import LLM, Message, Reply, prompts
from console.llm.errors import ModelRefused
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, is_critical, previous

SAMPLES = 5
"""How many answers a frequency is taken from (InferAct, section 4.1: m = 5)."""
SAMPLING_TEMPERATURE = 0.7

_PAPER_THOUGHTS = frozenset({"hotpotqa"})
"""Where the reference code's inference sees the thoughts."""
_PAPER_MIDWAY = frozenset({"alfworld"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Models:
    """The models that are asked: `infer` works out the agent's task, `verify` answers everything else.

    `swap_labels` asks each A-or-B question a second time with the labels exchanged and takes the mean;
    `with_thoughts` lets the inference see the agent's thoughts. `paper` asks and reads as the paper's reference code
    does: no rubric, no second asking, its own parsing.
    """

    infer: LLM
    verify: LLM
    swap_labels: bool = False
    with_thoughts: bool = False
    paper: bool = False


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of a model: its reply, the name of the prompt that asked for it, and the model's own as it was asked."""

    prompt: str
    reply: Reply
    model: str = ""


class QueryCache:
    """The cache of one checkpoint's queries, for its detectors. Errors of the endpoint go up; a refusal has no text.

    `calls` are all that were made, in the order of their replies.
    """

    def __init__(self, checkpoint: Checkpoint, models: Models, seed: int = 0) -> None:
        self.checkpoint, self.models, self.seed = checkpoint, models, seed
        self.calls: list[ModelCall] = []
        self._answers: dict[str, asyncio.Task[Any]] = {}

    @cached_property
    def full_view(self) -> PromptView:
        """The view of the whole record, thoughts included."""
        return full(self.checkpoint)

    @cached_property
    def masked_view(self) -> PromptView:
        """The view without the user's words, and without thoughts unless the models may see them."""
        thoughts = self.models.with_thoughts or (self.models.paper and self.checkpoint.environment in _PAPER_THOUGHTS)
        return masked(self.checkpoint, with_thoughts=thoughts, paper=self.models.paper)

    @cached_property
    def before(self) -> QueryCache | None:
        """The cache of the critical action before this one, where the reference code asks about both in one chat."""
        where = self.checkpoint.environment
        found = previous(self.checkpoint, environment(where).critical) if where in _PAPER_MIDWAY else None
        return QueryCache(found, self.models, self.seed) if found and self.models.paper else None

    @property
    def midway(self) -> bool:
        """Whether the action can come before the task is complete; to the reference code all of ALFWorld's can."""
        if self.models.paper and self.checkpoint.environment in _PAPER_MIDWAY:
            return True
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
        request, paper = self.checkpoint.instruction, {prompts.PAPER: self.models.paper}
        return prompts.render(prompt, trajectory=view.text, steps=view.steps, instruction=request, **paper, **slots)

    async def ask(
        self,
        llm: LLM,
        prompt: str,
        chat: Sequence[Message],
        read: Callable[[str], object],
        *,
        schema: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> ModelCall:
        """The model's reply to the chat, at temperature 0 unless told otherwise.

        A reply that was cut before it can be `read` (None: it cannot) is asked for again. The `schema` is that of the
        lines that the prompt asks for; a template of the user's own is asked as it stands.
        """
        plain = schema is None or self.models.paper or prompts.is_own(prompt)

        def enough(text: str) -> bool:
            return read(as_lines(text)) is not None

        try:
            reply = await llm.complete(chat, enough=enough, schema=None if plain else schema, **options)
        except ModelRefused as refused:
            reply = Reply(("",), (None,), llm.model, finish=(str(refused),))
        read_as = reply if plain else replace(reply, texts=tuple(map(as_lines, reply.texts)))
        self.calls.append(ModelCall(prompt, read_as, llm.model))
        return self.calls[-1]

    async def sample(
        self,
        llm: LLM,
        prompt: str,
        chat: Sequence[Message],
        read: Callable[[str], object],
        **options: Any,
    ) -> ModelCall:
        """Five replies to the chat in one request."""
        drawn: dict[str, Any] = {"n": SAMPLES, "temperature": SAMPLING_TEMPERATURE, "seed": self.seed}
        return await self.ask(llm, prompt, chat, read, **drawn, **options)


def user(text: str) -> Message:
    """The chat message that says this text as the user."""
    return {"role": "user", "content": text}
