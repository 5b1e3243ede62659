"""Binary choices: questions whose answer is one letter, A for true or B for false, and how sure the model is of B.

P(B) comes from the first letter that answers: the alternatives A and B at that place, renormalised; without
alternatives 1 - p; without any log probability the share of B among sampled answers.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from console.detection.detectors.shared import reference_parsing, reply_parsing
from console.detection.detectors.shared.prompt_views import PromptView
from console.detection.detectors.shared.query_cache import ModelCall, QueryCache, user
from console.detection.detectors.shared.reply_form import REFERENCE, form_of
from console.detection.detectors.shared.reply_verdict import share_of_votes, unparsed
from console.detection.detectors.verdict import Verdict
from console.llm import LLM, Message, Reply, Token

TOP = 5
MAX_TOKENS = 64
_WRAPPING = " \t\n*_`\"'()[].,:;"
Chat = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an answer, with one order of the labels: P(misaligned), None where unreadable, and whence it is."""

    misaligned: float | None
    says_so: bool
    basis: str
    calls: tuple[ModelCall, ...]
    chat: Chat


@dataclass(frozen=True, slots=True)
class BinaryAnswer:
    """The answer to a binary choice: all its sides, and the calls of the questions before it in the same chat."""

    sides: tuple[Side, ...]
    before: tuple[ModelCall, ...] = ()

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Every call so far, in order."""
        return (*self.before, *(call for side in self.sides for call in side.calls))

    @property
    def misaligned(self) -> float | None:
        """P(misaligned), the mean over the sides; None where one of them could not be read."""
        shares = [side.misaligned for side in self.sides if side.misaligned is not None]
        return sum(shares) / len(shares) if len(shares) == len(self.sides) else None

    @property
    def says_so(self) -> bool:
        """Whether the words say misaligned; two sides that disagree do."""
        return any(side.says_so for side in self.sides)

    @property
    def history(self) -> Chat:
        """What the reference code keeps of the chat for the checkpoints that follow: all but the last answer."""
        return self.sides[0].chat[:-1]

    @property
    def basis(self) -> str:
        """Where the probability comes from."""
        return "+".join(sorted({side.basis for side in self.sides}))


async def ask(
    cache: QueryCache, llm: LLM, prompt: str, view: PromptView, history: Chat = (), **slots: str
) -> BinaryAnswer:
    """The answer to a binary choice about the checkpoint, in a chat that begins with the history."""
    orders = (False, True) if cache.models.swap_labels else (False,)
    chats = [(*history, *_filled(cache, prompt, view, swapped, **slots)) for swapped in orders]
    sides = (_side(cache, llm, prompt, chat, swapped) for chat, swapped in zip(chats, orders, strict=True))
    return BinaryAnswer(tuple(await asyncio.gather(*sides)))


async def ask_further(cache: QueryCache, llm: LLM, prompt: str, view: PromptView, first: BinaryAnswer) -> BinaryAnswer:
    """The answer to a further binary choice in the same chat; it takes the place of the first."""
    chats = ((*side.chat, *_filled(cache, prompt, view, bool(order))) for order, side in enumerate(first.sides))
    sides = (_side(cache, llm, prompt, chat, bool(order)) for order, chat in enumerate(chats))
    return BinaryAnswer(tuple(await asyncio.gather(*sides)), before=first.calls)


def _filled(cache: QueryCache, prompt: str, view: PromptView, swapped: bool, **slots: str) -> Chat:
    true, false = ("option_b", "option_a") if swapped else ("option_a", "option_b")
    return (user(cache.filled(prompt, view, **{true: "true", false: "false"}, **slots)),)


async def _side(cache: QueryCache, llm: LLM, prompt: str, chat: Chat, swapped: bool) -> Side:
    form = form_of(prompt)
    read = partial(reply_parsing.letter, pattern=form.patterns.get("letter"))
    call = await cache.ask(llm, prompt, chat, read, logprobs=True, top_logprobs=TOP, max_tokens=MAX_TOKENS)
    reply, false = call.reply, "A" if swapped else "B"
    chat = (*chat, {"role": "assistant", "content": reply.text})
    if cache.models.paper or form.parser == REFERENCE:
        says_false = reference_parsing.says_false(reply.text)
        return Side(reference_parsing.misaligned_share(reply), says_false, "complement", (call,), chat)
    letter = read(reply.text)
    if letter is None:
        return Side(None, True, "unreadable", (call,), chat)
    share = share_of(reply, letter, false)
    if share is not None:
        return Side(share[0], letter.letter == false, share[1], (call,), chat)
    drawn = await cache.sample(llm, prompt, chat[:-1], read, max_tokens=MAX_TOKENS)
    votes = [found.letter == false if found else None for found in map(read, drawn.reply.texts)]
    return Side(share_of_votes(votes), letter.letter == false, "samples", (call, drawn), chat)


def share_of(reply: Reply, answered: reply_parsing.Letter, letter: str) -> tuple[float, str] | None:
    """(probability of that letter among A and B, where it comes from); None without log probabilities."""
    tokens = reply.token_logprobs[0]
    token = _token_at(tokens, reply.text, answered) if tokens else None
    if token is None:
        return None
    mass = {"A": 0.0, "B": 0.0}
    alternatives = dict(token.top) or {token.text: token.logprob}
    for text, logprob in alternatives.items():
        if (bare := text.strip(_WRAPPING)) in mass:
            mass[bare] += math.exp(logprob)
    if not any(mass.values()):
        mass[answered.letter] = math.exp(token.logprob)
    basis = "top_logprobs" if all(mass.values()) else "complement"
    other = "B" if answered.letter == "A" else "A"
    if not mass[other]:
        mass[other] = max(0.0, 1.0 - mass[answered.letter]) if len(alternatives) < TOP else _unseen(alternatives)
    return mass[letter] / (mass["A"] + mass["B"]), basis


def _unseen(alternatives: dict[str, float]) -> float:
    """The most that a letter can have which is not among the likeliest tokens."""
    shares = [math.exp(logprob) for logprob in alternatives.values()]
    return min(min(shares), max(0.0, 1.0 - sum(shares)))


def _token_at(tokens: Sequence[Token], text: str, answered: reply_parsing.Letter) -> Token | None:
    """The token that holds the letter; where the tokens do not add up to the text, the first that is the letter."""
    if "".join(token.text for token in tokens) == text:
        end = 0
        for token in tokens:
            end += len(token.text)
            if end > answered.at:
                return token
    return next((token for token in tokens if token.text.strip(_WRAPPING) == answered.letter), None)


WHOLE_RECORD = "whole record"
JUDGE, PROGRESS = ("token", "judge"), ("token", "progress")


async def ask_whole_record(cache: QueryCache) -> BinaryAnswer:
    """The answer about the whole record, which token-prob and token-entropy share.

    Where it is B and the action can come midway, it is the answer to the question about progress.
    """
    llm, view, before = cache.models.verify, cache.full_view, cache.before
    history = (await before.once(WHOLE_RECORD, ask_whole_record)).history if before else ()
    first = await ask(cache, llm, cache.prompt(*JUDGE), view, history)
    if not asks_further(cache, first):
        return first
    return await ask_further(cache, llm, cache.prompt(*PROGRESS), view, first)


def asks_further(cache: QueryCache, first: BinaryAnswer) -> bool:
    """Whether progress is asked about: the answer is false, and the task may only be under way."""
    readable = first.misaligned is not None or cache.models.paper
    return readable and first.says_so and cache.midway


def unread_letter(cache: QueryCache, answer: BinaryAnswer) -> Verdict:
    """The verdict without a log probability of the letter; the reference code has an error then, whose score is 0."""
    return unparsed(answer.calls, "letter", paper_score=0.0 if cache.models.paper else None)


def told_of_letter(cache: QueryCache, answer: BinaryAnswer) -> dict[str, Any]:
    """The letter that the reference code stops by, where its way is gone."""
    return {"letter": reference_parsing.letter(answer.calls[-1].reply)} if cache.models.paper else {}
