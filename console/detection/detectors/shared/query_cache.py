"""The query cache of one checkpoint: every question is sent to the models once, for all detectors.

A checkpoint as text for a model is complete, or has only actions and observations (InferAct, section 3.1). All lines of
a text after its first line are indented, so that only the console's own lines begin with "Step".
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from console.detection.detectors.shared.reply_parsing import format_lines
from console.environments import ENVIRONMENTS
from console.llm import LLM, Message, Reply, Sampling, prompts
from console.llm.errors import ModelRefused
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, is_critical, is_thought, previous_checkpoint

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
        found = previous_checkpoint(self.checkpoint, ENVIRONMENTS[where].critical) if where in _PAPER_MIDWAY else None
        return QueryCache(found, self.models, self.seed) if found and self.models.paper else None

    @property
    def midway(self) -> bool:
        """True if the action can come before the task is complete; in paper mode, always true in ALFWorld."""
        if self.models.paper and self.checkpoint.environment in _PAPER_MIDWAY:
            return True
        terminal = ENVIRONMENTS[self.checkpoint.environment].terminal
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


HIDDEN = "(the user's words)"
_INDENT = "\n  "
_SHOP, _FIELD = "webshop", "[SEP]"
_SEARCH = re.compile(r"^\s*search\b", re.IGNORECASE)
_RESPONSE = re.compile(r"^\s*respond\s*\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptView:
    """A trajectory as text, and the number of its steps, including the pending action."""

    text: str
    steps: int


def build_full_view(checkpoint: Checkpoint, *, paper: bool = False) -> PromptView:
    """Return the view of the whole record up to the critical action, with thoughts.

    `paper` leaves out the room before the first action in ALFWorld, as the reference code does.
    """
    steps = (*checkpoint.steps, Step(checkpoint.thought, checkpoint.action))
    is_hidden = not checkpoint.opening.strip() or (paper and checkpoint.environment == "alfworld")
    lines = [] if is_hidden else [f"At the start: {_indented(checkpoint.opening)}"]
    return _view(lines, steps)


def build_masked_view(checkpoint: Checkpoint, *, with_thoughts: bool = False, paper: bool = False) -> PromptView:
    """Return the view of actions and observations without the user's words, so that the inferred task is not copied.

    `paper` hides every shop action with "search" and a shop page's part above the instruction, as the reference code
    does.
    """
    hide = (_PAPER_MASKS if paper else MASKS).get(checkpoint.environment, _respondent)
    before = _below_headers(checkpoint.steps) if paper and checkpoint.environment == _SHOP else checkpoint.steps
    steps = [*before, Step(checkpoint.thought, checkpoint.action)]
    if not with_thoughts:
        steps = [replace(step, thought="") for step in steps if not is_thought(step.action)]
    return _view([], [_without(hide(step), checkpoint.instruction) for step in steps])


def _below_headers(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps with each page's part below its instruction; any other page repeats the previous page."""
    shown = None
    for step in steps:
        fields = step.observation.split(_FIELD)
        sign = _FIELD if len(fields) > 1 else "\n"
        fields = fields if len(fields) > 1 else step.observation.splitlines()
        header = next((at for at, field in enumerate(fields) if "Instruction" in field), None)
        if header is not None:
            shown = sign.join(fields[header + 2 :])
        yield step if shown is None else replace(step, observation=shown)


def _shopper(step: Step) -> Step:
    """Hide the words of a search, because they repeat the request."""
    return replace(step, action="search") if _SEARCH.match(step.action) else step


def _respondent(step: Step) -> Step:
    """Hide the observation after a message, because it is the user's reply."""
    return replace(step, observation=HIDDEN) if _RESPONSE.match(step.action) and step.observation else step


MASKS: dict[str, Callable[[Step], Step]] = {
    "webshop": _shopper,
    "hotpotqa": lambda step: step,
    "alfworld": lambda step: step,
}
"""The masks by environment, which hide parts of a step; other environments use `_respondent`."""
_PAPER_MASKS = MASKS | {"webshop": lambda step: replace(step, action="search") if "search" in step.action else step}


def _without(step: Step, instruction: str) -> Step:
    """Return the step without a literal repetition of the instruction, such as a page's header."""
    words = instruction.split()
    if not words:
        return step
    repeated = re.compile(r"(?:instruction:\s*)?" + r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    return replace(step, observation=repeated.sub(HIDDEN, step.observation))


def _view(lines: list[str], steps: Iterable[Step]) -> PromptView:
    number = 0
    for number, step in enumerate(steps, start=1):
        lines.append(f"Step {number}")
        told = (("Thought", step.thought), ("Action", step.action), ("Observation", step.observation))
        lines += [f"{label}: {_indented(text)}" for label, text in told if text.strip()]
    return PromptView("\n".join(lines), number)


def _indented(text: str) -> str:
    return _INDENT.join(text.strip().splitlines())
