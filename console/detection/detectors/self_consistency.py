"""Self-consistency: five answers to the direct question at temperature 0.7; their majority counts (InferAct, 4.1)."""

from __future__ import annotations

from typing import Any

from console.detection.detectors import direct
from console.detection.detectors.shared import reply_parsing
from console.detection.detectors.shared.query_cache import SAMPLES, SAMPLING_TEMPERATURE, QueryCache, user
from console.detection.detectors.shared.reply_verdict import from_replies, share_of_votes, unparsed
from console.detection.detectors.verdict import Detector, Verdict


async def ask(cache: QueryCache) -> Verdict:
    """The verdict by majority: the share of Incorrect among the answers that can be read; a tie flags."""
    prompt = cache.prompt(*direct.PROMPT)
    chat = [user(cache.filled(prompt, cache.full_view))]
    call = await cache.sample(cache.models.verify, prompt, chat, direct.MAX_TOKENS)
    texts = call.reply.texts
    votes = [reply_parsing.misaligned(text) for text in texts]
    share = share_of_votes(votes)
    if share is None:
        return unparsed([call], "verdict in any sample")
    reason = next(
        (
            reply_parsing.labelled(text, "Reason")
            for text, vote in zip(texts, votes, strict=True)
            if vote == (share > 0.5)
        ),
        "",
    )
    parameters: dict[str, Any] = {
        "samples": SAMPLES,
        "temperature": SAMPLING_TEMPERATURE,
        "unreadable_samples": votes.count(None),
    }
    if len(set(texts)) == 1 and len(texts) > 1:
        parameters["identical_samples"] = True
    why = f"{votes.count(True)} of {len(votes)} answers say Incorrect.\n{reason}".strip()
    return from_replies([call], share, why, probability=share, **parameters)


SELF_CONSISTENCY = Detector("self-consistency", "Self-consistency", ask=ask, prompts=(direct.PROMPT,), seeded=True)
