"""InferAct by probability: how sure the model is that the inferred task is not the user's (InferAct, section 3)."""

from __future__ import annotations

from console.detectors.parts import belief
from console.detectors.parts.bench import Bench
from console.detectors.parts.verdicts import from_replies
from console.detectors.verdict import Detector, Verdict


async def ask(bench: Bench) -> Verdict:
    """P(B) of the last question that was asked."""
    found = await bench.once("belief", belief.believed)
    share = found.misaligned
    if share is None or found.answer is None:
        return found.unparsed()
    basis = found.answer.basis
    return from_replies(found.calls, share, found.rationale, probability=share, inferred_task=found.task, basis=basis)


INFERACT_PROB = Detector("inferact-prob", "InferAct (probability)", ask=ask, prompts=belief.PROMPTS)
