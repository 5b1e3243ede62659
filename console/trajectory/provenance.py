"""Provenance: the source of each argument of a call - the user, a tool's result, the agent's instructions, or none.

The source is the first text that contains the value. Numbers and dates match in any notation, and a path by its last
part. An id or a name matches as a whole word, and a longer text by all its words. A small number, or a yes or no,
matches only in a field or sentence that names the argument. A tool's result never counts as the user's text, even if it
claims to be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, combinations, islice

from console.trajectory.call_values import COMMAND_NAME, NO, YES, Leaves, inner_values, switches, values_beside
from console.trajectory.calls import Call
from console.trajectory.messages import split_opening, split_tool_texts
from console.trajectory.requirements.anchors import LONGEST, Anchor, AnchorKind, read_anchors, read_figure, same_value
from console.trajectory.terms import COUNTS, FUNCTION_WORDS, lowered


class Source(StrEnum):
    """The source of an argument's value; pages show the values of this enumeration."""

    USER = "the user"
    TOOL = "a tool's result"
    POLICY = "the agent's instructions or setup"
    WORKED_OUT = "computed from shown values"
    AGENT = "not found"


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
        """The source as text, such as `step 3, search`."""
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
class ReceivedText:
    """All text that an agent received before a call, in lower case: from the user, the policy and the tools."""

    user: str
    policy: str
    results: tuple[ToolResult, ...]


def argument(name: str, value: str, told: ReceivedText, call: Call, passed: Leaves) -> Argument:
    """Return the argument with its source.

    If several tool results contain its value, use the first of those that contain most of the values beside it: the
    date of a flight comes from a result with this flight.
    """
    stands = _finder(name, value)
    said = _without_passed(told.user, passed) if _is_small(value) else told.user
    if stands(said):
        return Argument(name, value, Source.USER)
    plain = lowered(value).strip()
    is_written = bool(WRITTEN.search(name)) and 1 < len(value.split()) <= _SHORT
    is_tiny = is_figure(value) and figure_value(value) < 10
    holding = [
        result
        for result in told.results
        if not (is_tiny and _is_of_another(result.text[:200], passed))
        and stands(result.text)
        and (not is_written or _contains_words(plain, result.text))
    ]
    if holding:
        beside = values_beside(name, value, call.arguments) if holding[1:] else ()
        # The result of an earlier try repeats what the agent passed.
        first = [result for result in holding if result.tool != call.name.lower()] if beside else []
        best = max(first or holding, key=lambda result: sum(_contains_words(one, result.text) for one in beside))
        return Argument(name, value, Source.TOOL, best.step, best.tool)
    priced = rf"[$€£]\s?{re.escape(value.strip())}\b"
    instructed = stands(told.policy) and (not _PATH.fullmatch(plain) or _contains_words(plain.strip("/"), told.policy))
    if instructed and not is_switch(value) and (not _is_small(value) or re.search(priced, told.policy)):
        return Argument(name, value, Source.POLICY)
    # A user who names the thing of the argument would also name its number.
    names = bool(_name_stems(name) & {word[:_STEM] for word in _WORD.findall(told.user)})
    is_common = value.strip().isdigit() and len(value.strip()) == 1 and (names or len(told.user) > _SHORT_REQUEST)
    if is_figure(value) and not is_common and figure_value(value) in _figures(_LIST_NUMBER.sub("", said)):
        # The languages of the request and of the argument's name may differ.
        return Argument(name, value, Source.USER)
    counts = _is_small(value) and _QUANTITY.search(name)
    worked_out = MONEY_NAME.search(name) and not counts and _is_worked_out(name, value, told, call, passed)
    return Argument(name, value, Source.WORKED_OUT if worked_out else Source.AGENT)


def _without_passed(text: str, passed: Leaves) -> str:
    """Return the text without the dates, times and numbers in groups that a call passes, whose digits count nothing."""
    given = [one for _, value in passed for one in read_anchors(value) if one.kind in _WITH_DIGITS]
    for one in read_anchors(text):
        if one.kind in _WITH_DIGITS and any(same_value(one, other) for other in given):
            text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


_LIST_NUMBER = re.compile(r"^\d+[.)]\s", re.MULTILINE)
_OWN_ID = re.compile(r"[\"'](?:\w+_)?id[\"']\s*:\s*[\"']([^\"']+)[\"']")


def _is_of_another(text: str, passed: Leaves) -> bool:
    """Return whether a result begins with the id of a thing, and the call does not pass this id."""
    own = _OWN_ID.search(text)
    return own is not None and all(lowered(value).strip() != own[1] for _, value in passed)


