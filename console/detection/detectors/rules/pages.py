"""The page that something is bought from: its price, its options, and the choices made on it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.detection.detectors.rules.acts import Act
from console.trajectory.terms import Term, TermKind, lowered, mentions, words

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
