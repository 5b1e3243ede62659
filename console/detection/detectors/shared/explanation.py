"""The explanation of a flag: in one further call a sentence on where the inferred task leaves the user's.

What the model says and what `rules` finds stand side by side, each line marked by its source. It stands alone
because it explains a verdict that is given already: no detector asks for it, and no client of a model is in it.
"""

from __future__ import annotations

from dataclasses import replace

import orjson

from console.detection.detectors.rules import RULES
from console.detection.detectors.shared import reply_parsing
from console.detection.detectors.shared.query_cache import QueryCache, user
from console.detection.detectors.shared.reply_form import form_of
from console.detection.detectors.shared.reply_verdict import from_replies
from console.detection.detectors.verdict import Verdict, sum_of

EXPLAIN = ("inferact", "explain")
MAX_TOKENS = 200


async def explained(cache: QueryCache, verdict: Verdict) -> Verdict:
    """The verdict with its why; as it is where no task was inferred, or where the model gives no reason."""
    if not verdict.inferred_task:
        return verdict
    prompt = cache.prompt(*EXPLAIN)
    form = form_of(prompt)
    chat = [user(cache.filled(prompt, cache.masked_view, inferred_task=verdict.inferred_task))]

    def read(text: str) -> str | None:
        return reply_parsing.labelled(text, form.reason, form.patterns.get("reason")) or None

    call = await cache.ask(cache.models.verify, prompt, chat, read, max_tokens=MAX_TOKENS)
    told, also = read(call.reply.text), from_replies([call], 0.0, "")
    lines = [f"The model: {told}"] if told else []
    lines += [f"Rules: {line}" for line in _facts(cache)]
    return replace(
        verdict,
        rationale="\n".join([*lines, verdict.rationale]).strip(),
        parameters={**verdict.parameters, "explained": bool(told)},
        raw=orjson.dumps([*orjson.loads(verdict.raw or "[]"), *orjson.loads(also.raw or "[]")]).decode(),
        spent=sum_of([verdict.spent, also.spent]),
    )


def _facts(cache: QueryCache) -> list[str]:
    """What `rules` says of the same checkpoint, where it would flag it too."""
    found = RULES.judge(cache.checkpoint, cache.seed) if RULES.judge else Verdict(0.0)
    return found.rationale.splitlines() if found.score > RULES.threshold else []
