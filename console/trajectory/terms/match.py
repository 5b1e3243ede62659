"""Matching of terms: from a term to the places of a text that speak of it.

Patterns start with a letter or digit of the term, so that the search jumps from candidate to candidate; whether a word
starts there is looked at afterwards. That keeps 50,000 characters within about a millisecond.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from console.trajectory.terms.extract import Term, TermKind
from console.trajectory.terms.lexicon import COUNTS, FIGURE, FUNCTION_WORDS, MONTHS, UNIT, UNITS

_NUMBER = re.compile(FIGURE)
_WORD = re.compile(r"[^\W_]+")
_PLAIN = str.maketrans("‐‑‒–—−‘’‛“”„\u00a0\u2009", "------'''\"\"\"  ")
_GAP = r"[\W_]{0,3}"


def occurrences(term: Term, text: str) -> list[tuple[int, int]]:
    """The [start, end) spans of the text that speak of the term, in order and without overlap."""
    return list(_places(term, lowered(text)))


def mentions(term: Term, lowered_text: str) -> bool:
    """Whether a text, given as `lowered` returns it, speaks of the term."""
    return next(_places(term, lowered_text), None) is not None


def lowered(text: str) -> str:
    """The text in lower case with plain dashes, quotes and blanks, every character at its old place."""
    if not text.isascii():
        text = text.translate(_PLAIN)
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def words(text: str) -> list[str]:
    """The words of a text in lower case, singular where a plain plural tells, without function words."""
    found = (singular(word) for word in _WORD.findall(lowered(text)) if word not in FUNCTION_WORDS)
    return [word for word in found if len(word) > 1 or word.isdigit()]


def vocabulary(lowered_text: str) -> frozenset[str]:
    """The distinct `words` of a text that is given as `lowered` returns it."""
    found = {singular(word) for word in set(_WORD.findall(lowered_text)) if word not in FUNCTION_WORDS}
    return frozenset(word for word in found if len(word) > 1 or word.isdigit())


@lru_cache(maxsize=16384)
def singular(word: str) -> str:
    """A word without the ending of a plain English plural."""
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
        return whole + r"(?:\.0{1,2})?(?![.,]?\d)"
    return rf"{whole}\.{f'{figure:.6f}'.rstrip('0').split('.')[1]}0?(?!\d)"


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
    side = rf"\s?{UNIT}?(?:\s?[whdl]\b)?\s?(?:x|×|by)\s?"
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
