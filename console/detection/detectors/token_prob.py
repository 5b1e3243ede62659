"""Token probability: how sure the model is that "the task is done right" is false (InferAct, section 4.1)."""

from __future__ import annotations

from console.detection.detectors.shared import binary_choice
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.shared.reply_verdict import from_replies
from console.detection.detectors.verdict import Detector, Verdict


async def ask(cache: QueryCache) -> Verdict:
    """The verdict by token probability: P(B) at the letter that answers."""
    answer = await cache.once(binary_choice.WHOLE_RECORD, binary_choice.ask_whole_record)
    share = answer.misaligned
    if share is None:
        return binary_choice.unread_letter(cache, answer)
    why = f"That the agent does what was asked is false with probability {share:.2f}, the model says."
    told = binary_choice.told_of_letter(cache, answer)
    return from_replies(answer.calls, share, why, probability=share, basis=answer.basis, **told)


TOKEN_PROB = Detector("token-prob", "Token probability", ask=ask, prompts=(binary_choice.JUDGE, binary_choice.PROGRESS))
