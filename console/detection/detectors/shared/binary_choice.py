"""Binary choices: questions answered by one letter, A for true or B for false, and the model's P(B).

P(B) is read at the answer letter, from the alternatives A and B at that position, renormalised. If the alternatives are
missing, the other letter gets 1 - p. If log probabilities are missing, P(B) is the share of B among sampled answers.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from console.detection.detectors.shared import reference_parsing, reply_parsing
from console.detection.detectors.shared.query_cache import ModelCall, PromptView, QueryCache, user_message
from console.detection.detectors.shared.reply_parsing import REFERENCE, read_form
from console.detection.detectors.shared.reply_verdict import compute_vote_share, unparsed_verdict
from console.detection.detectors.verdict import Verdict
from console.llm import LLM, Message, Reply, Token

TOP = 5
MAX_TOKENS = 64
_WRAPPING = " \t\n*_`\"'()[].,:;"
Chat = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """The answer for one order of the labels: P(misaligned) (None if the reply is unreadable) and its basis."""

    misaligned: float | None
    says_so: bool
    basis: str
    calls: tuple[ModelCall, ...]
    chat: Chat


@dataclass(frozen=True, slots=True)
class BinaryAnswer:
    """The answer to a binary choice: one side for each label order, and the calls of earlier questions in the chat."""

    sides: tuple[Side, ...]
    before: tuple[ModelCall, ...] = ()

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """All calls so far, in order."""
        return (*self.before, *(call for side in self.sides for call in side.calls))

    @property
    def misaligned(self) -> float | None:
        """P(misaligned), the mean over the sides; None if one of them was unreadable."""
        shares = [side.misaligned for side in self.sides if side.misaligned is not None]
        return sum(shares) / len(shares) if len(shares) == len(self.sides) else None

    @property
    def says_so(self) -> bool:
        """True if the answer letter means misaligned; two sides that disagree count as misaligned."""
        return any(side.says_so for side in self.sides)

    @property
    def history(self) -> Chat:
        """The chat that the reference code keeps for later checkpoints: all messages except the last answer."""
        return self.sides[0].chat[:-1]

    @property
    def basis(self) -> str:
        """The source of the probability."""
        return "+".join(sorted({side.basis for side in self.sides}))


async def ask(
    cache: QueryCache, llm: LLM, prompt: str, view: PromptView, history: Chat = (), **slots: str
) -> BinaryAnswer:
    """Ask a binary question about the checkpoint, in a chat that begins with the history."""
    orders = (False, True) if cache.models.swap_labels else (False,)
    chats = [(*history, *_filled(cache, prompt, view, swapped, **slots)) for swapped in orders]
    sides = (_side(cache, llm, prompt, chat, swapped) for chat, swapped in zip(chats, orders, strict=True))
    return BinaryAnswer(tuple(await asyncio.gather(*sides)))


async def ask_further(cache: QueryCache, llm: LLM, prompt: str, view: PromptView, first: BinaryAnswer) -> BinaryAnswer:
    """Ask a further binary choice in the same chat; the new answer replaces the first answer."""
    chats = ((*side.chat, *_filled(cache, prompt, view, bool(order))) for order, side in enumerate(first.sides))
    sides = (_side(cache, llm, prompt, chat, bool(order)) for order, chat in enumerate(chats))
    return BinaryAnswer(tuple(await asyncio.gather(*sides)), before=first.calls)


def _filled(cache: QueryCache, prompt: str, view: PromptView, swapped: bool, **slots: str) -> Chat:
    true, false = ("option_b", "option_a") if swapped else ("option_a", "option_b")
    return (user_message(cache.filled(prompt, view, **{true: "true", false: "false"}, **slots)),)


async def _side(cache: QueryCache, llm: LLM, prompt: str, chat: Chat, swapped: bool) -> Side:
    form = read_form(prompt)
    read = partial(reply_parsing.read_letter, pattern=form.patterns.get("letter"))
    call = await cache.ask(llm, prompt, chat, read, logprobs=True, top_logprobs=TOP, max_tokens=MAX_TOKENS)
    reply, false = call.reply, "A" if swapped else "B"
    chat = (*chat, {"role": "assistant", "content": reply.text})
    if cache.models.paper or form.parser == REFERENCE:
        says_false = reference_parsing.says_false(reply.text)
        return Side(reference_parsing.read_misaligned_share(reply), says_false, "complement", (call,), chat)
    letter = read(reply.text)
    if letter is None:
        return Side(None, True, "unreadable", (call,), chat)
    share = read_share(reply, letter, false)
    if share is not None:
        return Side(share[0], letter.letter == false, share[1], (call,), chat)
    drawn = await cache.sample(llm, prompt, chat[:-1], read, max_tokens=MAX_TOKENS)
    votes = [found.letter == false if found else None for found in map(read, drawn.reply.texts)]
    return Side(compute_vote_share(votes), letter.letter == false, "samples", (call, drawn), chat)


def read_share(reply: Reply, answered: reply_parsing.Letter, letter: str) -> tuple[float, str] | None:
    """Return the probability of that letter among A and B and its basis, or None if log probabilities are missing."""
    tokens = reply.token_logprobs[0]
    token = _token_at(tokens, reply.text, answered) if tokens else None
    if token is None:
        return None
    mass = {"A": 0.0, "B": 0.0}
    alternatives = dict(token.top) or {token.text: token.logprob}
    for text, logprob in alternatives.items():
        if (bare := reply_parsing.fold_letter(text).strip(_WRAPPING)) in mass:
            mass[bare] += math.exp(logprob)
    if not any(mass.values()):
        mass[answered.letter] = math.exp(token.logprob)
    basis = "top_logprobs" if all(mass.values()) else "complement"
    other = "B" if answered.letter == "A" else "A"
    if not mass[other]:
        shares = [math.exp(logprob) for logprob in alternatives.values()]
        # A letter outside the likeliest tokens is at most as likely as the last of them.
        unseen = min(min(shares), max(0.0, 1.0 - sum(shares)))
        mass[other] = max(0.0, 1.0 - mass[answered.letter]) if len(alternatives) < TOP else unseen
    return mass[letter] / (mass["A"] + mass["B"]), basis


def _token_at(tokens: Sequence[Token], text: str, answered: reply_parsing.Letter) -> Token | None:
    """Return the token that holds the letter, or the first equal token if the tokens do not add up to the text."""
    if "".join(token.text for token in tokens) == text:
        end = 0
        for token in tokens:
            end += len(token.text)
            if end > answered.at:
                return token
    bare = ((token, reply_parsing.fold_letter(token.text).strip(_WRAPPING)) for token in tokens)
    return next((token for token, letter in bare if letter == answered.letter), None)


WHOLE_RECORD = "whole record"
JUDGE, PROGRESS = ("token", "judge"), ("token", "progress")


async def ask_whole_record(cache: QueryCache) -> BinaryAnswer:
    """Ask about the whole record; if the answer is B and more actions can follow, ask about progress instead."""
    llm, view, before = cache.models.verify, cache.full_view, cache.before
    history = (await before.once(WHOLE_RECORD, ask_whole_record)).history if before else ()
    first = await ask(cache, llm, cache.prompt(*JUDGE), view, history)
    if not should_ask_further(cache, first):
        return first
    return await ask_further(cache, llm, cache.prompt(*PROGRESS), view, first)


def should_ask_further(cache: QueryCache, first: BinaryAnswer) -> bool:
    """Return whether to ask about progress: the answer is false, and the task may still be in progress."""
    readable = first.misaligned is not None or cache.models.paper
    return readable and first.says_so and cache.midway


def verdict_without_letter(cache: QueryCache, answer: BinaryAnswer) -> Verdict:
    """Return the verdict for a letter without a log probability; the reference code fails here and scores 0."""
    return unparsed_verdict(answer.calls, "letter", paper_score=0.0 if cache.models.paper else None)


def letter_parameters(cache: QueryCache, answer: BinaryAnswer) -> dict[str, Any]:
    """Return the first A or B of the last reply, as the reference code reads it; outside paper mode, an empty dict."""
    return {"letter": reference_parsing.read_letter(answer.calls[-1].reply)} if cache.models.paper else {}
