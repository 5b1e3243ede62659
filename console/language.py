"""The language of texts for reviewers and participants: gettext catalogues in `console/locale`.

The English text is the msgid; insert values after translation: `_("Welcome, {name}").format(name=...)`. Never translate
text of trajectories or detectors, or stored or exported text. Commands and the API use English.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from typing import overload

from console.settings import LANGUAGES, settings

COOKIE = "ia_language"
"""Name of the cookie for the language that a reader chose."""

_ENGLISH, _EPOCH = NullTranslations(), datetime(1970, 1, 1)
_spoken: ContextVar[NullTranslations | None] = ContextVar("spoken", default=None)
_visitors: list[Callable[[], str | None]] = []


def _(message: str) -> str:
    """Return the text in the reader's language, or the English text if the catalogue does not contain it."""
    # The empty text is the key of a catalogue's header.
    return (_spoken.get() or _translations_of_visitor()).gettext(message) if message else ""


def ngettext(singular: str, plural: str, number: int) -> str:
    """Return the text in the reader's language, in the plural form for this number."""
    return (_spoken.get() or _translations_of_visitor()).ngettext(singular, plural, number)


def digits(number: int) -> str:
    """Format a whole number with the thousands separator of the reader's language."""
    return f"{number:,}".replace(",", _(","))


@overload
def iso(ms: int) -> str: ...
@overload
def iso(ms: int | None) -> str | None: ...
def iso(ms: int | None) -> str | None:
    """Format milliseconds since 1970 as ISO-8601 in UTC, such as `2026-01-31T12:00:00.000Z`; return None for None."""
    if ms is None:
        return None
    return (_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds") + "Z"


def quoted(text: str) -> str:
    """Return the text within the quotation marks of the reader's language."""
    return _("“{text}”").format(text=text)


WERE = ("was", "were")


def counted(number: int, noun: str, verbs: tuple[str, str] = ("", "")) -> str:
    """Return the number with its English noun and verb (one of two forms), for texts that exist only in English."""
    head, of, rest = noun.partition(" of ")
    several = "people" if head == "person" else f"{head[:-1]}ies" if head.endswith("ry") else f"{head}s"
    name, verb = (head, verbs[0]) if number == 1 else (several, verbs[1])
    return f"{number:,} {name}{of}{rest} {verb}".rstrip()


def list_counts(counts: Mapping[str, int]) -> str:
    """Return counts, which are keyed by their plural English nouns, as a list: "1 item, 1,200 decisions"."""
    heads = {noun: noun.partition(" of ") for noun in counts}
    ones = {noun: f"{head[:-3]}y" if head.endswith("ies") else head[:-1] for noun, (head, *_of) in heads.items()}
    return ", ".join(counted(count, f"{ones[noun]}{''.join(heads[noun][1:])}") for noun, count in counts.items())


def gettext_noop(message: str) -> str:
    """Return the text unchanged; the call marks the text for the catalogue, and `_` translates it later."""
    return message


def language() -> str:
    """Return the code of the reader's language."""
    spoken = _spoken.get() or _translations_of_visitor()
    return str(spoken.info().get("language", "en"))


def chosen_language(chosen: str | None, accepted: str | None, study: str | None = None) -> str:
    """Return the first known language among the setting, the reader's choice, the study and Accept-Language."""
    wanted = (settings().language, chosen, study, *_by_preference(accepted or ""))
    return next((code for code in wanted if code in LANGUAGES), "en")


def speak(code: str) -> None:
    """Set the language of this thread or task to this code."""
    _spoken.set(_translations(code))


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Set the language of this thread or task within the block."""
    before = _spoken.set(_translations(code))
    try:
        yield
    finally:
        _spoken.reset(before)


def ask_visitors(language_of_visitor: Callable[[], str | None]) -> None:
    """Set the function that returns the language of a thread's visitor on first use, or None without a visitor."""
    _visitors[:] = [language_of_visitor]


def _translations_of_visitor() -> NullTranslations:
    code = _visitors[0]() if _visitors else None
    if code is None:
        return _ENGLISH
    speak(code)
    return _translations(code)


@cache
def _translations(code: str) -> NullTranslations:
    if code == "en" or code not in LANGUAGES:
        return _ENGLISH
    with files("console").joinpath("locale", code, "LC_MESSAGES", "console.mo").open("rb") as catalogue:
        return GNUTranslations(catalogue)


def _by_preference(accepted: str) -> list[str]:
    """Return the languages of an Accept-Language header (RFC 9110, 12.5.4) without regions, preferred first."""
    found = []
    for place, part in enumerate(accepted[:1_000].split(",")):
        tag, _sep, quality = part.strip().partition(";")
        weight = quality.strip().removeprefix("q=")
        preferred = float(weight) if weight.replace(".", "", 1).isdecimal() else 1.0
        found.append((-preferred, place, tag.partition("-")[0].lower()))
    return [code for *_rank, code in sorted(found)]
