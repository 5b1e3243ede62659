"""Evidence of a checkpoint, computed once for detectors' sentences and a page's highlights and table.

The evidence contains requested terms, offered and chosen options, text read, and argument sources.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property, lru_cache

from console.environments.acts import Act, answer_given, list_acts, pending_act
from console.environments.hotpotqa.reading import Reading, find_reading, is_spoken_of
from console.environments.tool_use import TracedCall, is_telling, trace_calls
from console.environments.webshop.purchase import BUYS, PRICE_SHOWN, Choice, Purchase, find_purchase, list_wanted_terms
from console.language import gettext_noop
from console.trajectory.checkpoints import Checkpoint, is_thought
from console.trajectory.effects import Effect, effects
from console.trajectory.messages import FIRST_WORDS
from console.trajectory.provenance import user_words
from console.trajectory.requirements import QuotePlace
from console.trajectory.terms import COUNTS, Term, TermKind, lowered, mentions, terms, vocabulary, words

LIMITS = frozenset({TermKind.PRICE_MAX, TermKind.PRICE_MIN, TermKind.NEGATION})
"""Kinds of terms that a text can satisfy without mentioning them, so that these terms are neither found nor missing."""
WORDS = frozenset({TermKind.WORD})
"""Kinds of terms that a text may express in other words, so a missing term is only weak evidence."""
_SEEN_LIMIT = 200_000
ORIGIN = gettext_noop("source")
NONE_ASKED, UNCLEAR = gettext_noop("none of these"), gettext_noop("no clear match")
NONE_CHOSEN = gettext_noop("none")
_CHOICES = (gettext_noop("option"), gettext_noop("asked"), gettext_noop("offered"), gettext_noop("chosen last"))
_ARGUMENTS = (gettext_noop("detail"), gettext_noop("value"), ORIGIN)
_QUESTION = re.compile(r"\?|^\W*(?:who|what|which|where|when|whose|how|is|are|was|were|do|does|did|in what|in which)\b")
_PACK = (
    r"(?<!\d){0}[\s-]?(?:packs?|count|ct|pcs|pieces?|bags?|boxes|bottles?|packets?|sets?|pairs?|pk)\b|"
    r"(?:pack|set|box) of {0}(?!\d)"
)
_ARTICLE = re.compile(r" (?:a|an|the) ")
_TEENS = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SIZES = tuple(
    frozenset(group.split(","))
    for group in (
        "s,small",
        "m,medium",
        "l,large",
        "xl,x large,1x,extra large",
        "xxl,xx large,2xl,2x",
        "3xl,xxx large,3x",
    )
)


class TermState(StrEnum):
    """The state of a stated term: found in the relevant text, only offered among options, or missing."""

    FOUND = "found"
    OFFERED = "offered, not chosen"
    MISSING = "not found"


@dataclass(frozen=True, slots=True)
class EvidenceTable:
    """The table shown for a decision: column names, and rows with one cell per column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Evidence:
    """A checkpoint and the evidence derived from it; texts for comparison are in lower case."""

    checkpoint: Checkpoint

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The terms in the first 20,000 characters of the instruction."""
        return terms(self.checkpoint.instruction[:20_000])

    @cached_property
    def acts(self) -> tuple[Act, ...]:
        """The actions before the critical action, without thoughts."""
        return list_acts(self.checkpoint)

    @cached_property
    def pending(self) -> Act:
        """The critical action."""
        return pending_act(self.checkpoint)

    @cached_property
    def instruction(self) -> str:
        """The instruction in lower case."""
        return lowered(self.checkpoint.instruction)

    @cached_property
    def _told(self) -> tuple[str, str]:
        replies = [act.observation for act in self.acts if act.talks]
        return user_words(self.checkpoint.instruction[:20_000], self.checkpoint.opening[:_SEEN_LIMIT], replies)

    @cached_property
    def user_texts(self) -> tuple[tuple[QuotePlace, int | None, str, int], ...]:
        """The texts of the user as (place, step, text, position at which the user's words begin), each text once."""
        seen = self.checkpoint
        before, mark, words = seen.opening.partition(FIRST_WORDS)
        is_new = mark and words.split() != seen.instruction.split()
        opening = [(QuotePlace.POLICY, None, seen.opening, len(before) + len(mark))] if is_new else []
        talks = [act for act in self.acts if act.talks and act.step <= len(seen.steps)]
        replies = [(QuotePlace.OBSERVATION, act.step, act.observation, 0) for act in talks]
        return ((QuotePlace.REQUEST, None, seen.instruction, 0), *opening, *replies)

    @cached_property
    def said(self) -> str:
        """The user's words as written, one text per line."""
        return "\n".join(whole[start:] for _, _, whole, start in self.user_texts)

    @property
    def user(self) -> str:
        """The user's words: the instruction and all replies, in lower case."""
        return self._told[0]

    @property
    def policy(self) -> str:
        """The agent's instructions that do not come from the user, in lower case."""
        return self._told[1]

    @cached_property
    def purchase(self) -> Purchase | None:
        """The purchase of the product whose page was opened last, or None without such a page."""
        shows_prices = any(PRICE_SHOWN.search(act.observation[:_SEEN_LIMIT]) for act in self.acts)
        return find_purchase(self.acts, self.checkpoint.instruction, self.terms) if shows_prices else None

    @cached_property
    def buys(self) -> bool:
        """Whether the pending action buys a product; outside a shop, only if the action names a purchase."""
        is_shop = self.checkpoint.environment == "webshop" or bool(BUYS.search(self.pending.action))
        return self.purchase is not None and is_shop

    @cached_property
    def reading(self) -> Reading | None:
        """The pages read before the answer.

        None if the task is not a question, if the agent ran code, or if the pending action is not a short answer.
        """
        given = answer_given(self.pending)
        if given is None or len(given) > 600 or len(self.pending.calls[0].arguments) > 1:
            return None
        asks = self.checkpoint.environment == "hotpotqa" or (given and _QUESTION.search(self.instruction))
        codes = any(Effect.RUN in effects(call.name) for act in self.acts for call in act.calls)
        return find_reading(self.acts, given, self.terms) if asks and not codes else None

    @cached_property
    def tool_calls(self) -> tuple[TracedCall, ...]:
        """The earlier calls that change data and all pending calls; none for purchases, answers and embedded tasks."""
        if self.purchase or self.reading or self.checkpoint.environment in ("webshop", "hotpotqa", "alfworld"):
            return ()
        return trace_calls(self.acts, self.pending, self.user, self.policy, self.checkpoint.tools)

    @cached_property
    def pending_calls(self) -> tuple[TracedCall, ...]:
        """The calls of the pending action."""
        return tuple(one for one in self.tool_calls if one.step == self.pending.step)

    @cached_property
    def wanted(self) -> tuple[Term, ...]:
        """The terms that the relevant text can be expected to mention, without duplicates."""
        if self.purchase:
            # A word before an article is a typing error of the verb: "looking fort a kit".
            text = self.instruction
            return tuple(term for term in list_wanted_terms(self.terms) if not _ARTICLE.match(text, term.end))
        once = {lowered(term.text): term for term in reversed(self.terms) if term.kind not in LIMITS}
        return tuple(reversed(once.values()))

    @cached_property
    def read_before(self) -> str:
        """The last 200,000 characters of the observations without the user's replies, in lower case."""
        return lowered("\n".join(act.observation for act in self.acts if not act.talks)[-_SEEN_LIMIT:])

    @cached_property
    def read(self) -> str:
        """The chosen product's pages, or else the last 200,000 characters of observations and the action."""
        if self.purchase:
            return self.purchase.read
        shown = [act.observation for act in self.acts if not (self.reading and act.failed)]
        titles = [page.title for page in self.reading.pages] if self.reading else []
        text = "\n".join([*shown, *titles])[-_SEEN_LIMIT:] + "\n" + self.checkpoint.action[:_SEEN_LIMIT]
        return lowered(text.replace(self.checkpoint.instruction.strip() or "\0", " "))

    @cached_property
    def states(self) -> dict[Term, TermState]:
        """The state of each wanted term, the most significant terms first."""
        order = sorted(self.wanted, key=lambda term: term.kind in WORDS)
        return {term: self._state(term) for term in order}

    @cached_property
    def by_state(self) -> dict[TermState, tuple[Term, ...]]:
        """The wanted terms in each state."""
        return {one: tuple(term for term, state in self.states.items() if state is one) for one in TermState}

    def _state(self, term: Term) -> TermState:
        if self._speaks(term, self.read, _stems(self.read)):
            return TermState.FOUND
        shown = f"{self.read}\n{self.purchase.offered}" if self.purchase else ""
        if shown and self._speaks(term, shown, _stems(shown)):
            return TermState.OFFERED
        return TermState.MISSING

    def _speaks(self, term: Term, text: str, stems: frozenset[str]) -> bool:
        """Return whether a text mentions the term: as written, joined, in another form, or in another size notation."""
        if mentions(term, text):
            return True
        if self.reading and term.kind is TermKind.NAME:
            return is_spoken_of(term, text)
        own = [lowered(term.text)] if _read_number_word(lowered(term.text)) is not None else words(term.text)
        if term.kind in (*WORDS, TermKind.ATTRIBUTE, TermKind.NAME) and own:
            return all(_is_in(word, text, stems) for word in own)
        side = re.match(r"\d+(?:\.\d+)?(?=[\s-]?[a-z\"”])", term.text.lower())
        if side and re.search(
            rf"(?<![\d.]){re.escape(side[0])}\s?\w{{0,4}}\s?[x×*]\s?\d|[x×*]\s?{re.escape(side[0])}(?![\d.])", text
        ):
            return True
        if term.kind is TermKind.QUANTITY and re.search(_PACK.format(int(float(term.value))), text):
            return True
        size = " ".join(own)
        return any(
            re.search(rf"(?<![^\W_]){re.escape(other)}(?![^\W_])", text)
            for group in _SIZES
            if size in group
            for other in group
        )

    @cached_property
    def thought(self) -> str:
        """The agent's last thought before the critical action."""
        if self.checkpoint.thought:
            return self.checkpoint.thought
        last = self.checkpoint.steps[-1] if self.checkpoint.steps else None
        return last.action if last and is_thought(last.action) else ""

    @cached_property
    def table(self) -> EvidenceTable | None:
        """A purchase's options (asked, offered, chosen), else the arguments of the pending calls, else None."""
        if choices := self.purchase.choices if self.purchase else ():
            shown = [
                (one.name, find_asked_words(one, self.terms), " · ".join(one.options), one.chosen or NONE_CHOSEN)
                for one in choices
            ]
            return EvidenceTable(_CHOICES, tuple(shown))
        rows = [
            (one.name, one.value, one.origin)
            for call in self.pending_calls
            for one in call.arguments
            if is_telling(one, call)
        ]
        return EvidenceTable(_ARGUMENTS, tuple(rows)) if rows else None


def find_asked_words(choice: Choice, stated: Sequence[Term]) -> str:
    """Return the user's own words for the option ("gray" for "gray with storage"), in their order.

    Without a requested option, return UNCLEAR if the options mention a term of the request, else NONE_ASKED.
    """
    text = lowered(choice.asked or " · ".join(choice.options))
    said = [term.text for term in stated if term.kind not in LIMITS and mentions(term, text)]
    if not choice.asked:
        return UNCLEAR if said else NONE_ASKED
    return ", ".join(dict.fromkeys(said)) or choice.asked


_latest = threading.local()


def evidence_of(checkpoint: Checkpoint) -> Evidence:
    """Return the evidence of a checkpoint; each thread keeps the evidence of its latest checkpoint."""
    kept: Evidence | None = getattr(_latest, "evidence", None)
    if kept is None or kept.checkpoint is not checkpoint:
        kept = _latest.evidence = Evidence(checkpoint)
    return kept


def _is_in(word: str, text: str, stems: frozenset[str]) -> bool:
    """Return whether a text contains a word, also in another form, as a number, joined, or with one typing error."""
    if (figure := _read_number_word(word)) is not None:
        return bool(re.search(rf"(?<!\d){figure}(?!\d)|{word}", text))
    if word == "window" and re.search(r"(?<![a-z])win ?\d", text):
        return True
    if _stem(word) in stems or (len(word) > 3 and word[:5] in text):
        return True
    return len(word) > 3 and bool(get_close_matches(word, [one for one in _words(text) if one[0] == word[0]], 1, 0.8))


def _read_number_word(word: str) -> int | None:
    """Return the number that a word spells (`twenty-four`), or None if the word is not a number."""
    tens, _, ones = word.partition("-")
    if word in COUNTS:
        return COUNTS.index(word)
    if word in _TEENS:
        return 13 + _TEENS.index(word)
    if tens not in _TENS or (ones and ones not in COUNTS[1:10]):
        return None
    return 20 + 10 * _TENS.index(tens) + (COUNTS.index(ones) if ones else 0)


@lru_cache(maxsize=16384)
def _stem(word: str) -> str:
    cut = re.sub(r"(?:iness|ness|ingly|ings?|able|ible|edly|ed|ers?|ly|es|s|y|e)$", "", word)
    cut = cut[:-1] if cut != word and len(cut) > 3 and cut[-1] == cut[-2] else cut
    return cut if len(cut) > 2 else word


@lru_cache(maxsize=8)
def _words(text: str) -> frozenset[str]:
    return vocabulary(text)


@lru_cache(maxsize=8)
def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _words(text))
