"""Terms: the requirements in an instruction (limits, sizes, names, ids, dates, attributes) and their mentions.

`terms` reads an instruction once, from left to right. `occurrences` finds one term in any text, ignoring case,
punctuation, plurals and notations of prices, sizes and dates. Both functions take linear time: a pattern starts with a
letter or digit of the term, and a second check finds the start of a word there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files

from console.trajectory.strict_yaml import Words, read_data


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of `terms.yaml`; units, packs, at_most and at_least are regular expressions with one group each."""

    function_words: Words
    colours: Words
    materials: Words
    months: tuple[str, ...]
    counts: tuple[str, ...]
    units: dict[str, str]
    packs: str
    at_most: str
    at_least: str


_LEXICON = read_data(files(__package__) / "terms.yaml", Lexicon)
FUNCTION_WORDS, COLOURS = _LEXICON.function_words, _LEXICON.colours
ATTRIBUTES = COLOURS | _LEXICON.materials
MONTHS, COUNTS, UNITS, PACKS = _LEXICON.months, _LEXICON.counts, _LEXICON.units, _LEXICON.packs
AT_MOST, AT_LEAST = _LEXICON.at_most, _LEXICON.at_least
FIGURE = r"\d{1,3}(?:,\d{3}){1,3}(?:\.\d+)?|\d{1,12}(?:\.\d{1,6})?|(?<![\w.])\.\d{1,6}"
MONEY = rf"(?:[$€£]\s?(?:{FIGURE})|(?:{FIGURE})\s?(?:dollars?\b|usd\b|bucks?\b|euros?\b|pounds sterling\b|[€£]))"
UNIT = "(?:" + "|".join(UNITS.values()) + ")"
COUNT_WORD = "(?:" + "|".join(COUNTS[1:]) + ")"
MONTH = "(?:" + "|".join(f"{m[:3]}(?:{m[3:]})?" if m[3:] else m for m in MONTHS) + r")\b\.?"


class TermKind(StrEnum):
    """The kind of a term; pages show the values."""

    PRICE_MAX = "price at most"
    PRICE_MIN = "price at least"
    PRICE = "price"
    DATE = "date"
    ID = "id"
    SIZE = "size"
    QUANTITY = "quantity"
    NUMBER = "number"
    NAME = "name"
    NEGATION = "negation"
    ATTRIBUTE = "attribute"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class Term:
    """A term in an instruction: its words, its position in the instruction as [start, end), and its value.

    The value is a number for prices, numbers and quantities, and `YYYY-MM-DD` or `MM-DD` for dates. For negations it is
    the excluded object, otherwise the words in lower case.
    """

    text: str
    kind: TermKind
    start: int
    end: int
    value: float | str


_CAPITAL = f"[A-Z{''.join(letter for letter in map(chr, range(0xC0, 0x250)) if letter.isupper())}]"
_CAPITALISED = (
    rf"(?:(?:[A-Z]\.){{2,4}}(?!\w)|[A-Z][a-z]{{0,2}}\.(?=\s[A-Z])|{_CAPITAL}(?:[^\W\d_]|['’&-]){{0,40}}(?!\w))"
)

