"""Verdicts from replies: every one carries what was asked, what came back, and what that took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import orjson

from console.detection.detectors.shared.query_cache import ModelCall
from console.detection.detectors.verdict import NO_REPLY, UNPARSED, Spent, Verdict, sum_of
from console.llm import Reply

_NOTHING_SAID = "stop"


def from_replies(
    calls: Sequence[ModelCall],
    score: float,
    rationale: str,
    *,
    probability: float | None = None,
    inferred_task: str | None = None,
    **parameters: Any,
) -> Verdict:
    """The verdict that those replies give."""
    return Verdict(
        score=score,
        rationale=rationale,
        inferred_task=inferred_task,
        probability=probability,
        parameters={**parameters, **_left_out(calls)},
        raw=orjson.dumps([_shown(call) for call in calls]).decode(),
        spent=sum_of([_spent(call.reply) for call in calls]),
    )


def unparsed(
    calls: Sequence[ModelCall], lacking: str, *, inferred_task: str | None = None, paper_score: float | None = None
) -> Verdict:
    """The verdict that flags, since a reply does not say what it was asked for; with `paper_score` that of the paper.

    Where the reply is empty its cause is told, and stands among the parameters.
    """
    silence = silence_of(calls[-1])
    told: dict[str, Any] = {NO_REPLY: silence} if silence else {}
    if paper_score is not None:
        why = f"The model's reply has no {lacking}; the reference code then scores {paper_score:g}."
        return from_replies(calls, paper_score, why, inferred_task=inferred_task, unread=True, **told)
    lacks = f"The model did not answer ({silence})" if silence else f"The model's reply has no {lacking}"
    why = f"{lacks}, so a person has to look."
    return from_replies(calls, 1.0, why, inferred_task=inferred_task, **{UNPARSED: True}, **told)


def silence_of(call: ModelCall) -> str:
    """Why a reply says nothing; empty where it says something."""
    reply = call.reply
    if not reply.is_empty:
        return ""
    if reply.is_cut:
        return f"{reply.usage.completion_tokens:,} tokens were used up before it said anything"
    told = [finish for finish in reply.finish if finish not in ("", _NOTHING_SAID)]
    return told[0].rstrip(".") if told else "the reply is empty"


def share_of_votes(votes: Sequence[bool | None]) -> float | None:
    """The share of true among the votes that could be read; None without any.

    A tie needs an unreadable vote, and that one then counts as true.
    """
    read = [vote for vote in votes if vote is not None]
    if not read:
        return None
    against = sum(read)
    return (against + 1) / (len(read) + 1) if 2 * against == len(read) else against / len(read)


def bits(probability: float) -> float:
    """The entropy of a yes-or-no answer in bits; 0 for a sure one."""
    other = 1.0 - probability
    return sum(-p * math.log2(p) for p in (probability, other) if p > 0)


def _spent(reply: Reply) -> Spent:
    usage = reply.usage
    return Spent(reply.requests, usage.prompt_tokens, usage.completion_tokens, reply.latency_ms, reply.cost_usd)


def _left_out(calls: Sequence[ModelCall]) -> dict[str, Any]:
    lacking = sorted({name for call in calls for name in call.reply.without})
    return {"not_offered": lacking} if lacking else {}


def _shown(call: ModelCall) -> dict[str, Any]:
    reply = call.reply
    shown = {"prompt": call.prompt, "model": reply.model, "texts": reply.texts}
    told = [finish for finish in reply.finish if finish and finish != _NOTHING_SAID]
    return shown | ({"finish": told} if told else {})
