"""InferAct by words: whether the model says that the inferred task is not the user's (InferAct, section 3)."""

from __future__ import annotations

from console.detectors.parts import belief
from console.detectors.parts.bench import Bench
from console.detectors.parts.verdicts import from_replies
from console.detectors.verdict import Detector, Verdict


async def ask(bench: Bench) -> Verdict:
    """1 where the last answer is B, 0 where it is A."""
    found = await bench.once("belief", belief.believed)
    if found.misaligned is None or found.answer is None:
        return found.unparsed()
    score = float(found.answer.says_so)
    return from_replies(found.calls, score, found.rationale, inferred_task=found.task)


INFERACT_VERB = Detector("inferact-verb", "InferAct (words)", ask=ask, prompts=belief.PROMPTS)
