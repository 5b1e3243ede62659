"""The query cache of one checkpoint: every question is sent to the models once, for all detectors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from console.detection.detectors.shared.prompt_views import PromptView, build_full_view, build_masked_view
from console.detection.detectors.shared.reply_parsing import format_lines
from console.environments import environment
from console.llm import LLM, Message, Reply, Sampling, prompts
from console.llm.errors import ModelRefused
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, is_critical, previous_checkpoint

SAMPLES = 5
"""The number of answers for computing a frequency (InferAct, section 4.1: m = 5)."""
SAMPLING_TEMPERATURE = 0.7

_PAPER_THOUGHTS = frozenset({"hotpotqa"})
"""The environments in which the reference code includes the thoughts in the inference."""
_PAPER_MIDWAY = frozenset({"alfworld"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a detector: `infer` infers the agent's task, `verify` answers all other questions.

    `swap_labels` asks each A-or-B question again with the labels exchanged and takes the mean; `with_thoughts` shows
    the agent's thoughts. `paper` follows the reference code: no rubric, no second request, and its parsing.
    """

    infer: LLM
    verify: LLM
    swap_labels: bool = False
    with_thoughts: bool = False
    paper: bool = False


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of a model: its reply, the name of its prompt, and the model's name."""

    prompt: str
    reply: Reply
    model: str = ""


_MOST_TASKS = 4_096


class TaskAnswers:
    """The answers to queries about a task alone, shared by the task's checkpoints; the oldest answers are dropped."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, ...], asyncio.Task[Any]] = {}

    async def once(self, key: tuple[str, ...], ask: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, bool]:
        """Return the answer with this key, and whether this call requested it; request a failed query again."""
        query, is_first = self._tasks.get(key), False
        if query is None or (query.done() and (query.cancelled() or query.exception() is not None)):
            query, is_first = asyncio.ensure_future(ask()), True
            self._tasks[key] = query
            if len(self._tasks) > _MOST_TASKS:
                del self._tasks[next(iter(self._tasks))]
        answer: T = await asyncio.shield(query)
        return answer, is_first


class QueryCache:
    """The queries of one checkpoint, shared by its detectors; `calls` are in the order of their replies.

    `per_task` holds the answers that checkpoints of one task share.
    """

    def __init__(
        self, checkpoint: Checkpoint, models: Models, seed: int = 0, per_task: TaskAnswers | None = None
    ) -> None:
        self.checkpoint, self.models, self.seed = checkpoint, models, seed
        self.per_task = per_task or TaskAnswers()
        self.calls: list[ModelCall] = []
        self._answers: dict[str, asyncio.Task[Any]] = {}

    @cached_property
    def full_view(self) -> PromptView:
        """The view of the whole record, with thoughts."""
        return build_full_view(self.checkpoint, paper=self.models.paper)

    @cached_property
    def masked_view(self) -> PromptView:
        """The view without the user's words, and without thoughts unless the models may see them."""
        thoughts = self.models.with_thoughts or (self.models.paper and self.checkpoint.environment in _PAPER_THOUGHTS)
        return build_masked_view(self.checkpoint, with_thoughts=thoughts, paper=self.models.paper)

    @cached_property
    def before(self) -> QueryCache | None:
        """The cache of the previous critical action, if the reference code asks about both in one chat."""
        where = self.checkpoint.environment
        found = previous_checkpoint(self.checkpoint, environment(where).critical) if where in _PAPER_MIDWAY else None
        return QueryCache(found, self.models, self.seed) if found and self.models.paper else None

    @property
    def midway(self) -> bool:
        """True if the action can come before the task is complete; in paper mode, always true in ALFWorld."""
        if self.models.paper and self.checkpoint.environment in _PAPER_MIDWAY:
            return True
        terminal = environment(self.checkpoint.environment).terminal
        return self.checkpoint.kind is CheckpointKind.ACTION and not is_critical(self.checkpoint.action, terminal)

    async def once(self, name: str, ask: Callable[[QueryCache], Coroutine[Any, Any, T]]) -> T:
        """Return the answer to the query with this name; all callers with the same name share one answer."""
        query = self._answers.get(name)
        if query is None:
            query = self._answers[name] = asyncio.ensure_future(ask(self))
        answer: T = await query
        return answer

    def prompt(self, method: str, step: str) -> str:
        """Return the name of a method's prompt for this checkpoint's environment."""
        return prompts.name_for(method, self.checkpoint.environment, step)

    def filled(self, prompt: str, view: PromptView, **slots: str) -> str:
        """Return the prompt filled in with this checkpoint."""
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
        as_json: bool = False,
        **options: Any,
    ) -> ModelCall:
        """Return the model's reply to the chat, at temperature 0 by default; a refusal has no text.

        A reply that was cut off and is unreadable (`read` gives None) is requested again. `schema` describes the lines
        that the prompt requests, or with `as_json` the JSON; it is not sent with a user's own template.
        """
        plain = schema is None or self.models.paper or prompts.is_own(prompt)

        def enough(text: str) -> bool:
            return read(text if as_json else format_lines(text)) is not None

        try:
            reply = await llm.complete(chat, Sampling(**options), schema=None if plain else schema, is_complete=enough)
        except ModelRefused as refused:
            reply = Reply(("",), (None,), llm.model, finish=(str(refused),))
        read_as = reply if plain or as_json else replace(reply, texts=tuple(map(format_lines, reply.texts)))
        self.calls.append(ModelCall(prompt, read_as, llm.model))
        return self.calls[-1]

    async def sample(
        self, llm: LLM, prompt: str, chat: Sequence[Message], read: Callable[[str], object], **options: Any
    ) -> ModelCall:
        """Return five replies to the chat from one request."""
        drawn: dict[str, Any] = {"n": SAMPLES, "temperature": SAMPLING_TEMPERATURE, "seed": self.seed}
        return await self.ask(llm, prompt, chat, read, **drawn, **options)


def user_message(text: str) -> Message:
    """Return a chat message with this text from the user."""
    return {"role": "user", "content": text}
