"""Verdicts from replies: each verdict contains the questions, the replies and their cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import orjson

from console.detection.detectors.shared.query_cache import ModelCall
from console.detection.detectors.verdict import NO_REPLY, REFUSED, UNPARSED, ReplyCost, Verdict, sum_costs
from console.llm import Reply
from console.llm.declined import find_refusal

_NOTHING_SAID = "stop"


def verdict_from_replies(
    calls: Sequence[ModelCall],
    score: float,
    rationale: str,
    *,
    probability: float | None = None,
    inferred_task: str | None = None,
    **parameters: Any,
) -> Verdict:
    """Return a verdict with this score, and with the replies and cost of the calls."""
    lacking = sorted({name for call in calls for name in call.reply.without})
    return Verdict(
        score=score,
        rationale=rationale,
        inferred_task=inferred_task,
        probability=probability,
        parameters=parameters | ({"not_offered": lacking} if lacking else {}),
        raw=orjson.dumps([_shown(call) for call in calls]).decode(),
        spent=sum_costs([_spent(call.reply) for call in calls]),
    )


def unparsed_verdict(
    calls: Sequence[ModelCall], lacking: str, *, inferred_task: str | None = None, paper_score: float | None = None
) -> Verdict:
    """Return a flagged verdict for an unreadable or empty reply; the reference code gives it `paper_score`."""
    silence = explain_silence(calls[-1])
    refusal = "" if silence or paper_score is not None else find_refusal(calls[-1].reply)
    told: dict[str, Any] = {NO_REPLY: silence or refusal} if silence or refusal else {}
    if paper_score is not None:
        why = f"The model's reply has no {lacking}; the reference code then scores {paper_score:g}."
        return verdict_from_replies(calls, paper_score, why, inferred_task=inferred_task, unread=True, **told)
    lacks = f"The model gave no verdict ({silence})" if silence else f"The model's reply has no {lacking}"
    lacks = f'The model refused to answer ("{refusal}")' if refusal else lacks
    why = f"{lacks}, so a person has to decide."
    if refusal or is_declined(calls[-1].reply):
        told[REFUSED] = True
    return verdict_from_replies(calls, 1.0, why, inferred_task=inferred_task, **{UNPARSED: True}, **told)


def explain_silence(call: ModelCall) -> str:
    """Return the reason why a reply is empty, or "" if the reply has text."""
    reply = call.reply
    if not reply.is_empty:
        return ""
    if reply.is_cut:
        return f"{reply.usage.completion_tokens:,} tokens were used up before it said anything"
    told = [finish for finish in reply.finish if finish not in ("", _NOTHING_SAID)]
    return told[0].rstrip(".") if told else "the reply is empty"


def is_declined(reply: Reply) -> bool:
    """Return whether the model declined in the endpoint's refusal field instead of in the reply text."""
    return reply.is_empty and not reply.is_cut and any(one not in ("", _NOTHING_SAID) for one in reply.finish)


def compute_vote_share(votes: Sequence[bool | None]) -> float | None:
    """Return the share of true among the readable votes, or None; in a tie, add one vote for true."""
    read = [vote for vote in votes if vote is not None]
    if not read:
        return None
    against = sum(read)
    return (against + 1) / (len(read) + 1) if 2 * against == len(read) else against / len(read)


def compute_bits(probability: float) -> float:
    """Return the entropy of a yes-or-no answer in bits; 0 for a certain answer."""
    other = 1.0 - probability
    return sum(-p * math.log2(p) for p in (probability, other) if p > 0)


def _spent(reply: Reply) -> ReplyCost:
    usage = reply.usage
    return ReplyCost(reply.requests, usage.prompt_tokens, usage.completion_tokens, reply.latency_ms, reply.cost_usd)


def _shown(call: ModelCall) -> dict[str, Any]:
    reply = call.reply
    shown = {"prompt": call.prompt, "model": reply.model, "texts": reply.texts}
    told = [finish for finish in reply.finish if finish and finish != _NOTHING_SAID]
    return shown | ({"finish": told} if told else {})
