"""The evidence of a checkpoint, read once for all checks: the acts tried, the page that something is bought from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from console.environments import environment
from console.trajectory.checkpoints import Call, Checkpoint, calls, is_thought
from console.trajectory.terms import Term, TermKind, lowered, mentions, terms, words

_FAILED = re.compile(
    r"\s*(?:[\[{\"']{0,3}error|invalid|could not|couldn't|cannot|can't|unable|failed|failure|unknown|not found|"
    r"no more results|no results|nothing happens|exception|traceback|http (?:4|5)\d\d|access denied|permission denied)",
    re.IGNORECASE,
)
_TALKING = frozenset({"respond", "reply", "ask", "say", "message", "answer_user", "ask_user", "talk"})


@dataclass(frozen=True, slots=True)
class Act:
    """An action that was tried: its first call, what came back, and whether that says that it failed."""

    action: str
    call: Call
    observation: str
    failed: bool

    @property
    def talks(self) -> bool:
        """Whether the action speaks to the user, so that the observation is the user's answer."""
        return self.call.name.lower() in _TALKING


def acts(checkpoint: Checkpoint) -> tuple[Act, ...]:
    """The actions before the critical one, thoughts left out."""
    refusals = environment(checkpoint.environment).not_executed or ("\0",)
    return tuple(
        _act(step.action, step.observation, refusals)
        for step in checkpoint.steps
        if step.action and not is_thought(step.action)
    )


