"""InferAct: infer the task from the actions and compare it with the user's task (InferAct, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from console.detection.detectors.shared import binary_choice, reference_parsing, reply_parsing
from console.detection.detectors.shared.binary_choice import BinaryAnswer, Chat
from console.detection.detectors.shared.query_cache import ModelCall, QueryCache, user_message
from console.detection.detectors.shared.reply_parsing import REFERENCE, ReplyForm, read_form
from console.detection.detectors.shared.reply_verdict import unparsed_verdict, verdict_from_replies
from console.detection.detectors.verdict import Detector, Verdict

INFER, COMPLETION, PROGRESS = (("inferact", step) for step in ("infer_task", "check_completion", "check_progress"))
INFERRED = "inferred task"
PROMPTS = (INFER, COMPLETION, PROGRESS)
MAX_TOKENS = 300


@dataclass(frozen=True, slots=True)
class InferredTask:
    """The inferred task (empty if the reply has none), the reason, and the answer whether the tasks match."""

    task: str
    reason: str
    calls: tuple[ModelCall, ...]
    answer: BinaryAnswer | None = None

    @property
    def misaligned(self) -> float | None:
        """P(misaligned), or None if a reply was unreadable."""
        return self.answer.misaligned if self.answer else None

    @property
    def rationale(self) -> str:
        """The reason, for a reviewer."""
        return f"The actions look like this task: {self.task}\n{self.reason}".strip()

    def unparsed(self, paper_score: float | None = None) -> Verdict:
        """Return the verdict for an unreadable reply."""
        lacking = "letter" if self.task else "task"
        return unparsed_verdict(self.calls, lacking, inferred_task=self.task or None, paper_score=paper_score)


async def infer_and_compare(cache: QueryCache) -> InferredTask:
    """Infer the task from the actions, then ask about completion, and about progress if more actions can follow."""
    prompt, view = cache.prompt(*INFER), cache.masked_view
    form, chat = read_form(prompt), [user_message(cache.filled(prompt, view))]
    read = _reading(cache, form)
    schema = form.task_schema()
    call = await cache.ask(
        cache.models.infer, prompt, chat, lambda text: read(text) or None, schema=schema, max_tokens=MAX_TOKENS
    )
    task = read(call.reply.text)
    reason = reply_parsing.read_label(call.reply.text, form.reason, form.patterns.get("reason"))
    if not task:
        return InferredTask("", reason, (call,))
    answer = await _checked(cache, task)
    return InferredTask(task, reason, (call, *answer.calls), answer)


def _reading(cache: QueryCache, form: ReplyForm) -> Callable[[str], str]:
    if cache.models.paper or form.parser == REFERENCE:
        return lambda text: reference_parsing.read_task(text, form)
    return lambda text: reply_parsing.read_label(text, form.task, form.patterns.get("task"))


async def _checked(cache: QueryCache, task: str) -> BinaryAnswer:
    llm, view, history = cache.models.verify, cache.masked_view, await _history(cache)
    first = await binary_choice.ask(cache, llm, cache.prompt(*COMPLETION), view, history, inferred_task=task)
    if not binary_choice.should_ask_further(cache, first):
        return first
    return await binary_choice.ask_further(cache, llm, cache.prompt(*PROGRESS), view, first)


async def _history(cache: QueryCache) -> Chat:
    """Return the chat before this question: in paper mode the chat about earlier critical actions, else empty."""
    if cache.before is None:
        return ()
    inferred = await cache.before.once(INFERRED, infer_and_compare)
    return inferred.answer.history if inferred.answer else await _history(cache.before)


async def judge_by_probability(cache: QueryCache) -> Verdict:
    """Judge by P(B) in the answer to the last question."""
    inferred = await cache.once(INFERRED, infer_and_compare)
    share = inferred.misaligned
    if share is None or inferred.answer is None:
        # The reference alerts on what it cannot parse.
        return inferred.unparsed(1.0 if cache.models.paper else None)
    basis = inferred.answer.basis
    return verdict_from_replies(
        inferred.calls, share, inferred.rationale, probability=share, inferred_task=inferred.task, basis=basis
    )


INFERACT_PROB = Detector("inferact-prob", "InferAct (probability)", ask=judge_by_probability, prompts=PROMPTS)


async def judge_by_words(cache: QueryCache) -> Verdict:
    """Judge by the last answer: the score is 1 for B and 0 for A."""
    inferred = await cache.once(INFERRED, infer_and_compare)
    unread = inferred.misaligned is None and not cache.models.paper
    if inferred.answer is None or unread:
        # The reference lets pass what it cannot parse.
        return inferred.unparsed(0.0 if cache.models.paper else None)
    score = float(inferred.answer.says_so)
    return verdict_from_replies(inferred.calls, score, inferred.rationale, inferred_task=inferred.task)


INFERACT_VERB = Detector("inferact-verb", "InferAct (words)", ask=judge_by_words, prompts=PROMPTS)
