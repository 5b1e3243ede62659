"""Direct: the model is shown task and record and says Correct or Incorrect (InferAct, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable

from console.detection.detectors.shared import reference_parsing, reply_parsing
from console.detection.detectors.shared.query_cache import QueryCache, user
from console.detection.detectors.shared.reply_form import REFERENCE, ReplyForm, form_of
from console.detection.detectors.shared.reply_verdict import from_replies, unparsed
from console.detection.detectors.verdict import Detector, Verdict

PROMPT = ("direct", "judge")
MAX_TOKENS = 300


async def ask(cache: QueryCache) -> Verdict:
    """The direct verdict: score 1 for Incorrect, 0 for Correct."""
    prompt = cache.prompt(*PROMPT)
    form, read = reading(cache, prompt)
    chat = [user(cache.filled(prompt, cache.full_view))]
    schema = form.verdict_schema()
    call = await cache.ask(cache.models.verify, prompt, chat, read, schema=schema, max_tokens=MAX_TOKENS)
    says = read(call.reply.text)
    if says is None:
        # The reference takes what it cannot parse for no alert.
        return unparsed([call], "verdict", paper_score=0.0 if cache.models.paper else None)
    return from_replies([call], float(says), why(call.reply.text, form))


def reading(cache: QueryCache, prompt: str) -> tuple[ReplyForm, Callable[[str], bool | None]]:
    """The form of the verdict, and the function that reads whether it is misaligned."""
    form = form_of(prompt)
    if cache.models.paper or form.parser == REFERENCE:
        return form, lambda text: reference_parsing.misaligned(text, form, cache.checkpoint.environment)
    return form, lambda text: reply_parsing.misaligned(text, form)


def why(text: str, form: ReplyForm) -> str:
    """The reason that a verdict gives."""
    told = reply_parsing.labelled(text, form.reason, form.patterns.get("reason"))
    return told or "The model gives no reason."


DIRECT = Detector("direct", "Direct prompt", ask=ask, prompts=(PROMPT,))