def leaves(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each text and number of a call's arguments with the name it stands under; nested ones too."""
    waiting: list[tuple[str, Any]] = list(reversed(list(arguments.items())))
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(reversed(list(value.items())))
        elif isinstance(value, (list, tuple)):
            waiting.extend((name, part) for part in reversed(value))
        elif isinstance(value, float) and value.is_integer():
            yield str(name), str(int(value))
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield str(name), str(value)


def _act(action: str, observation: str, refusals: tuple[str, ...]) -> Act:
    found = calls(action)
    failed = bool(_FAILED.match(observation[:80])) or observation.strip().startswith(refusals)
    return Act(action, found[0] if found else Call(""), observation, failed)


_PRICE = re.compile(
    r"\bprice\"?\s?[:=]?\s?[$€£]?\s?(\d[\d,]*(?:\.\d+)?)(?:\s?(?:to|-)\s?[$€£]?\s?(\d[\d,]*(?:\.\d+)?))?", re.IGNORECASE
)
_OPTIONS = re.compile(
    r"^[ \t]*([A-Za-z][\w &/.-]{0,40}?)[ \t]*:?[ \t]*((?:\[[^\[\]\n]{1,120}\][ \t]?)+)$", re.MULTILINE
)
_BRACKETED = re.compile(r"\[([^\[\]\n]*)\]")
_GENERIC_WORDS = "color colour size style flavor scent type model product item name pack set count price"
_GENERIC = frozenset(_GENERIC_WORDS.split())
_LEFT_OUT = (TermKind.PRICE_MAX, TermKind.PRICE_MIN, TermKind.PRICE, TermKind.NEGATION)
EXACT = (TermKind.SIZE, TermKind.QUANTITY, TermKind.NUMBER, TermKind.ATTRIBUTE)
"""Kinds that a page must meet to the letter."""


@dataclass(frozen=True, slots=True)
class ProductPage:
    """The page that was opened last: its price range, its options by name, what was chosen, and all it showed."""

    low: float
    high: float
    options: tuple[tuple[str, tuple[str, ...]], ...]
    chosen: tuple[str, ...]
    refused: tuple[str, ...]
    text: str

    @property
    def for_people(self) -> bool:
        """Whether it is a page to click on, not a record that a tool returned."""
        return not re.match(r"\s*(?:\{|\[\s*[{\"])", self.text)


@dataclass(frozen=True, slots=True)
class Choice:
    """A group of options: its name, the option closest to what is stated, and the one chosen; empty for none."""

    name: str
    best: str
    chosen: str


def last_page(acts: tuple[Act, ...], instruction: str) -> ProductPage | None:
    """The last page that shows one price, with the choices made on it; None where no such page was opened.

    Some shops repeat the instruction on every page; it is cut out, as it says nothing about what is sold.
    """
    for index in range(len(acts) - 1, -1, -1):
        act = acts[index]
        shown = act.observation[:50_000].replace(instruction.strip() or "\0", "")
        prices = list(_PRICE.finditer(shown)) if not act.talks else []
        if len(prices) == 1:
            return _page(shown, prices[0], acts[index + 1 :])
    return None


def wanted(terms: tuple[Term, ...]) -> list[Term]:
    """The terms that a page can be expected to show."""
    return [term for term in terms if term.kind not in _LEFT_OUT and lowered(term.text) not in _GENERIC]


def choices(page: ProductPage, stated: list[Term]) -> list[Choice]:
    """For each group of options on the page what fits best, and what was chosen."""
    found = []
    for name, options in page.options:
        chosen = next((option for option in reversed(options) if option in page.chosen), "")
        offered = [term for term in stated if mentions(term, lowered("\n".join(options)))]
        fits = {option: (*_closeness(option, offered), option == chosen) for option in options}
        best = max(fits, key=fits.__getitem__)
        found.append(Choice(name, best if fits[best][0] > 0 else "", chosen))
    return found


def _closeness(option: str, stated: list[Term]) -> tuple[float, float]:
    """How much of what is stated the option says, sizes and the like twice; then how little else it says."""
    fits = [term for term in stated if mentions(term, lowered(option))]
    told = sum(2.0 if term.kind in EXACT else 1.0 for term in fits)
    return told, -float(len(set(words(option)) - {word for term in fits for word in words(term.text)}))


def _page(observation: str, price: re.Match[str], later: tuple[Act, ...]) -> ProductPage:
    low = float(price[1].replace(",", ""))
    options = tuple((m[1].strip(), tuple(_BRACKETED.findall(m[2]))) for m in _OPTIONS.finditer(observation))
    offered = {lowered(option): option for _, group in options for option in group}
    tried = [(str(next(iter(act.call.arguments.values()), "")), act) for act in later]
    chosen = tuple(offered[lowered(text)] for text, act in tried if not act.failed and lowered(text) in offered)
    shown = [_OPTIONS.sub("", observation), *chosen, *(act.observation[:20_000] for act in later if not act.failed)]
    return ProductPage(
        low=low,
        high=max(low, float(price[2].replace(",", ""))) if price[2] else low,
        options=options,
        chosen=chosen,
        refused=tuple(text for text, act in tried if act.failed and text),
        text=lowered("\n".join(shown)),
    )


SEEN_LIMIT = 200_000
"""Characters of observations that are compared; of a longer record the latest count."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: how strongly in [0, 1], and one sentence for people."""

    strength: float
    sentence: str


@dataclass(frozen=True)
class Evidence:
    """A checkpoint and what can be read off it; texts that are compared are in lower case."""

    checkpoint: Checkpoint

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What the instruction states."""
        return terms(self.checkpoint.instruction[:20_000])

    @cached_property
    def acts(self) -> tuple[Act, ...]:
        """The actions before the critical one, thoughts left out."""
        return acts(self.checkpoint)

    @cached_property
    def page(self) -> ProductPage | None:
        """The page with one price that was opened last, with the choices made on it."""
        return last_page(self.acts, self.checkpoint.instruction)

    @cached_property
    def wanted(self) -> list[Term]:
        """What the instruction states and a page can be expected to show."""
        return wanted(self.terms)

    @cached_property
    def choices(self) -> list[Choice]:
        """For each group of options on the page what fits the instruction best, and what was chosen."""
        return choices(self.page, self.wanted) if self.page else []

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the critical action."""
        return tuple(calls(self.checkpoint.action))

    @cached_property
    def instruction(self) -> str:
        """The instruction."""
        return lowered(self.checkpoint.instruction)

    @cached_property
    def seen(self) -> str:
        """What the environment showed."""
        return lowered("\n".join(act.observation for act in self.acts)[-SEEN_LIMIT:])

    @cached_property
    def read(self) -> str:
        """What the environment showed where an action worked; lists of similar names after a miss are left out."""
        return lowered("\n".join(act.observation for act in self.acts if not act.failed)[-SEEN_LIMIT:])

    @cached_property
    def known(self) -> str:
        """What the agent was told or shown: the instruction, the opening and the observations."""
        return "\n".join((self.instruction, lowered(self.checkpoint.opening), self.seen))

    @cached_property
    def asked_words(self) -> frozenset[str]:
        """The words of the instruction, singular, without function words."""
        return frozenset(words(self.checkpoint.instruction[:20_000]))

    @cached_property
    def thought(self) -> str:
        """The agent's last thought before the critical action, wherever it was written."""
        if self.checkpoint.thought:
            return self.checkpoint.thought
        last = self.checkpoint.steps[-1] if self.checkpoint.steps else None
        return last.action if last and is_thought(last.action) else ""


def quoted(texts: list[str], limit: int = 4) -> str:
    """The first few texts in quotation marks, for a sentence."""
    shown = ", ".join(f'"{text[:60]}"' for text in texts[:limit])
    return shown + (f" and {len(texts) - limit} more" if len(texts) > limit else "")
