"""Capabilities of an endpoint, found by test requests."""

from __future__ import annotations

from dataclasses import dataclass

from console.llm.client import LLM, ClientOptions
from console.llm.errors import ModelError, NoModel, SpendingCapReached
from console.llm.messages import PROBE, Sampling
from console.settings import settings

_PROBING = Sampling(temperature=1.0, max_tokens=5, n=2, logprobs=True, top_logprobs=5, seed=0)
_PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of a model's endpoint, or one sentence with the reason why the endpoint did not reply.

    `choices`: several answers per request; `alternatives`: tokens with probabilities; `left_out`: parameters not
    accepted.
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


async def find_capabilities(model: str | None = None) -> Capabilities:
    """Test the capabilities of the endpoint in the settings for this model, by default the model in the settings."""
    named = model or settings().model or ""
    options = ClientOptions(timeout_s=_PATIENCE_S, deadline_s=_PATIENCE_S, retries=1)
    try:
        async with LLM(named, options) as llm:
            return await probe(llm)
    except NoModel as nothing:
        return Capabilities(named, "", answers=False, problem=str(nothing))


async def probe(llm: LLM) -> Capabilities:
    """Test the endpoint with one short request, or with two if it returns one choice at a time."""
    try:
        reply = await llm.complete([PROBE], _PROBING)
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