_PATTERNS: dict[str, str] = {
    "quoted": r"[\"“](?=[^\s\"“”])[^\"“”\n]{1,120}[\"”]",
    "email": r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,24}){1,4}",
    "price_max": rf"(?:prices?\s+)?{AT_MOST}\s+{MONEY}|prices?\s+(?:is\s+)?{AT_MOST}\s+(?:{FIGURE})",
    "price_min": rf"(?:prices?\s+)?{AT_LEAST}\s+{MONEY}|prices?\s+(?:is\s+)?{AT_LEAST}\s+(?:{FIGURE})",
    "price": MONEY,
    "date": rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b{MONTH}\s?\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}}\b)?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}(?:,?\s\d{{4}}\b)?|\b\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?\b",
    "size": rf"(?:{FIGURE})\s?{UNIT}?(?:\s?[whdl]\b)?"
    rf"(?:\s?(?:[x×*]|by)\s?(?:{FIGURE})\s?{UNIT}?(?:\s?[whdl]\b)?){{1,3}}(?!\w)"
    rf"|(?:\bsize\s)?(?:{FIGURE})[\s-]?{UNIT}(?!\w)|\bsize[\s-](?:{FIGURE})\b"
    r"|\b(?:x{1,4}|\d{1,2}x)-?(?:large|small|l|s)\b",
    "id": r"#?\b(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[A-Za-z_])(?:[A-Za-z]{1,24}_[\w-]{1,40}|[A-Z0-9]{5,24})\b"
    r"|#\w{3,24}\b|\b\d{6,24}\b|\b[A-Z]{1,8}-\d{3,24}\b",
    "quantity": rf"\b{PACKS}\sof\s(?:\d{{1,6}}|{COUNT_WORD})\b"
    rf"|\b(?:\d{{1,6}}|{COUNT_WORD})[\s-](?:{PACKS}|[a-z]{{3,24}}(?<!s)s)\b",
    "number": rf"\b(?:{FIGURE})(?!\w)",
    "negation": r"\b(?:without|except(?: for)?|other than|instead of|not|never|no|don't|doesn't|isn't|won't|avoid)"
    r"(?:\s(?:a|an|the|any|to|be|want)){0,2}\s[\w'-]{2,30}",
    "name": rf"\b{_CAPITALISED}(?:\s(?:(?:of|the|de|la|van|von|&)\s){{0,2}}{_CAPITALISED}){{0,7}}",
    "attribute": r"\b[a-z]{3,24}[\s-](?:free|proof|resistant|friendly|certified)\b",
    "word": r"\w(?:[\w'’]|-(?!\d+[.,]\d)){0,60}",
}
_KINDS = {
    "quoted": TermKind.NAME,
    "email": TermKind.ID,
    "price_max": TermKind.PRICE_MAX,
    "price_min": TermKind.PRICE_MIN,
} | {kind.value: kind for kind in TermKind}
_WITH_CASE = ("id", "name")
_SCANNER = re.compile(
    "|".join(f"(?P<{name}>{text if name in _WITH_CASE else f'(?i:{text})'})" for name, text in _PATTERNS.items())
)
_NUMBER = re.compile(FIGURE)
_TOKEN = re.compile(r"\S+")


def terms(instruction: str) -> tuple[Term, ...]:
    """Return the terms of an instruction in order of appearance, without function words."""
    asked = re.sub(r"\[image, [\d.]+ [kM]B, [\w.+-]+\]", lambda found: " " * len(found[0]), instruction)
    found = (_term(match, asked) for match in _SCANNER.finditer(asked))
    return tuple(term for term in found if term is not None)


def _term(match: re.Match[str], instruction: str) -> Term | None:
    group = match.lastgroup or "word"
    kind, start, end = _KINDS[group], match.start(), match.end()
    if group in ("name", "word", "attribute"):
        start = _after_function_words(instruction, start, end)
        end = start + len(instruction[start:end].rstrip(".'’-"))
        if end - start < 2:
            return None
    text = instruction[start:end]
    if group == "name" and " " not in text:
        # A capital letter at the start of a sentence does not make a name.
        before = instruction[max(0, start - 3) : start].rstrip(" \"'“(")
        kind = kind if before and before[-1] not in ".!?:;\n" else TermKind.WORD
    if kind is TermKind.WORD and (text.lower() in ATTRIBUTES or "-" in text):
        kind = TermKind.ATTRIBUTE
    return Term(text, kind, start, end, _value(text, kind))


def _after_function_words(instruction: str, start: int, end: int) -> int:
    for word in _TOKEN.finditer(instruction, start, end):
        if word[0].lower().replace("’", "'").strip(".'") not in FUNCTION_WORDS:
            return word.start()
    return end


