"""Token entropy: how unsure the model is of its answer, in bits (InferAct, section 4.1)."""

from __future__ import annotations

from console.detection.detectors.shared import binary_choice, reference_parsing
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.shared.reply_verdict import bits, from_replies
from console.detection.detectors.verdict import Detector, Verdict


async def ask(cache: QueryCache) -> Verdict:
    """The verdict by token entropy: that of P(B), in [0, 1] bits; a sure answer has 0, whichever it is."""
    answer = await cache.once(binary_choice.WHOLE_RECORD, binary_choice.ask_whole_record)
    share = answer.misaligned
    if share is None:
        return binary_choice.unread_letter(cache, answer)
    entropy = reference_parsing.entropy(share) if cache.models.paper else bits(share)
    why = f"The model is unsure by {entropy:.2f} of 1 bit whether the agent does what was asked."
    told = binary_choice.told_of_letter(cache, answer)
    return from_replies(answer.calls, entropy, why, basis=answer.basis, misaligned_share=share, **told)


TOKEN_ENTROPY = Detector(
    "token-entropy", "Token entropy", ask=ask, prompts=(binary_choice.JUDGE, binary_choice.PROGRESS)
)
