"""Capabilities of an endpoint: what it offers, found out by asking it."""

from __future__ import annotations

from dataclasses import dataclass

from console.llm.client import LLM
from console.llm.errors import ModelError, NoModel, SpendingCapReached
from console.llm.messages import PROBE
from console.settings import settings

_TOKENS = 5
_TOP = 5
_PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model's endpoint gives, or in one sentence why it gives nothing.

    `choices`: several answers to one request; `logprobs`: probabilities of its tokens; `alternatives`: how many of the
    other tokens' too; `left_out`: parameters that it does not take.
    """

    model: str
    endpoint: str
    answers: bool
    choices: bool = False
    logprobs: bool = False
    alternatives: int = 0
    left_out: tuple[str, ...] = ()
    latency_ms: float = 0.0
    problem: str | None = None


async def capabilities_of(model: str | None = None) -> Capabilities:
    """What the endpoint of the settings offers now, for that model or the settings' own: asked afresh and at once."""
    named = model or settings().model or ""
    try:
        async with LLM(named, timeout_s=_PATIENCE_S, deadline_s=_PATIENCE_S, retries=1) as llm:
            return await probe(llm)
    except NoModel as nothing:
        return Capabilities(named, "", answers=False, problem=str(nothing))


async def probe(llm: LLM) -> Capabilities:
    """What the endpoint offers; costs one short request, or two where it gives one choice at a time."""
    try:
        reply = await llm.complete(
            [PROBE],
            temperature=1.0,
            max_tokens=_TOKENS,
            n=2,
            logprobs=True,
            top_logprobs=_TOP,
            seed=0,
        )
    except (ModelError, SpendingCapReached) as failure:
        return Capabilities(llm.model, llm.endpoint, answers=False, problem=str(failure))
    alternatives = [len(token.top) for tokens in reply.token_logprobs for token in tokens or ()]
    return Capabilities(
        model=reply.model,
        endpoint=llm.endpoint,
        answers=True,
        choices="n" not in reply.without,
        logprobs=reply.has_logprobs,
        alternatives=max(alternatives, default=0),
        left_out=reply.without,
        latency_ms=reply.latency_ms,
    )