def arguments(call: Call, passed: Leaves, told: ReceivedText, most: int = 60) -> tuple[Argument, ...]:
    """Return at most `most` arguments of a call with their sources, without duplicates of name and value.

    Texts and numbers come first, then the values within commands and SQL statements, then the yes and no values.
    """
    inner = ((name, part) for name, text in passed for part in inner_values(name, text))
    found = dict.fromkeys(leaf for leaf in chain(passed, inner, switches(call.arguments)) if leaf[1].strip())
    return tuple(argument(name, value, told, call, passed) for name, value in list(found)[:most])


WRITTEN = re.compile(r"subject|title|body|message|text|content|description|note|summary|comment", re.IGNORECASE)
"""The names of arguments with the agent's own wording; a tool's result must contain all their words in order."""
_SHORT_REQUEST = 400
"""The number of characters of the user's text above which a single digit may be in it by chance."""
FIGURE = re.compile(r"-?[$€£]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?[$€£]?\d+(?:\.\d+)?")
MONEY_NAME = re.compile(
    r"amount|price|total|cost|sum\b|payment$|fee|refund|budget|value$|quantity|shares|limit", re.IGNORECASE
)
_QUANTITY = re.compile(r"quantity|shares|limit|count|number", re.IGNORECASE)
_IN_TEXT, _WORD = re.compile(r"(?<![\d.,])\d{1,15}(?:,\d{3})*(?:\.\d{1,6})?(?!\d)"), re.compile(r"[^\W_]+")
_LONE_FIGURE = re.compile(r"(?<![\w.:\"'#-])\d{2,7}(?:\.\d{1,2})?(?![\w:-])")
_SUM = re.compile(r"[\d.,()$€£\s]+(?:[-+*/x][\d.,()$€£\s]+)+")
_RECORD_END = re.compile(r"\}\s*,\s*\{|\n")
_MOST_FIGURES, _MOST_OF_THINGS, _LONGEST_RECORD = 60, 24, 600


def is_figure(value: str) -> bool:
    """Return whether a value is a plain number, with or without a currency sign."""
    return bool(FIGURE.fullmatch(value.strip()))


def _finder(name: str, value: str) -> Callable[[str], bool]:
    """Return a function that tests whether a text contains this argument's value, in any notation."""
    text = lowered(value).strip()
    if is_switch(text):
        return lambda told: _names_switch(name, text, told)
    if is_figure(text):
        return _figure_finder(name, text)
    held = read_anchors(value) if len(text) <= _LONGEST_MOMENT else ()
    exact, moments = _words_finder(text), [one for one in held if one.kind in _MOMENTS]
    if moments:
        is_time = all(one.kind is AnchorKind.TIME for one in moments)
        return lambda told: exact(told) or all(_has_moment(one, told, is_open=not is_time) for one in moments)
    if held and held[0].text == value.strip() and _is_in_groups(held[0]):
        return lambda told: exact(told) or any(same_value(held[0], one) for one in _anchors(told))
    if COMMAND_NAME.match(name) and " " in text:
        return lambda told: text in told
    if _PATH.fullmatch(text):
        last = text.rstrip("/").rsplit("/", 1)[-1]
        return lambda told: _contains_words(text, told) or ("." in last[1:] and _names_last_part(last, told))
    return exact


def _is_in_groups(value: Anchor) -> bool:
    """Return whether people write a value in groups of characters: a phone number, an account or another number."""
    return value.kind is AnchorKind.DIGITS or (value.kind is AnchorKind.LINK and value.value.isalnum())


_LONGEST_MOMENT, _LEAST_IN_GROUPS = 40, 7
_MOMENTS = frozenset({AnchorKind.DATE, AnchorKind.TIME})
_WITH_DIGITS = _MOMENTS | {AnchorKind.DIGITS}


def _has_moment(moment: Anchor, text: str, *, is_open: bool) -> bool:
    """Return whether a text contains this date or time; if `is_open`, midnight or a text without times matches."""
    same_kind = [one for one in _anchors(text) if one.kind is moment.kind]
    is_open = is_open and moment.kind is AnchorKind.TIME and (not same_kind or moment.value == "00:00")
    return is_open or any(same_value(moment, one) for one in same_kind)


def _names_last_part(last: str, text: str) -> bool:
    """Return whether a text names a file without its folder; a file of this name in another folder does not count."""
    return bool(re.search(rf"(?<![\w/\\.~-]){re.escape(last)}(?![\w/])", text))


def _words_finder(text: str) -> Callable[[str], bool]:
    bare = text.strip("#\"' .")
    words = [word for word in _WORD.findall(text) if word not in FUNCTION_WORDS]
    several = words if len(words) > 1 and " " in text else []
    joined = bare.split("_") if "_" in bare and not re.search(r"\d", bare) else []
    spaced = re.compile(rf"(?<!\w){'[ _-]'.join(map(re.escape, joined))}(?!\w)") if joined else None

    def stands(told: str) -> bool:
        if _contains_words(bare, told) or (spaced and spaced.search(told)):
            return True
        if not several or not all(word in told for word in several):
            return False
        return len(several) > _SHORT or any(
            all(word in part for word in several) for part in _SENTENCE_BREAK.split(told)
        )

    return stands


