"""Task inference, InferAct's one run: infer the agent's task without the user's, then compare both (InferAct, 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from console.detection.detectors.shared import binary_choice, reference_parsing, reply_parsing
from console.detection.detectors.shared.binary_choice import BinaryAnswer, Chat
from console.detection.detectors.shared.query_cache import ModelCall, QueryCache, user
from console.detection.detectors.shared.reply_form import REFERENCE, ReplyForm, form_of
from console.detection.detectors.shared.reply_verdict import unparsed
from console.detection.detectors.verdict import Verdict

INFER, COMPLETION, PROGRESS = (
    ("inferact", "infer_task"),
    ("inferact", "check_completion"),
    ("inferact", "check_progress"),
)
INFERRED = "inferred task"
PROMPTS = (INFER, COMPLETION, PROGRESS)
MAX_TOKENS = 300


@dataclass(frozen=True, slots=True)
class InferredTask:
    """The inferred task, the agent's own (empty if the reply told none), why, and whether it is the user's."""

    task: str
    reason: str
    calls: tuple[ModelCall, ...]
    answer: BinaryAnswer | None = None

    @property
    def misaligned(self) -> float | None:
        """P(misaligned), None where a reply could not be read."""
        return self.answer.misaligned if self.answer else None

    @property
    def rationale(self) -> str:
        """Why, for a reviewer."""
        return f"The actions look like this task: {self.task}\n{self.reason}".strip()

    def unparsed(self, paper_score: float | None = None) -> Verdict:
        """The verdict where a reply could not be read."""
        lacking = "letter" if self.task else "task"
        return unparsed(self.calls, lacking, inferred_task=self.task or None, paper_score=paper_score)


async def infer_and_compare(cache: QueryCache) -> InferredTask:
    """Infers the task from the chain of actions, checks completion, and progress where an action can come midway."""
    prompt, view = cache.prompt(*INFER), cache.masked_view
    form, chat = form_of(prompt), [user(cache.filled(prompt, view))]
    read = _reading(cache, form)
    schema = form.task_schema()
    call = await cache.ask(
        cache.models.infer, prompt, chat, lambda text: read(text) or None, schema=schema, max_tokens=MAX_TOKENS
    )
    task = read(call.reply.text)
    reason = reply_parsing.labelled(call.reply.text, form.reason, form.patterns.get("reason"))
    if not task:
        return InferredTask("", reason, (call,))
    answer = await _checked(cache, task)
    return InferredTask(task, reason, (call, *answer.calls), answer)


def _reading(cache: QueryCache, form: ReplyForm) -> Callable[[str], str]:
    if cache.models.paper or form.parser == REFERENCE:
        return lambda text: reference_parsing.task(text, form)
    return lambda text: reply_parsing.labelled(text, form.task, form.patterns.get("task"))


async def _checked(cache: QueryCache, task: str) -> BinaryAnswer:
    llm, view, history = cache.models.verify, cache.masked_view, await _history(cache)
    first = await binary_choice.ask(cache, llm, cache.prompt(*COMPLETION), view, history, inferred_task=task)
    if not binary_choice.asks_further(cache, first):
        return first
    return await binary_choice.ask_further(cache, llm, cache.prompt(*PROGRESS), view, first)


async def _history(cache: QueryCache) -> Chat:
    """The chat before this checkpoint's question: in the reference code, that about the critical actions before it."""
    if cache.before is None:
        return ()
    inferred = await cache.before.once(INFERRED, infer_and_compare)
    return inferred.answer.history if inferred.answer else await _history(cache.before)
