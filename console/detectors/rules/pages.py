"""The page that something is bought from: its price, its options, and the choices made on it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.detectors.rules.acts import Act
from console.terms import lowered

_PRICE = re.compile(
    r"\bprice\"?\s?[:=]?\s?[$€£]?\s?(\d[\d,]*(?:\.\d+)?)(?:\s?(?:to|-)\s?[$€£]?\s?(\d[\d,]*(?:\.\d+)?))?", re.IGNORECASE
)
_OPTIONS = re.compile(
    r"^[ \t]*([A-Za-z][\w &/.-]{0,40}?)[ \t]*:?[ \t]*((?:\[[^\[\]\n]{1,120}\][ \t]?)+)$", re.MULTILINE
)
_BRACKETED = re.compile(r"\[([^\[\]\n]*)\]")


@dataclass(frozen=True, slots=True)
class Page:
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


def last_page(acts: tuple[Act, ...]) -> Page | None:
    """The last page that shows one price, with the choices made on it; None where no such page was opened."""
    for index in range(len(acts) - 1, -1, -1):
        act = acts[index]
        prices = list(_PRICE.finditer(act.observation[:50_000])) if not act.talks else []
        if len(prices) == 1:
            return _page(act.observation[:50_000], prices[0], acts[index + 1 :])
    return None


def _page(observation: str, price: re.Match[str], later: tuple[Act, ...]) -> Page:
    low = float(price[1].replace(",", ""))
    options = tuple((m[1].strip(), tuple(_BRACKETED.findall(m[2]))) for m in _OPTIONS.finditer(observation))
    offered = {lowered(option): option for _, group in options for option in group}
    tried = [(str(next(iter(act.call.arguments.values()), "")), act) for act in later]
    chosen = tuple(offered[lowered(text)] for text, act in tried if not act.failed and lowered(text) in offered)
    shown = [_OPTIONS.sub("", observation), *chosen, *(act.observation[:20_000] for act in later if not act.failed)]
    return Page(
        low=low,
        high=max(low, float(price[2].replace(",", ""))) if price[2] else low,
        options=options,
        chosen=chosen,
        refused=tuple(text for text, act in tried if act.failed and text),
        text=lowered("\n".join(shown)),
    )
