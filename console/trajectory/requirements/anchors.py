"""Anchors: the values in a text that mean the same in every language: dates, times, addresses, paths, ids, numbers.

A phone number, or another number in groups, is one value with any blanks, marks and country code.

An anchor includes its position, so that code can quote the value. To compare two anchors of one kind, compare `value`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files

from console.trajectory.strict_yaml import Pattern, read_data
from console.trajectory.terms import COUNTS, DIGITS, FUNCTION_WORDS, lowered

LONGEST = 20_000
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """The names of the months, the numerals from 2 to 10, and the written forms of values."""

    months: tuple[str, ...]
    numerals: tuple[str, ...]
    forms: dict[str, Pattern]


_LEXICON = read_data(files(__package__) / "anchors.yaml", _Lexicon)
_FORMS = _LEXICON.forms
LINK, PATH = _FORMS["link"], _FORMS["path"]
_TIMES = [form for name, form in _FORMS.items() if "time" in name]
_OTHER_MONTHS = [form for name, form in _FORMS.items() if name.startswith("unknown_month")]
_NUMERAL = {name: number for number, names in enumerate(_LEXICON.numerals, 2) for name in names.split()}
_MONTHS = {name: at for at, names in enumerate(_LEXICON.months, 1) for name in names.split()}
_BEGINNINGS = {name.rstrip("-"): at for name, at in _MONTHS.items() if name.endswith("-")}

_UNITS = (100.0, 1000.0, 60.0, 3600.0, 24.0, 7.0, 30.0, 12.0, 1024.0, 1_000_000.0)
"""Ratios between units for the same amount, such as cents, minutes, days and kilobytes."""


class AnchorKind(StrEnum):
    """The kind of an anchor; pages show the values."""

    DATE = "date"
    TIME = "time"
    LINK = "address"
    PATH = "path"
    DIGITS = "number in groups"
    HANDLE = "name"
    ID = "id"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A value in a text: its kind, its normal form for comparison (`value`), and its text at [start, end)."""

    kind: AnchorKind
    value: str
    text: str
    start: int
    end: int


@lru_cache(maxsize=512)
def read_anchors(text: str) -> tuple[Anchor, ...]:
    """Return the anchors of a text in order of appearance; anchors do not overlap."""
    left, found = text[:LONGEST].translate(DIGITS), list[Anchor]()
    for kind, reader in _READERS:
        for value, start, end in list(reader(left)):
            found.append(Anchor(kind, value, text[start:end], start, end))
            left = left[:start] + " " * (end - start) + left[end:]
    return tuple(sorted(found, key=lambda one: one.start))


def same_value(first: Anchor, second: Anchor) -> bool:
    """Return whether two anchors have the same value; a missing year, half of the day or country code matches any."""
    one, other = first.value, second.value
    if not is_comparable(first, second):
        return False
    if AnchorKind.DIGITS in (first.kind, second.kind):
        return _same_digits(one, other)
    if first.kind is AnchorKind.DATE:
        return _same_date(one, other)
    if first.kind is AnchorKind.TIME:
        earlier, later = sorted((first, second), key=lambda anchor: anchor.value)
        hour, minute = (int(part) for part in earlier.value.split(":"))
        hour_2, minute_2 = (int(part) for part in later.value.split(":"))
        # "2:00" may be at night or in the afternoon; "02:00" is at night.
        is_open = hour == hour_2 or not earlier.text.startswith("0")
        return minute == minute_2 and hour % 12 == hour_2 % 12 and is_open
    return one == other or _is_within(one, other) or _is_within(other, one)


def is_comparable(first: Anchor, second: Anchor) -> bool:
    """Return whether two anchors are of one kind; a number in groups can also be written without them."""
    return first.kind is second.kind or (
        {first.kind, second.kind} == {AnchorKind.DIGITS, AnchorKind.NUMBER}
        and all(re.fullmatch(r"\+?\d{7,}", one.value) for one in (first, second))
    )


def _same_digits(one: str, other: str) -> bool:
    """Return whether two numbers have the same digits, apart from the country code and zeros at the beginning."""
    first, last = sorted((one, other), key=lambda number: number[0] == "+")
    national = first.lstrip("0")
    if first[0] == "+" or last[0] != "+":
        return national == last.lstrip("0")
    return last.endswith(national) and 0 < len(last) - 1 - len(national) <= LONGEST_CODE


LONGEST_CODE = 3
"""The number of digits in the longest country code."""


