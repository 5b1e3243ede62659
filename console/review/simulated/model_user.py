"""The user played by a language model, one of REVIEWERS: the oracle's label with a model's feedback (InferAct, 4.3).

Initial and follow-up feedback have separate prompts. The feedback never reveals the target.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from console.llm import LLM, Reply, Sampling, connect
from console.llm.messages import merge_retries
from console.llm.prompts import name_for, render
from console.review.simulated import oracle
from console.review.simulated.feedback_text import GENERAL, NO_SECRETS, reveals_target, write_feedback
from console.review.simulated.reviewer import ModelWords, ReviewCase, Reviewer
from console.trajectory import Step

METHOD = "user"
MAX_TOKENS = 500
_SENTENCES, _ASKED = 5, 2
_RECORD_CHARS = 8_000
"""The maximum length of the record in characters, about 2,048 tokens; the longest observations are cut first."""
_THOUGHTS = frozenset({"webshop"})
"""Environments in which the reference code's user sees the agent's thoughts."""
_LABEL = re.compile(r"^[\s*_#]*feedback\s*[*_]*\s*:[\s*_]*", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_TARGET = {"hotpotqa": ("answer",)}
"""The parts of the gold target that the user knows, by environment; in others, the user knows all of it."""


def words(case: ReviewCase, model: str | None) -> ModelWords:
    """Return a model's feedback in the role of the user.

    If the feedback reveals the target, ask the model once more, then use general feedback. Raise NoModel if no model is
    configured, or ModelError if the model fails.
    """
    return asyncio.run(_asked(case, model))


async def _asked(case: ReviewCase, model: str | None) -> ModelWords:
    async with connect(model) as llm:
        replies: list[Reply] = []
        for take in range(_ASKED):
            replies.append(await _reply(llm, case, take))
            text = _said(replies[-1].text)
            if text and not reveals_target(text, case.task):
                break
            text = " ".join(part for part in _SENTENCE.split(text) if not reveals_target(part, case.task))
    taken = merge_retries(replies)
    return ModelWords(text or write_feedback(case, GENERAL), taken.requests, taken.cost_usd)


async def _reply(llm: LLM, case: ReviewCase, take: int) -> Reply:
    gold, shown = case.task.gold, _TARGET.get(case.task.environment)
    names = [name for name in gold if name not in NO_SECRETS and (shown is None or name in shown)]
    target = "\n".join(f"{name}: {gold[name]}" for name in names if gold[name] not in (None, ""))
    prompt = render(
        name_for(METHOD, case.task.environment, "further" if case.earlier else "initial"),
        instruction=case.task.instruction,
        gold=target or "(only that it was wrong is known)",
        trajectory=_record(case),
        **({"earlier": "\n".join(f"- {' '.join(words.split())}" for words in case.earlier)} if case.earlier else {}),
    )
    chat = [{"role": "user", "content": prompt}]
    return await llm.complete(chat, Sampling(max_tokens=MAX_TOKENS, seed=case.seed + take, take=take))


def _said(reply: str) -> str:
    """Return the feedback on one line, limited to a few sentences, without its label."""
    text = " ".join(_LABEL.sub("", reply).split())
    return " ".join(_SENTENCE.split(text)[:_SENTENCES])


def _record(case: ReviewCase) -> str:
    seen = case.checkpoint
    steps = [*seen.steps, Step(seen.thought, seen.action)] if seen.action else list(seen.steps)
    shown = steps if case.task.environment in _THOUGHTS else [replace(step, thought="") for step in steps]
    return "\n".join(_turn(step) for step in _shortened(shown))


def _turn(step: Step) -> str:
    told = (("Thought", step.thought), ("Action", step.action), ("Observation", step.observation))
    return "\n".join(f"{name}: {text}" for name, text in told if text.strip())


def _shortened(steps: Sequence[Step]) -> list[Step]:
    over = sum(len(_turn(step)) for step in steps) - _RECORD_CHARS
    found = list(steps)
    for at in sorted(range(len(found)), key=lambda at: -len(found[at].observation)):
        if over <= 0:
            break
        kept = max(200, len(found[at].observation) - over)
        over -= len(found[at].observation) - kept
        found[at] = replace(found[at], observation=found[at].observation[:kept] + " …")
    return found


MODEL_USER = Reviewer("model-user", "User simulated by a model", oracle.judge, words)
