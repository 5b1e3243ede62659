"""Provenance: where each argument of a call comes from - the user, a tool's result, the policy, the agent alone.

A value comes from the first of these in which it stands: a figure as a figure, an id or a name between word ends, a
longer text with all its words. What a tool returned is no word of the user's, whoever it claims to speak for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, combinations
from typing import Any

import orjson

from console.trajectory.checkpoints import Call, calls
from console.trajectory.terms import COUNTS, FUNCTION_WORDS, lowered


class Source(StrEnum):
    """The source of an argument's value; the values are words for people."""

    USER = "the user"
    TOOL = "a tool's result"
    POLICY = "the policy"
    WORKED_OUT = "worked out from what was shown"
    AGENT = "the agent alone"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: its name, its value as text, and its source; `step` and `tool` name a tool's result."""

    name: str
    value: str
    source: Source
    step: int | None = None
    tool: str = ""

    @property
    def origin(self) -> str:
        """Where the value comes from, in words."""
        if self.step is None:
            return str(self.source)
        return f"step {self.step}, {self.tool}" if self.tool else f"step {self.step}"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result: the number of its step, the tool's name, and what it returned, in lower case."""

    step: int
    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """All that an agent was told before a call, in lower case: by the user, by the policy, by tools."""

    user: str
    policy: str
    results: tuple[ToolResult, ...]


def argument(name: str, value: str, told: Told, passed: Mapping[str, Any]) -> Argument:
    """An argument of the call that passes all those; of several tools' results with its value the first is named."""
    stands = _finder(value)
    if stands(told.user):
        return Argument(name, value, Source.USER)
    for result in told.results:
        if stands(result.text):
            return Argument(name, value, Source.TOOL, result.step, result.tool)
    if stands(told.policy):
        return Argument(name, value, Source.POLICY)
    worked_out = MONEY_NAME.search(name) and _is_worked_out(name, value, told, passed)
    return Argument(name, value, Source.WORKED_OUT if worked_out else Source.AGENT)


def arguments(call: Call, told: Told, most: int = 60) -> tuple[Argument, ...]:
    """The arguments of a call with their sources, nested ones too, each name and value once."""
    found = dict.fromkeys(leaf for leaf in leaves(call.arguments) if leaf[1].strip())
    return tuple(argument(name, value, told, call.arguments) for name, value in list(found)[:most])


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
    """Whether a value is a plain number, with or without a currency sign."""
    return bool(FIGURE.fullmatch(value.strip()))


def _finder(value: str) -> Callable[[str], bool]:
    """Tells whether a value stands in a text: as a figure, between word ends, or with each of its words."""
    text = lowered(value).strip()
    if is_figure(text):
        figure = _number(text)
        spelled = COUNTS[int(figure)] if figure == int(figure) and 0 < figure < len(COUNTS) else ""
        return lambda told: figure in _figures(told) or bool(spelled and _stands(spelled, told))
    bare = text.strip("#\"' .")
    words = [word for word in _WORD.findall(text) if word not in FUNCTION_WORDS]
    several = words if len(words) > 1 and " " in text else []
    return lambda told: _stands(bare, told) or bool(several and all(word in told for word in several))


def _stands(bare: str, text: str) -> bool:
    """Whether the words stand in the text with no letter or figure right before or after them."""
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


def _is_worked_out(name: str, value: str, told: Told, passed: Mapping[str, Any]) -> bool:
    """Whether simple arithmetic leads from figures that were shown to this one, or to the whole of a split payment."""
    if not is_figure(value):
        parts = _IN_TEXT.findall(value) if _SUM.fullmatch(value) else []
        shown = (told.user, *(result.text for result in told.results))
        return bool(parts) and all(any(_number(part) in _figures(text) for text in shown) for part in parts)
    wanted = abs(_number(value))
    whole = sum(abs(_number(text)) for key, text in leaves(passed) if key == name and is_figure(text))
    figures, prices = _shown(told), _figures_of_things(told, passed)
    counts = {1, *(len(part) for part in passed.values() if isinstance(part, list))}
    return wanted >= 10 and any(_leads_to(total, figures, prices, counts) for total in (wanted, whole))


def _leads_to(total: float, figures: Sequence[float], prices: Sequence[float], counts: set[int]) -> bool:
    """Whether a total is a figure, two added or subtracted, a small multiple, or up to three things, so many times."""
    sums = (made for a, b in combinations(figures, 2) for made in (a + b, abs(a - b)))
    multiples = (a * times for a in figures if a >= 5 for times in range(1, 10))
    several = (sum(some) * times for size in (2, 3) for some in combinations(prices, size) for times in counts)
    return any(abs(total - made) < 0.005 for made in chain(multiples, sums, several))


