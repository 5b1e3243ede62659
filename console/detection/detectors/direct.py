"""Direct: the model is shown task and record and says Correct or Incorrect (InferAct, section 4.1)."""

from __future__ import annotations

from console.detection.detectors.shared import reply_parsing
from console.detection.detectors.shared.query_cache import QueryCache, user
from console.detection.detectors.shared.reply_verdict import from_replies, unparsed
from console.detection.detectors.verdict import Detector, Verdict

PROMPT = ("direct", "judge")
MAX_TOKENS = 300


async def ask(cache: QueryCache) -> Verdict:
    """The direct verdict: score 1 for Incorrect, 0 for Correct."""
    prompt = cache.prompt(*PROMPT)
    chat = [user(cache.filled(prompt, cache.full_view))]
    call = await cache.ask(cache.models.verify, prompt, chat, max_tokens=MAX_TOKENS)
    says = reply_parsing.misaligned(call.reply.text)
    if says is None:
        return unparsed([call], "verdict")
    return from_replies([call], float(says), reply_parsing.labelled(call.reply.text, "Reason"))


DIRECT = Detector("direct", "Direct prompt", ask=ask, prompts=(PROMPT,))