def _same_date(one: str, other: str) -> bool:
    """Return whether two dates share a reading; readings are joined by `|` (`2026-03-04|2026-04-03`), year optional."""
    return any(
        first == second or (min(len(first), len(second)) == 5 and first[-5:] == second[-5:])
        for first in one.split("|")
        for second in other.split("|")
    )


def days_between(one: str, other: str) -> list[int]:
    """Return the distances in days between the readings of two dates; a missing year is the nearest one."""
    return [_days(first, second) for first in one.split("|") for second in other.split("|")]


def _days(one: str, other: str) -> int:
    first, second = sorted((one, other), key=len, reverse=True)
    start = _day(first, _ANY_YEAR)
    years = range(start.year - 1, start.year + 2)
    return min(abs((start - _day(second, year)).days) for year in years)


def _day(value: str, year: int) -> date:
    """Return the day of a date, in this year if it has none; a day after the end of a month is in the next month."""
    own, month, day = (int(part) for part in f"{year}-{value}"[-10:].split("-"))
    return date(min(max(own, 2), 9_990), month, 1) + timedelta(days=day - 1)


_ANY_YEAR = 2024


def is_converted(value: float, stated: float) -> bool:
    """Return whether a number is the stated number in another unit, such as cents or minutes."""
    low, high = sorted((abs(value), abs(stated)))
    return bool(low) and any(abs(high / low - unit) < 1e-6 for unit in _UNITS)


def _is_within(value: str, said: str) -> bool:
    """Return whether a path or address ends in `/said`, or is in the folder or site `said`."""
    return len(said) > 2 and "/" in value and (value.endswith(f"/{said}") or value.startswith(f"{said}/"))


Found = Iterator[tuple[str, int, int]]
"""Tuples (value, start, end) of the anchors of one kind."""


def _digits(text: str) -> Found:
    for match in _FORMS["digits"].finditer(text):
        if _is_grouped(match[0]):
            plain = re.sub(r"\(0\)|\D", "", match[0])
            is_abroad = match[0][0] == "+" or plain.startswith("00")
            yield f"+{plain.lstrip('0')}" if is_abroad else plain, *match.span()


def _is_grouped(text: str) -> bool:
    """Return whether digits with marks between them are a phone number, or another number in groups."""
    sizes, marks = [len(group) for group in re.findall(r"\d+", text)], set(re.findall(r"[^\d+]+", text))
    if _FORMS["dated"].search(text) or ("." in marks and len(marks) > 1 and text[0] != "+"):
        return False
    if text[0] in "+(" or (text[0] == "0" and sizes[0] > 1):
        return True
    by_two = len(sizes) > 3 and set(sizes) == {2} and marks == {" "}
    return by_two or (len(sizes) > 2 and max(sizes) > 3 and (marks != {"."} or sizes == [3, 3, 4]))


def _dates(text: str) -> Found:
    if not _DIGIT.search(text):
        return
    for match in _FORMS["iso"].finditer(text):
        yield from _dated(match.span(), match[1], match[3], match[4])
    for match in _FORMS["cjk_date"].finditer(text):
        yield from _dated(match.span(), match[1], match[2], match[3])
    for match in _FORMS["dotted"].finditer(text):
        yield from _dated(match.span(), match[3], match[2], match[1])
    for match in _FORMS["slashed"].finditer(text):
        readings = [
            *_dated(match.span(), match[4], match[1], match[3]),
            *_dated(match.span(), match[4], match[3], match[1]),
        ]
        if readings:
            yield "|".join(dict.fromkeys(one[0] for one in readings)), *match.span()
    taken: list[tuple[int, int]] = []
    for pattern in _OTHER_MONTHS:
        for match in pattern.finditer(text):
            year, day, words = match["year"], match["day"], re.findall(r"[^\s\d.,]+", lowered(match[0]))
            months = [match["month"]] if match.groupdict().get("month") else [str(at) for at in range(1, 13)]
            months = [str(_month(word)) for word in words if _month(word)] or months
            if not any(word in FUNCTION_WORDS and len(word) > 2 for word in words):
                taken.append(match.span())
                yield (
                    "|".join(one[0] for month in months for one in _dated(match.span(), year, month, day)),
                    *match.span(),
                )
    for pattern, day, name in ((_FORMS["day_first"], 1, 2), (_FORMS["month_first"], 2, 1)):
        for match in pattern.finditer(text):
            month = _month(lowered(match[name]))
            if month and not any(start < match.end() and match.start() < end for start, end in taken):
                taken.append(match.span())
                yield from _dated(match.span(), match[3], str(month), match[day])