def _shown(told: Told) -> list[float]:
    """The figures that the user, and tools last, showed."""
    shown = FIGURE.findall(told.user[-5_000:])
    for result in reversed(told.results):
        shown += FIGURE.findall(result.text[:20_000])
    return list(dict.fromkeys(abs(_number(figure)) for figure in shown))[:_MOST_FIGURES]


def _figures_of_things(told: Told, passed: Mapping[str, Any]) -> list[float]:
    """The figures in the records of the things that the call names: their prices among them."""
    named = {lowered(text) for _, text in leaves(passed) if re.search(r"[^\W\d]", text) and re.search(r"\d", text)}
    found: dict[float, None] = {}
    for name, result in ((name, result) for name in sorted(named) for result in told.results):
        at = result.text.find(name)
        record = result.text[at : at + _LONGEST_RECORD] if at >= 0 else ""
        found |= dict.fromkeys(map(_number, _LONE_FIGURE.findall(_RECORD_END.split(record, maxsplit=1)[0])))
    return list(found)[:_MOST_OF_THINGS]


def _number(text: str) -> float:
    return float(re.sub(r"[^\d.]", "", text) or 0)


_LOOSE = re.compile(
    r"^\s*(?P<name>[A-Za-z_][\w./-]{0,80})\s*(?::\s*|\n\s*Action Input\s*:\s*)?(?P<arguments>\{.*\})", re.DOTALL
)
_NAMED = re.compile(r"\"name\"\s*:\s*\"(?P<name>[\w./-]+)\"\s*,\s*\"(?:args|arguments|parameters)\"\s*:\s*(?=\{)")
_FENCED = re.compile(r"```(?P<name>\w*)\n(?P<code>.*?)(?:```|$)", re.DOTALL)
_KEYED = re.compile(r"[\"'](\w+)[\"']\s*:\s*(?:\"([^\"]*)\"|'([^']*)'|([-\w./*]+))")
SHELLS = frozenset({"bash", "sh", "shell", "zsh", "console", "cmd", "powershell"})


def read_calls(action: str) -> tuple[Call, ...]:
    """The calls of an action as agents of many frameworks write them; none where it only speaks."""
    text = action.strip()
    if named := _NAMED.search(text):
        return (Call(named["name"], _object(text[named.end() :])),)
    if re.match(r"^[\w.-]+\s*[\[(]", text):
        return tuple(_with_keywords(call) for call in calls(text) if call.name)
    found = [_loose(part) for part in re.split(r"\n(?=[A-Za-z_]\w{2,80}\s*:?\s*\{)", text)]
    if known := tuple(call for call in found if call):
        return known
    return tuple(
        Call(fence["name"] or "code", {"command" if fence["name"] in SHELLS else "code": fence["code"]})
        for fence in _FENCED.finditer(text)
    )


def _loose(text: str) -> Call | None:
    match = _LOOSE.match(text)
    return Call(match["name"], _object(match["arguments"])) if match else None


def _object(text: str) -> Mapping[str, Any]:
    """The object at the beginning of a text, as JSON or as Python writes it; else its plain pairs."""
    cut = text[: text.rfind("}") + 1]
    for attempt in (cut, cut[:-1].rstrip(), cut[:-2].rstrip()):
        for read in (orjson.loads, ast.literal_eval):
            try:
                value = read(attempt)
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                continue
            if isinstance(value, Mapping):
                return {str(key): part for key, part in value.items()}
    return {name: one or two or three for name, one, two, three in _KEYED.findall(text[:20_000])}


def _with_keywords(call: Call) -> Call:
    """The call with the arguments of `name(a=1, b='x')` under their own names."""
    written = call.arguments.get("argument")
    if set(call.arguments) != {"argument"} or not isinstance(written, str) or "=" not in written[:5_000]:
        return call
    try:
        tree = ast.parse(f"f({written[:5_000]})", mode="eval").body
        keywords = tree.keywords if isinstance(tree, ast.Call) else []
        return Call(
            call.name, {word.arg: ast.literal_eval(word.value) for word in keywords if word.arg} or call.arguments
        )
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return call


def user_words(instruction: str, opening: str, replies: Sequence[str]) -> tuple[str, str]:
    """(what the user said, what the opening says besides), in lower case; an opening can hold a first message."""
    before, _, first = opening.partition("The user's first message:")
    return lowered("\n".join((instruction, first, *replies))), lowered(before)
