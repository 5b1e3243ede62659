"""Extraction of terms: from an instruction to what it requires."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from console.trajectory.terms.lexicon import (
    AT_LEAST,
    AT_MOST,
    ATTRIBUTES,
    COUNT_WORD,
    COUNTS,
    FIGURE,
    FUNCTION_WORDS,
    MONEY,
    MONTH,
    MONTHS,
    PACKS,
    UNIT,
)


class TermKind(StrEnum):
    """The kind of a term; the values are words for people."""

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
    """A term that an instruction states: its words, its place in the instruction as [start, end), and its value.

    The value is a number for prices, numbers and quantities, `YYYY-MM-DD` or `MM-DD` for dates, what is ruled out
    for negations, and the words in lower case otherwise.
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
    rf"(?:\s?(?:x|×|by)\s?(?:{FIGURE})\s?{UNIT}?(?:\s?[whdl]\b)?){{1,3}}(?!\w)"
    rf"|(?:\bsize\s)?(?:{FIGURE})[\s-]?{UNIT}(?!\w)|\bsize[\s-](?:{FIGURE})\b"
    r"|\b(?:x{1,4}|\d{1,2}x)-?(?:large|small|l|s)\b",
    "id": r"#?\b(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[A-Za-z_])(?:[A-Za-z]{1,24}_[\w-]{1,40}|[A-Z0-9]{5,24})\b"
    r"|#\w{3,24}\b|\b\d{6,24}\b",
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
    """The terms of an instruction in order of appearance; function words are left out."""
    found = (_term(match, instruction) for match in _SCANNER.finditer(instruction))
    return tuple(term for term in found if term is not None)


def _term(match: re.Match[str], instruction: str) -> Term | None:
    group = match.lastgroup or "word"
    kind, start, end = _KINDS[group], match.start(), match.end()
    if group in ("name", "word"):
        start = _after_function_words(instruction, start, end)
        end = start + len(instruction[start:end].rstrip(".'’-"))
        if end - start < 2:
            return None
    text = instruction[start:end]
    if group == "name" and " " not in text and _opens_sentence(instruction, start):
        kind = TermKind.WORD
    if kind is TermKind.WORD and (text.lower() in ATTRIBUTES or "-" in text):
        kind = TermKind.ATTRIBUTE
    return Term(text, kind, start, end, _value(text, kind))


def _after_function_words(instruction: str, start: int, end: int) -> int:
    for word in _TOKEN.finditer(instruction, start, end):
        if word[0].lower().replace("’", "'").strip(".'") not in FUNCTION_WORDS:
            return word.start()
    return end


def _opens_sentence(instruction: str, start: int) -> bool:
    before = instruction[max(0, start - 3) : start].rstrip(" \"'“(")
    return not before or before[-1] in ".!?:;\n"


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
