"""Provenance: the source of each argument of a call - the user, a tool's result, the policy, or the agent alone.

The source is the first text that contains the value: a number as a number, an id or a name as a whole word, a longer
text by all its words. A tool's result never counts as the user's text, even if the result claims to come from the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, combinations
from typing import Any

from console.trajectory.calls import Call
from console.trajectory.terms import COUNTS, FUNCTION_WORDS, lowered

Leaves = Sequence[tuple[str, str]]
"""(name, text) of each text and number in a call's arguments, including nested ones."""


class Source(StrEnum):
    """The source of an argument's value; the values are shown to people."""

    USER = "the user"
    TOOL = "a tool's result"
    POLICY = "the policy"
    WORKED_OUT = "computed from shown values"
    AGENT = "the agent alone"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: its name, its value as text, and its source; `step` and `tool` identify a tool result."""

    name: str
    value: str
    source: Source
    step: int | None = None
    tool: str = ""

    @property
    def origin(self) -> str:
        """The source in words."""
        if self.step is None:
            return str(self.source)
        return f"step {self.step}, {self.tool}" if self.tool else f"step {self.step}"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result: the number of its step, the tool's name, and the returned text in lower case."""

    step: int
    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """All text that an agent received before a call, in lower case: from the user, the policy and the tools."""

    user: str
    policy: str
    results: tuple[ToolResult, ...]


def argument(name: str, value: str, told: Told, call: Call, passed: Leaves) -> Argument:
    """Return the argument with its source; if several tool results contain its value, the source is the first."""
    stands = _finder(value)
    if stands(told.user):
        return Argument(name, value, Source.USER)
    for result in told.results:
        if stands(result.text):
            return Argument(name, value, Source.TOOL, result.step, result.tool)
    if stands(told.policy):
        return Argument(name, value, Source.POLICY)
    worked_out = MONEY_NAME.search(name) and _is_worked_out(name, value, told, call, passed)
    return Argument(name, value, Source.WORKED_OUT if worked_out else Source.AGENT)


def arguments(call: Call, passed: Leaves, told: Told, most: int = 60) -> tuple[Argument, ...]:
    """Return at most `most` arguments of a call with their sources, without duplicates of name and value."""
    found = dict.fromkeys(leaf for leaf in passed if leaf[1].strip())
    return tuple(argument(name, value, told, call, passed) for name, value in list(found)[:most])


def leaves(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, value as text) for each text and number in a call's arguments, including nested ones."""
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


FIGURE = re.compile(r"-?[$€£]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?[$€£]?\d+(?:\.\d+)?")
MONEY_NAME = re.compile(
    r"amount|price|total|cost|sum\b|payment$|fee|refund|budget|value$|quantity|shares|limit", re.IGNORECASE
)
_IN_TEXT, _WORD = re.compile(r"(?<![\d.,])\d{1,15}(?:,\d{3})*(?:\.\d{1,6})?(?!\d)"), re.compile(r"[^\W_]+")
_LONE_FIGURE = re.compile(r"(?<![\w.:\"'#-])\d{2,7}(?:\.\d{1,2})?(?![\w:-])")
_SUM = re.compile(r"[\d.,()$€£\s]+(?:[-+*/x][\d.,()$€£\s]+)+")
_RECORD_END = re.compile(r"\}\s*,\s*\{|\n")
_MOST_FIGURES, _MOST_OF_THINGS, _LONGEST_RECORD = 60, 24, 600


def is_figure(value: str) -> bool:
    """Return whether a value is a plain number, with or without a currency sign."""
    return bool(FIGURE.fullmatch(value.strip()))


