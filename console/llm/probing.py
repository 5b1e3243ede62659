"""What an endpoint offers, found out by asking it."""

from __future__ import annotations

from dataclasses import dataclass

from console.llm.client import LLM
from console.llm.errors import ModelError, SpendingCapReached

_QUESTION = "Is water wet?\nA. True\nB. False\nReply with one letter, A or B, and nothing before or after it."
_TOKENS = 5
_TOP = 5


@dataclass(frozen=True, slots=True)
class Offer:
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


async def probe(llm: LLM) -> Offer:
    """What the endpoint offers; costs one short request, or two where it gives one choice at a time."""
    try:
        reply = await llm.complete(
            [{"role": "user", "content": _QUESTION}],
            temperature=1.0,
            max_tokens=_TOKENS,
            n=2,
            logprobs=True,
            top_logprobs=_TOP,
            seed=0,
        )
    except (ModelError, SpendingCapReached) as failure:
        return Offer(llm.model, llm.endpoint, answers=False, problem=str(failure))
    alternatives = [len(token.top) for tokens in reply.token_logprobs for token in tokens or ()]
    return Offer(
        model=reply.model,
        endpoint=llm.endpoint,
        answers=True,
        choices="n" not in reply.without,
        logprobs=reply.has_logprobs,
        alternatives=max(alternatives, default=0),
        left_out=reply.without,
        latency_ms=reply.latency_ms,
    )