def _month(word: str) -> int | None:
    """Return the number (1 to 12) of the month with this full or short name, or None for any other word."""
    return _MONTHS.get(word) or next((at for begun, at in _BEGINNINGS.items() if word.startswith(begun)), None)


def _dated(span: tuple[int, int], year: str | None, month: str, day: str) -> Found:
    if 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
        full = "" if not year else f"{int(year) + (2000 if len(year) == 2 else 0):04d}-"
        yield f"{full}{int(month):02d}-{int(day):02d}", *span


def _times(text: str) -> Found:
    for pattern in _TIMES:
        for match in pattern.finditer(text):
            hour, part = int(match[1]), (match[3] or "").lower()
            hour = hour % 12 + 12 * (part == "p") if part in _HALVES_OF_DAY else hour
            minute = 30 if part and part not in _HALVES_OF_DAY else int(match[2] or 0)
            yield f"{hour:02d}:{minute:02d}", match.start(1), match.end()
    for match in _HALF_PAST.finditer(lowered(text)):
        hour = int(match[1]) if match[1].isdigit() else COUNTS.index(match[1])
        yield f"{hour:02d}:30", *match.span()


_HALVES_OF_DAY = ("a", "p")
_HALF_PAST = re.compile(rf"\bhalf past ({'|'.join(COUNTS[1:13])}|1[0-2]|[1-9])\b")


def _paths(text: str) -> Found:
    # Coding agents refer to a file as `@folder/name`.
    found = (match for match in PATH.finditer(text) if re.search(r"[^\W\d_]", match[0]))
    return ((key_of(match[0].lstrip("@")), *match.span()) for match in found)


def _ids(text: str) -> Found:
    taken: list[tuple[int, int]] = []
    for match in _FORMS["version"].finditer(text):
        taken.append(match.span())
        yield match[0].lower().lstrip("v"), *match.span()
    for match in _FORMS["id"].finditer(text):
        if not any(start < match.end() and match.start() < end for start, end in taken):
            yield key_of(match[0]).lstrip("#"), *match.span()


def _numbers(text: str) -> Found:
    for match in _FORMS["number"].finditer(text):
        yield read_figure(match[1]), *match.span()
    for match in re.finditer(r"[^\W\d_]+", lowered(text)):
        if match[0] in COUNTS[2:] and match[0] not in FUNCTION_WORDS:
            yield str(COUNTS.index(match[0])), *match.span()
        elif match[0] in _NUMERAL:
            yield str(_NUMERAL[match[0]]), *match.span()


_READERS: Sequence[tuple[AnchorKind, Callable[[str], Found]]] = (
    (AnchorKind.LINK, lambda text: ((key_of(one[0]), *one.span()) for one in LINK.finditer(text))),
    (AnchorKind.DIGITS, _digits),
    (AnchorKind.DATE, _dates),
    (AnchorKind.TIME, _times),
    (AnchorKind.PATH, _paths),
    (AnchorKind.HANDLE, lambda text: ((lowered(one[0]), *one.span()) for one in _FORMS["handle"].finditer(text))),
    (AnchorKind.ID, _ids),
    (AnchorKind.NUMBER, _numbers),
)


def key_of(text: str) -> str:
    """Return the normal form of an address, path or id, for comparison."""
    plain = re.sub(r"[\s()]", "", lowered(text)).rstrip("/.")
    return (
        re.sub(r"^(?:https?://)?(?:www\.)?(?=[\w-]+\.)", "", plain)
        if "://" in plain or plain.startswith("www.")
        else plain
    )


def read_figure(text: str) -> str:
    """Return the normal form of a number, for comparison, with any separators of thousands and decimals."""
    plain = re.sub(r"[' ’\u00a0\u202f]", "", text.strip("#"))
    grouped = re.fullmatch(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:[.,]\d{1,2})?", plain)
    if grouped:
        mark = grouped[1]
        whole, _, part = plain.rpartition("." if mark == "," else ",")
        plain = f"{whole}.{part}" if whole and len(part) <= 2 else plain
        plain = plain.replace(mark, "") if mark == "," or not whole else whole.replace(mark, "") + "." + part
    else:
        plain = plain.replace(",", ".")
    try:
        return str(int(plain)) if plain.isdigit() else f"{float(plain):.15g}"
    except ValueError:
        return "0"
