"""Token probability: how sure the model is that "the task is done right" is false (InferAct, section 4.1)."""

from __future__ import annotations

from console.detectors.parts import token_question
from console.detectors.parts.bench import Bench
from console.detectors.parts.verdicts import from_replies, unparsed
from console.detectors.verdict import Detector, Verdict


async def ask(bench: Bench) -> Verdict:
    """P(B) at the letter that answers."""
    answer = await bench.once("token", token_question.asked)
    share = answer.misaligned
    if share is None:
        return unparsed(answer.calls, "letter")
    why = f"That the agent does what was asked is false with probability {share:.2f}, the model says."
    return from_replies(answer.calls, share, why, probability=share, basis=answer.basis)


TOKEN_PROB = Detector(
    "token-prob", "Token probability", ask=ask, prompts=(token_question.JUDGE, token_question.PROGRESS)
)
