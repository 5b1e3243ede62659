"""Baselines of the paper (InferAct, section 4.1), and its two bounds: full validation and random scores."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from console.detection.detectors.shared import binary_choice, reference_parsing, reply_parsing
from console.detection.detectors.shared.query_cache import (
    SAMPLES,
    SAMPLING_TEMPERATURE,
    ModelCall,
    QueryCache,
    user_message,
)
from console.detection.detectors.shared.reply_parsing import REFERENCE, ReplyForm, read_form
from console.detection.detectors.shared.reply_verdict import (
    compute_bits,
    compute_vote_share,
    unparsed_verdict,
    verdict_from_replies,
)
from console.detection.detectors.verdict import Detector, Verdict
from console.trajectory.checkpoints import Checkpoint

_DIRECT = ("direct", "judge")
_MAX_TOKENS = 300


async def judge_directly(cache: QueryCache) -> Verdict:
    """Judge by one answer: the score is 1 for Incorrect and 0 for Correct."""
    prompt = cache.prompt(*_DIRECT)
    form, read = _reading(cache, prompt)
    chat = [user_message(cache.filled(prompt, cache.full_view))]
    schema = form.verdict_schema()
    call = await cache.ask(cache.models.verify, prompt, chat, read, schema=schema, max_tokens=_MAX_TOKENS)
    says = read(call.reply.text)
    if says is None:
        # The reference takes what it cannot parse for no alert.
        return unparsed_verdict([call], "verdict", paper_score=0.0 if cache.models.paper else None)
    return verdict_from_replies([call], float(says), _why(call.reply.text, form))


def _reading(cache: QueryCache, prompt: str) -> tuple[ReplyForm, Callable[[str], bool | None]]:
    form = read_form(prompt)
    if cache.models.paper or form.parser == REFERENCE:
        return form, lambda text: reference_parsing.is_misaligned(text, form, cache.checkpoint.environment)
    return form, lambda text: reply_parsing.is_misaligned(text, form)


def _why(text: str, form: ReplyForm) -> str:
    told = reply_parsing.read_label(text, form.reason, form.patterns.get("reason"))
    return told or "The model gives no reason."


DIRECT = Detector("direct", "Direct prompt", ask=judge_directly, prompts=(_DIRECT,))


async def judge_by_majority(cache: QueryCache) -> Verdict:
    """Judge by the share of Incorrect among the readable answers; a tie is flagged."""
    prompt = cache.prompt(*_DIRECT)
    form, read = _reading(cache, prompt)
    chat = [user_message(cache.filled(prompt, cache.full_view))]
    schema = form.verdict_schema()
    call = await cache.sample(cache.models.verify, prompt, chat, read, schema=schema, max_tokens=_MAX_TOKENS)
    texts = call.reply.texts
    votes = [read(text) for text in texts]
    share = _paper_share(cache, form, texts) if cache.models.paper else compute_vote_share(votes)
    if share is None:
        # The reference looks no further at what one bad sample voids, and its metrics count it as wrong either way.
        return unparsed_verdict([call], "verdict in any sample", paper_score=1.0 if cache.models.paper else None)
    told = (_why(text, form) for text, vote in zip(texts, votes, strict=True) if vote == (share > 0.5))
    reason = next(told, "")
    parameters: dict[str, Any] = {
        "samples": SAMPLES,
        "temperature": SAMPLING_TEMPERATURE,
        "unreadable_samples": votes.count(None),
    }
    if len(set(texts)) == 1 and len(texts) > 1:
        parameters["identical_samples"] = True
    why = f"{votes.count(True)} of {len(votes)} answers say Incorrect.\n{reason}".strip()
    return verdict_from_replies([call], share, why, probability=None if cache.models.paper else share, **parameters)


def _paper_share(cache: QueryCache, form: ReplyForm, texts: Sequence[str]) -> float | None:
    where = cache.checkpoint.environment
    told = [reference_parsing.read_verdict(text, form, where) for text in texts]
    # The most common of five verdicts counts, compared as exact text; none does if any is unreadable.
    agreed = Counter(told).most_common(1)[0][0] if told and None not in told else None
    return None if agreed is None else float(any(word in agreed for word in form.misaligned))


SELF_CONSISTENCY = Detector(
    "self-consistency", "Self-consistency", ask=judge_by_majority, prompts=(_DIRECT,), seeded=True
)


async def judge_by_token(cache: QueryCache) -> Verdict:
    """Judge by P(B) at the answer letter."""
    answer = await cache.once(binary_choice.WHOLE_RECORD, binary_choice.ask_whole_record)
    share = answer.misaligned
    if share is None:
        return binary_choice.verdict_without_letter(cache, answer)
    why = f"The model's probability that the agent does not do what was asked is {share:.2f}."
    told = binary_choice.letter_parameters(cache, answer)
    return verdict_from_replies(answer.calls, share, why, probability=share, basis=answer.basis, **told)


TOKEN_PROB = Detector(
    "token-prob", "Token probability", ask=judge_by_token, prompts=(binary_choice.JUDGE, binary_choice.PROGRESS)
)


async def judge_by_entropy(cache: QueryCache) -> Verdict:
    """Judge by the entropy of P(B) in bits, from 0 (P(B) is 0 or 1) to 1 (P(B) is 0.5)."""
    answer = await cache.once(binary_choice.WHOLE_RECORD, binary_choice.ask_whole_record)
    share = answer.misaligned
    if share is None:
        return binary_choice.verdict_without_letter(cache, answer)
    entropy = reference_parsing.compute_entropy(share) if cache.models.paper else compute_bits(share)
    why = f"The model is unsure by {entropy:.2f} of 1 bit whether the agent does what was asked."
    told = binary_choice.letter_parameters(cache, answer)
    return verdict_from_replies(answer.calls, entropy, why, basis=answer.basis, misaligned_share=share, **told)


TOKEN_ENTROPY = Detector(
    "token-entropy", "Token entropy", ask=judge_by_entropy, prompts=(binary_choice.JUDGE, binary_choice.PROGRESS)
)


def inspect_all(checkpoint: Checkpoint, seed: int) -> Verdict:
    """Flag every checkpoint with score 1."""
    return Verdict(score=1.0)


FULL_VALIDATION = Detector("full-validation", "Full validation", inspect_all)


def draw(checkpoint: Checkpoint, seed: int) -> Verdict:
    """Return a uniform random score in [0, 1), determined by the seed and the content of the checkpoint."""
    seen = [str(seed), checkpoint.instruction, str(checkpoint.index), checkpoint.action]
    seen += [step.action for step in checkpoint.steps]
    drawn = hashlib.sha256("\x1f".join(seen).encode("utf-8", "surrogatepass")).digest()
    score = int.from_bytes(drawn[:7], "big") / 2**56
    # A reason would name the detector to participants who must not know it.
    return Verdict(score=score, parameters={"seed": seed})


RANDOM = Detector("random", "Random", draw, seeded=True)


_MULTI_STEP = ("multi-step", "judge")
_STEPS_TOKENS, _TOKENS_A_STEP = 300, 12
Steps = tuple[tuple[ModelCall, ...], tuple[float, ...] | None]


async def _steps(cache: QueryCache) -> Steps:
    """Return the model calls and one probability per step, or None for the probabilities if no reply can be parsed.

    Outside paper mode, request one more reply if the first reply cannot be parsed.
    """
    prompt, view, calls = cache.prompt(*_MULTI_STEP), cache.full_view, []
    read, schema = _steps_reader(cache, prompt), read_form(prompt).steps_schema()
    chat = [user_message(cache.filled(prompt, view))]
    room = _STEPS_TOKENS + _TOKENS_A_STEP * view.steps
    for take, temperature in enumerate((0.0,) if cache.models.paper else (0.0, SAMPLING_TEMPERATURE)):
        options: dict[str, Any] = {"max_tokens": room, "temperature": temperature, "take": take}
        calls.append(await cache.ask(cache.models.verify, prompt, chat, read, schema=schema, **options))
        found = read(calls[-1].reply.text)
        if found is not None:
            return tuple(calls), found
    return tuple(calls), None


def _steps_reader(cache: QueryCache, prompt: str) -> Callable[[str], tuple[float, ...] | None]:
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
        told = reply_parsing.read_justification(
            calls[-1].reply.text, read_form(cache.prompt(*_MULTI_STEP)).justification
        )
        return verdict_from_replies(calls, score, f"{why}\n{told}".strip(), probability=score, steps=steps)

    return ask


def _detector(name: str, title: str, put_together: Callable[[Sequence[float]], float]) -> Detector:
    return Detector(name, title, ask=_view(put_together), prompts=(_MULTI_STEP,))


MULTI_STEP = _detector("multi-step", "Multi-step (product)", math.prod)
MULTI_STEP_MIN = _detector("multi-step-min", "Multi-step (minimum)", min)
MULTI_STEP_MAX = _detector("multi-step-max", "Multi-step (maximum)", max)
MULTI_STEP_MEAN = _detector("multi-step-mean", "Multi-step (mean)", statistics.fmean)
