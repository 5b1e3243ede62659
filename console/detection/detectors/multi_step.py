"""Multi-step: one reply gives a probability of correctness for each step (InferAct, section 4.1)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Awaitable, Callable, Sequence

from console.detection.detectors.shared import reference_parsing, reply_parsing
from console.detection.detectors.shared.query_cache import SAMPLING_TEMPERATURE, ModelCall, QueryCache, user_message
from console.detection.detectors.shared.reply_form import REFERENCE, read_form
from console.detection.detectors.shared.reply_verdict import unparsed_verdict, verdict_from_replies
from console.detection.detectors.verdict import Detector, Verdict

PROMPT = ("multi-step", "judge")
_MAX_TOKENS, _TOKENS_A_STEP = 300, 12
Steps = tuple[tuple[ModelCall, ...], tuple[float, ...] | None]


async def _steps(cache: QueryCache) -> Steps:
    """Return the model calls and a probability for each step; request another reply if one is missing."""
    prompt, view, calls = cache.prompt(*PROMPT), cache.full_view, []
    read, schema = _reading(cache, prompt), read_form(prompt).steps_schema()
    chat = [user_message(cache.filled(prompt, view))]
    room = _MAX_TOKENS + _TOKENS_A_STEP * view.steps
    for take, temperature in enumerate((0.0,) if cache.models.paper else (0.0, SAMPLING_TEMPERATURE)):
        options = {"max_tokens": room, "temperature": temperature, "take": take}
        calls.append(await cache.ask(cache.models.verify, prompt, chat, read, schema=schema, **options))
        found = read(calls[-1].reply.text)
        if found is not None:
            return tuple(calls), found
    return tuple(calls), None


def _reading(cache: QueryCache, prompt: str) -> Callable[[str], tuple[float, ...] | None]:
    form = read_form(prompt)
    if cache.models.paper or form.parser == REFERENCE:
        return lambda text: reference_parsing.read_steps(text, form)
    return lambda text: reply_parsing.read_probabilities(text, cache.full_view.steps, form.patterns.get("step"))


def _view(put_together: Callable[[Sequence[float]], float]) -> Callable[[QueryCache], Awaitable[Verdict]]:
    async def ask(cache: QueryCache) -> Verdict:
        calls, steps = await cache.once("multi-step", _steps)
        if steps is None:
            return unparsed_verdict(calls, "probability for each step", paper_score=1.0 if cache.models.paper else None)
        score = min(max(1.0 - put_together(steps), 0.0), 1.0)
        lowest = min(range(len(steps)), key=steps.__getitem__)
        why = f"Step {lowest + 1} is the least likely to be right ({steps[lowest]:.2f})."
        told = reply_parsing.read_justification(calls[-1].reply.text, read_form(cache.prompt(*PROMPT)).justification)
        return verdict_from_replies(calls, score, f"{why}\n{told}".strip(), probability=score, steps=steps)

    return ask


def _detector(name: str, title: str, put_together: Callable[[Sequence[float]], float]) -> Detector:
    return Detector(name, title, ask=_view(put_together), prompts=(PROMPT,))


MULTI_STEP = _detector("multi-step", "Multi-step (product)", math.prod)
MULTI_STEP_MIN = _detector("multi-step-min", "Multi-step (minimum)", min)
MULTI_STEP_MAX = _detector("multi-step-max", "Multi-step (maximum)", max)
MULTI_STEP_MEAN = _detector("multi-step-mean", "Multi-step (mean)", statistics.fmean)