def _finder(value: str) -> Callable[[str], bool]:
    """Return a function that tests whether a text contains the value as a number, a whole word, or all its words."""
    text = lowered(value).strip()
    if is_figure(text):
        figure = _number(text)
        spelled = COUNTS[int(figure)] if figure == int(figure) and 0 < figure < len(COUNTS) else ""
        return lambda told: figure in _figures(told) or bool(spelled and _contains_words(spelled, told))
    bare = text.strip("#\"' .")
    words = [word for word in _WORD.findall(text) if word not in FUNCTION_WORDS]
    several = words if len(words) > 1 and " " in text else []
    return lambda told: _contains_words(bare, told) or bool(several and all(word in told for word in several))


def _contains_words(bare: str, text: str) -> bool:
    """Return whether the text contains these words with no letter or digit right before or after."""
    at = text.find(bare) if bare else -1
    while at >= 0:
        end = at + len(bare)
        before, after = text[at - 1 : at] if at else "", text[end : end + 1]
        if not (before.isalnum() and bare[0].isalnum()) and not (after.isalnum() and bare[-1].isalnum()):
            return True
        at = text.find(bare, at + 1)
    return False


@lru_cache(maxsize=64)
def _figures(text: str) -> frozenset[float]:
    return frozenset(float(figure.replace(",", "")) for figure in _IN_TEXT.findall(text))


def _is_worked_out(name: str, value: str, told: Told, call: Call, passed: Leaves) -> bool:
    """Return whether simple arithmetic on shown numbers gives this value, or the total of a split payment."""
    if not is_figure(value):
        parts = _IN_TEXT.findall(value) if _SUM.fullmatch(value) else []
        shown = (told.user, *(result.text for result in told.results))
        return bool(parts) and all(any(_number(part) in _figures(text) for text in shown) for part in parts)
    wanted = abs(_number(value))
    whole = sum(abs(_number(text)) for key, text in passed if key == name and is_figure(text))
    figures, prices = _shown_figures(told), _figures_of_things(told, passed)
    counts = {1, *(len(part) for part in call.arguments.values() if isinstance(part, list))}
    return wanted >= 10 and any(_leads_to(total, figures, prices, counts) for total in (wanted, whole))


def _leads_to(total: float, figures: Sequence[float], prices: Sequence[float], counts: set[int]) -> bool:
    """Return whether a total is a multiple of a number, a sum or difference of two, or of prices times a count."""
    sums = (made for a, b in combinations(figures, 2) for made in (a + b, abs(a - b)))
    multiples = (a * times for a in figures if a >= 5 for times in range(1, 10))
    several = (sum(some) * times for size in (2, 3) for some in combinations(prices, size) for times in counts)
    return any(abs(total - made) < 0.005 for made in chain(multiples, sums, several))


def _shown_figures(told: Told) -> list[float]:
    """Return the numbers in the user's text, then those in the tools' results, the latest result first."""
    shown = FIGURE.findall(told.user[-5_000:])
    for result in reversed(told.results):
        shown += FIGURE.findall(result.text[:20_000])
    return list(dict.fromkeys(abs(_number(figure)) for figure in shown))[:_MOST_FIGURES]


def _figures_of_things(told: Told, passed: Leaves) -> list[float]:
    """Return the numbers in the records of the things that the call names, such as their prices."""
    named = {lowered(text) for _, text in passed if re.search(r"[^\W\d]", text) and re.search(r"\d", text)}
    found: dict[float, None] = {}
    for name, result in ((name, result) for name in sorted(named) for result in told.results):
        at = result.text.find(name)
        record = result.text[at : at + _LONGEST_RECORD] if at >= 0 else ""
        found |= dict.fromkeys(map(_number, _LONE_FIGURE.findall(_RECORD_END.split(record, maxsplit=1)[0])))
    return list(found)[:_MOST_OF_THINGS]


def _number(text: str) -> float:
    return float(re.sub(r"[^\d.]", "", text) or 0)


def user_words(instruction: str, opening: str, replies: Sequence[str]) -> tuple[str, str]:
    """Return (the user's text, the rest of the opening) in lower case; the opening can contain the first message."""
    before, _, first = opening.partition("The user's first message:")
    return lowered("\n".join((instruction, first, *replies))), lowered(before)
