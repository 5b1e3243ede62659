"""InferAct by probability: how sure the model is that the inferred task is not the user's (InferAct, section 3)."""

from __future__ import annotations

from console.detection.detectors.shared import task_inference
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.shared.reply_verdict import from_replies
from console.detection.detectors.verdict import Detector, Verdict


async def ask(cache: QueryCache) -> Verdict:
    """The verdict by probability: P(B) of the last question that was asked."""
    inferred = await cache.once(task_inference.INFERRED, task_inference.infer_and_compare)
    share = inferred.misaligned
    if share is None or inferred.answer is None:
        # The reference alerts where it cannot parse.
        return inferred.unparsed(1.0 if cache.models.paper else None)
    basis = inferred.answer.basis
    return from_replies(
        inferred.calls, share, inferred.rationale, probability=share, inferred_task=inferred.task, basis=basis
    )


INFERACT_PROB = Detector("inferact-prob", "InferAct (probability)", ask=ask, prompts=task_inference.PROMPTS)