_SHORT = 8
"""Maximum number of words in a short text; all words of a short text must be in one sentence of its source."""
_SENTENCE_BREAK = re.compile(r"[.!?]\s|\n|\\n|\}")


def _figure_finder(name: str, text: str) -> Callable[[str], bool]:
    figure = figure_value(text)
    spelled = rf"|\b{COUNTS[int(figure)]}\b" if figure == int(figure) and 0 < figure < len(COUNTS) else ""
    held = read_anchors(text)
    if len(text) >= _LEAST_IN_GROUPS and text.isdigit() and held:
        return lambda told: figure in _figures(told) or any(same_value(held[0], one) for one in _anchors(told))
    if not _is_small(text):
        return lambda told: figure in _figures(told)
    # "1." at the start of a line numbers it.
    said = re.compile(rf"(?<![\w.,])(?!(?<![^\n])\d+[.)]\s){int(figure)}(?:\.0+)?(?![\w]|[.,]\d){spelled}")
    return lambda told: any(_is_named(name, told, *one.span()) for one in islice(said.finditer(told), _MOST_PLACES))


_SMALL, _MOST_PLACES = 100, 200


def _is_small(value: str) -> bool:
    """Return whether a value is a whole number between -100 and 100, which may be in a text by chance."""
    return bool(re.fullmatch(r"-?\d{1,2}(?:\.0+)?", value.strip())) and abs(float(value)) < _SMALL


_PATH = re.compile(r"[~.]{0,2}(?:/[^/\s'\"]+)+/?|[\w.-]+(?:/[\w.-]+)+/?")
_SENTENCE_END = re.compile(r"[.!?;\n{}\[\]](?!\d)")
_FIELD = re.compile(r"[\"']?([\w .-]{1,60})[\"']?\s*[:=]\s*[\"']?[$€£]?$")
_COUNTING_WORDS = "quantity qty count number num amount total no nr n id value"
_COUNTING = frozenset(_COUNTING_WORDS.split())


def _is_named(name: str, text: str, start: int, end: int) -> bool:
    """Return whether the field or sentence around a small number names the argument.

    A field must have the words of the name, apart from counting words (`quantity`), and a longer sentence too.
    """
    wanted = _name_stems(name)
    if field := _FIELD.search(text[max(0, start - 70) : start]):
        return wanted == _name_stems(field[1])
    before = _SENTENCE_END.split(text[max(0, start - 200) : start])[-1]
    sentence = before + _SENTENCE_END.split(text[end : end + 200], maxsplit=1)[0]
    stems = {word[:_STEM] for word in _WORD.findall(sentence)}
    plain = {word[:_STEM] for word in _WORD.findall(lowered(name)) if word not in _COUNTING}
    return wanted <= stems or not plain or len(sentence.split()) <= 3


_STEM = 3


@lru_cache(maxsize=2048)
def _name_stems(name: str) -> frozenset[str]:
    """Return the first letters of each word in an argument's or field's name; counting words share one entry."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_A-Za-z]+", name)]
    told = [word for word in words if word not in _COUNTING]
    return frozenset(word[:_STEM] for word in told) or frozenset({"#count"} if words else ())


def is_switch(value: str) -> bool:
    """Return whether a value is only a yes or no, which is meaningless without the argument's name."""
    return value.strip().lower() in _SWITCHES


_SWITCHES = frozenset({YES, NO, "yes", "no", "on", "off", "none", "null"})


def _names_switch(name: str, value: str, text: str) -> bool:
    """Return whether a text has a field with this name and value, or prose with all words of the name."""
    if re.search(rf"(?<![^\W_]){re.escape(name.lower())}[\"']?\s*[:=]\s*[\"']?{value}\b", text):
        return True
    words = [word for word in re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()) if len(word) > 2]
    words = [word for word in words if word not in FUNCTION_WORDS]
    is_named = bool(words) and "{" not in text and all(word[:5] in text for word in words)
    return is_named and not (value in (YES, "yes", "on") and any(_is_negated(word[:5], text) for word in words))


def _is_negated(word: str, text: str) -> bool:
    """Return whether a negation stands before each place of a word."""
    return all(
        _NEGATION.search(text[max(0, at.start() - 40) : at.start()]) for at in re.finditer(re.escape(word), text)
    )


_NEGATION = re.compile(
    r"\b(?:not|never|no|without|don['’]t|nicht|kein\w*|ohne|pas|sans|sin|senza|sem|niet|geen|zonder|не|без)\b[^.!?;,]{0,30}$"
)


