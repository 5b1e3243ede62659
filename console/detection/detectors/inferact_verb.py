"""InferAct by words: whether the model says that the inferred task is not the user's (InferAct, section 3)."""

from __future__ import annotations

from console.detection.detectors.shared import task_inference
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.shared.reply_verdict import from_replies
from console.detection.detectors.verdict import Detector, Verdict


async def ask(cache: QueryCache) -> Verdict:
    """The verdict by words: 1 where the last answer is B, 0 where it is A."""
    inferred = await cache.once(task_inference.INFERRED, task_inference.infer_and_compare)
    unread = inferred.misaligned is None and not cache.models.paper
    if inferred.answer is None or unread:
        # The reference lets pass what it cannot parse.
        return inferred.unparsed(0.0 if cache.models.paper else None)
    score = float(inferred.answer.says_so)
    return from_replies(inferred.calls, score, inferred.rationale, inferred_task=inferred.task)


INFERACT_VERB = Detector("inferact-verb", "InferAct (words)", ask=ask, prompts=task_inference.PROMPTS)