def _value(text: str, kind: TermKind) -> float | str:
    if kind in (TermKind.PRICE_MAX, TermKind.PRICE_MIN, TermKind.PRICE, TermKind.NUMBER):
        return _figure(text)
    if kind is TermKind.QUANTITY:
        return _count(text)
    if kind is TermKind.DATE:
        return _date(text.lower())
    if kind is TermKind.NEGATION:
        return text.lower().split()[-1]
    return text.strip('"“”').lower() if kind is TermKind.NAME else text.lower()


def _figure(text: str) -> float:
    match = _NUMBER.search(text)
    return float(match[0].replace(",", "")) if match else 0.0


def _count(text: str) -> float:
    spelled = [word for word in re.findall(r"[a-z]+", text.lower()) if word in COUNTS]
    return float(COUNTS.index(spelled[0])) if spelled and not _NUMBER.search(text) else _figure(text)


def _date(text: str) -> str:
    month = next((i for i, name in enumerate(MONTHS, 1) if re.search(rf"\b{name[:3]}", text)), None)
    figures = [int(figure) for figure in re.findall(r"\d+", text)]
    if month is None and figures[0] > 31:
        return text
    if month is None:
        month, figures = figures[0], figures[1:]
    year = f"{figures[1] + (2000 if figures[1] < 100 else 0):04d}-" if len(figures) > 1 else ""
    return f"{year}{month:02d}-{figures[0]:02d}"


_WORD = re.compile(r"[^\W_]+")
DIGITS = {ord(zero) + digit: str(digit) for zero in "٠۰०০੦૦୦௦౦೦൦๐໐０" for digit in range(10)} | {0x66B: ".", 0x66C: ","}
"""The digits of other scripts, and the marks between them, with the digits that replace them."""
_PLAIN = str.maketrans("‐‑‒–—−‘’‛“”„\u00a0\u2009", "------'''\"\"\"  ") | DIGITS
_GAP = r"[\W_]{0,3}"


def occurrences(term: Term, text: str) -> list[tuple[int, int]]:
    """Return the [start, end) spans in the text that mention the term, in order and without overlap."""
    return list(_places(term, lowered(text)))


def mentions(term: Term, lowered_text: str) -> bool:
    """Return whether a text mentions the term; process the text with `lowered` first."""
    return next(_places(term, lowered_text), None) is not None


def lowered(text: str) -> str:
    """Return the text in lower case with plain dashes, quotes and blanks; each character keeps its position."""
    if not text.isascii():
        text = text.translate(_PLAIN)
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case and singular, without function words."""
    found = (singular(word) for word in _WORD.findall(lowered(text)) if word not in FUNCTION_WORDS)
    return [word for word in found if len(word) > 1 or word.isdigit()]


def vocabulary(lowered_text: str) -> frozenset[str]:
    """Return the distinct `words` of a text; process the text with `lowered` first."""
    found = {singular(word) for word in set(_WORD.findall(lowered_text)) if word not in FUNCTION_WORDS}
    return frozenset(word for word in found if len(word) > 1 or word.isdigit())


@lru_cache(maxsize=16384)
def singular(word: str) -> str:
    """Return a word without the ending of a plain English plural."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _places(term: Term, text: str) -> Iterator[tuple[int, int]]:
    first = None if term.kind in _MATCHERS else _WORD.search(lowered(str(term.value)))
    if first and first[0][:2] not in text:
        # Compiling a pattern costs more than searching, and a word whose first letters never occur needs none.
        return iter(())
    return _spans(_matcher(term.kind, term.value, term.text), text)


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    position = 0
    while match := pattern.search(text, position):
        start, end = match.span()
        inside_word = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
        if end > start and not inside_word:
            yield start, end
            position = end
        else:
            position = start + 1


@lru_cache(maxsize=1024)
def _matcher(kind: TermKind, value: float | str, text: str) -> re.Pattern[str]:
    return re.compile(_MATCHERS.get(kind, _words_pattern)(value, lowered(text)) + r"(?![^\W_])")


