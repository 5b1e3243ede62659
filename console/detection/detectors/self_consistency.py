"""Self-consistency: five answers to the direct question at temperature 0.7; their majority counts (InferAct, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.detection.detectors import direct
from console.detection.detectors.shared import reference_parsing
from console.detection.detectors.shared.query_cache import SAMPLES, SAMPLING_TEMPERATURE, QueryCache, user
from console.detection.detectors.shared.reply_form import ReplyForm
from console.detection.detectors.shared.reply_verdict import from_replies, share_of_votes, unparsed
from console.detection.detectors.verdict import Detector, Verdict


async def ask(cache: QueryCache) -> Verdict:
    """The verdict by majority: the share of Incorrect among the answers that can be read; a tie flags."""
    prompt = cache.prompt(*direct.PROMPT)
    form, read = direct.reading(cache, prompt)
    chat = [user(cache.filled(prompt, cache.full_view))]
    schema = form.verdict_schema()
    call = await cache.sample(cache.models.verify, prompt, chat, read, schema=schema, max_tokens=direct.MAX_TOKENS)
    texts = call.reply.texts
    votes = [read(text) for text in texts]
    share = _paper_share(cache, form, texts) if cache.models.paper else share_of_votes(votes)
    if share is None:
        # The reference looks no further at what one bad sample voids, and its metrics count it as wrong either way.
        return unparsed([call], "verdict in any sample", paper_score=1.0 if cache.models.paper else None)
    told = (direct.why(text, form) for text, vote in zip(texts, votes, strict=True) if vote == (share > 0.5))
    reason = next(told, "")
    parameters: dict[str, Any] = {
        "samples": SAMPLES,
        "temperature": SAMPLING_TEMPERATURE,
        "unreadable_samples": votes.count(None),
    }
    if len(set(texts)) == 1 and len(texts) > 1:
        parameters["identical_samples"] = True
    why = f"{votes.count(True)} of {len(votes)} answers say Incorrect.\n{reason}".strip()
    return from_replies([call], share, why, probability=None if cache.models.paper else share, **parameters)


def _paper_share(cache: QueryCache, form: ReplyForm, texts: Sequence[str]) -> float | None:
    where = cache.checkpoint.environment
    agreed = reference_parsing.majority([reference_parsing.verdict(text, form, where) for text in texts])
    return None if agreed is None else float(any(word in agreed for word in form.misaligned))


SELF_CONSISTENCY = Detector("self-consistency", "Self-consistency", ask=ask, prompts=(direct.PROMPT,), seeded=True)