_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_LETTERS, WORD_PARTS = re.compile(rf"[^\W_{_UNSPACED}]{{2}}"), re.compile(rf"[^\W{_UNSPACED}]{{2}}")
"""Two characters of a word; a script without blanks between words has no such pair."""


def _contains_words(bare: str, text: str) -> bool:
    """Return whether the text contains these words without an adjacent letter or digit."""
    at = text.find(bare) if bare else -1
    joined = (_LETTERS if "_" in bare else WORD_PARTS).fullmatch
    while at >= 0:
        end = at + len(bare)
        if not (joined(text[at - 1 : at + 1] if at else "") or joined(text[end - 1 : end + 1])):
            return True
        at = text.find(bare, at + 1)
    return False


@lru_cache(maxsize=64)
def _figures(text: str) -> frozenset[float]:
    """Return the numbers in a text; an ambiguous number such as 1.250 counts as a decimal and as a thousand."""
    found = {float(read_figure(figure)) for figure in _ANY_FIGURE.findall(text)}
    return frozenset(found | {float(figure.replace(",", "")) for figure in _IN_TEXT.findall(text)})


@lru_cache(maxsize=64)
def _anchors(text: str) -> tuple[Anchor, ...]:
    starts = range(0, min(len(text), _MOST_TEXT), LONGEST)
    return tuple(one for start in starts for one in read_anchors(text[start : start + LONGEST]))


_MOST_TEXT = 60_000
_ANY_FIGURE = re.compile(
    r"(?<![\w.,])\d{1,3}(?:[.,' ’\u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?(?![\w]|[.,]\d)|"
    r"(?<![\w.,])\d{1,15}[.,]\d{1,6}(?!\w)"
)


def _is_worked_out(name: str, value: str, told: ReceivedText, call: Call, passed: Leaves) -> bool:
    """Return whether simple arithmetic on shown numbers gives this value, or the total of a split payment."""
    if not is_figure(value):
        parts = _IN_TEXT.findall(value) if _SUM.fullmatch(value) else []
        shown = (told.user, *(result.text for result in told.results))
        return bool(parts) and all(any(figure_value(part) in _figures(text) for text in shown) for part in parts)
    wanted = abs(figure_value(value))
    whole = sum(abs(figure_value(text)) for key, text in passed if key == name and is_figure(text))
    figures, prices = _shown_figures(told), _figures_of_things(told, passed)
    counts = {1, *(len(part) for part in call.arguments.values() if isinstance(part, list))}
    return wanted >= 10 and any(_leads_to(total, figures, prices, counts) for total in (wanted, whole))


def _leads_to(total: float, figures: Sequence[float], prices: Sequence[float], counts: set[int]) -> bool:
    """Return whether a total is a multiple of a number, a sum or difference of two, or of prices times a count."""
    sums = (made for a, b in combinations(figures, 2) for made in (a + b, abs(a - b)))
    multiples = (a * times for a in figures if a >= 5 for times in range(1, 10))
    several = (sum(some) * times for size in (2, 3) for some in combinations(prices, size) for times in counts)
    return any(abs(total - made) < 0.005 for made in chain(multiples, sums, several))


def _shown_figures(told: ReceivedText) -> list[float]:
    """Return the numbers in the user's text, then the numbers in the tools' results, latest result first."""
    shown = FIGURE.findall(told.user[-5_000:])
    for result in reversed(told.results):
        shown += FIGURE.findall(result.text[:20_000])
    return list(dict.fromkeys(abs(figure_value(figure)) for figure in shown))[:_MOST_FIGURES]


def _figures_of_things(told: ReceivedText, passed: Leaves) -> list[float]:
    """Return the numbers, such as prices, in the records of the objects named in the call."""
    named = {lowered(text) for _, text in passed if re.search(r"[^\W\d]", text) and re.search(r"\d", text)}
    found: dict[float, None] = {}
    for name, result in ((name, result) for name in sorted(named) for result in told.results):
        at = result.text.find(name)
        record = result.text[at : at + _LONGEST_RECORD] if at >= 0 else ""
        found |= dict.fromkeys(map(figure_value, _LONE_FIGURE.findall(_RECORD_END.split(record, maxsplit=1)[0])))
    return list(found)[:_MOST_OF_THINGS]


def figure_value(text: str) -> float:
    """Return the number that a text states by its digits and points, or 0 without digits."""
    return float(re.sub(r"[^\d.]", "", text).strip(".") or 0)


def user_words(instruction: str, opening: str, replies: Sequence[str]) -> tuple[str, str]:
    """Return (the user's text, the policy) in lower case; the opening may hold both, and the agent's earlier acts."""
    policy, _, told = split_opening(opening) if opening else ("", "", "")
    told, added = split_tool_texts(told) if told else ("", "")
    return lowered("\n".join((instruction, told, *replies))), lowered(f"{policy}\n{added}")