def _words_pattern(value: float | str, text: str) -> str:
    parts = _WORD.findall(lowered(str(value)))
    if not parts:
        return re.escape(text)
    return _GAP.join([*map(_spelled, parts[:-1]), _inflected(parts[-1])])


def _spelled(word: str) -> str:
    return "gr[ae]y" if word in ("gray", "grey") else re.escape(word)


def _inflected(word: str) -> str:
    stem = singular(word)
    if len(stem) > 3 and stem.endswith("y") and stem[-2] not in "aeiou":
        return rf"{re.escape(stem[:-1])}(?:y|ies)(?:['’]s)?"
    return _spelled(stem) + r"(?:e?s|['’]s)?"


def _number(value: float | str) -> str:
    figure = float(value)
    whole = f"{int(figure):,}".replace(",", ",?")
    if figure == int(figure):
        return rf"(?<!\d[.,]){whole}(?:\.0{{1,2}})?(?![.,]?\d)"
    part = f"{figure:.6f}".rstrip("0").split(".")[1]
    return rf"(?<!\d){whole if figure >= 1 else '0?'}\.{part}0?(?!\d)"


def _price_pattern(value: float | str, text: str) -> str:
    number = _number(value)
    return rf"(?:[$€£]\s?{number}|{number}\s?(?:dollars?|usd|bucks?|euros?|[€£])|price\W{{1,4}}{number})"


def _figure_pattern(value: float | str, text: str) -> str:
    figure = float(value)
    spelled = f"|{COUNTS[int(figure)]}" if figure == int(figure) and 0 < figure < len(COUNTS) else ""
    return f"(?:{_number(figure)}{spelled})"


def _quantity_pattern(value: float | str, text: str) -> str:
    nouns = [word for word in _WORD.findall(text) if word.isalpha() and word not in (*COUNTS, "of")]
    noun, number = _inflected(nouns[-1] if nouns else "pack"), _figure_pattern(value, text)
    return rf"(?:{number}{_GAP}{noun}|{noun}{_GAP}of{_GAP}{number})"


def _size_pattern(value: float | str, text: str) -> str:
    figures = _NUMBER.findall(text)
    if not figures or re.match(r"\d+x-?[a-z]", text):
        return _words_pattern(value, text)
    numbers = [_number(figure.replace(",", "")) for figure in figures]
    unit = next((unit for unit in UNITS.values() if re.search(rf"\d[\s-]?{unit}", text)), "")
    if not unit and len(numbers) == 1:
        return rf"(?:size\W{{0,3}})?{numbers[0]}"
    if len(numbers) == 1:
        return rf"{numbers[0]}[\s-]?{unit}"
    side = rf"\s?{UNIT}?(?:\s?[whdl]\b)?\s?(?:[x×*]|by)\s?"
    return side.join(numbers) + (rf"(?:\s?{unit})?" if unit else "")


def _date_pattern(value: float | str, text: str) -> str:
    *years, month, day = str(value).split("-")
    if not 1 <= int(month) <= 12:
        return _words_pattern(value, text)
    name = MONTHS[int(month) - 1]
    name = rf"{name[:3]}(?:{name[3:]})?\.?"
    year = years[0] if years else r"\d{4}"
    day_first = rf"0?{int(day)}(?:st|nd|rd|th)?\s(?:of\s)?{name}"
    return rf"(?:{year}-{month}-{day}|{name}\s0?{int(day)}(?:st|nd|rd|th)?|{day_first}|0?{int(month)}/0?{int(day)})"


_MATCHERS: dict[TermKind, Callable[[float | str, str], str]] = {
    TermKind.PRICE_MAX: _price_pattern,
    TermKind.PRICE_MIN: _price_pattern,
    TermKind.PRICE: _price_pattern,
    TermKind.NUMBER: _figure_pattern,
    TermKind.QUANTITY: _quantity_pattern,
    TermKind.SIZE: _size_pattern,
    TermKind.DATE: _date_pattern,
}
