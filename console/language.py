"""The language of texts for reviewers and participants: gettext catalogues in `console/locale`.

The English text is the msgid and what stands in it by name comes after: `_("Welcome, {name}").format(name=...)`. Text
of trajectories, what detectors say, and what is stored or exported is never translated. Who speaks no language, as a
command or an agent, reads English.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files

from console.settings import LANGUAGES, settings

COOKIE = "ia_language"
"""The cookie in which a browser keeps the language that its reader chose."""

_ENGLISH = NullTranslations()
_spoken: ContextVar[NullTranslations | None] = ContextVar("spoken", default=None)
_visitors: list[Callable[[], str | None]] = []


def _(message: str) -> str:
    """The text in the language of whoever reads it; the English itself where no catalogue has it."""
    # Under the empty text a catalogue keeps its own header.
    return (_spoken.get() or _translations_of_visitor()).gettext(message) if message else ""


def ngettext(singular: str, plural: str, number: int) -> str:
    """The text for that number of things, in the plural form of the reader's language."""
    return (_spoken.get() or _translations_of_visitor()).ngettext(singular, plural, number)


def digits(number: int) -> str:
    """The whole number with its thousands set apart as the reader's language does it."""
    return f"{number:,}".replace(",", _(","))


def counted(number: int, noun: str) -> str:
    """The number with its noun in English, for pages and commands that are read in English alone."""
    several = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}"


def gettext_noop(message: str) -> str:
    """The text as it is, marked for the catalogue: `_` translates it where it is drawn."""
    return message


def language() -> str:
    """The code of the reader's language."""
    spoken = _spoken.get() or _translations_of_visitor()
    return str(spoken.info().get("language", "en"))


def chosen_language(chosen: str | None, accepted: str | None, study: str | None = None) -> str:
    """The setting's language, else the one that was chosen, that of a study, the first of an Accept-Language header."""
    wanted = (settings().language, chosen, study, *_by_preference(accepted or ""))
    return next((code for code in wanted if code in LANGUAGES), "en")


def speak(code: str) -> None:
    """Makes this the language of the thread or task from here on."""
    _spoken.set(_translations(code))


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Makes this the language within the block."""
    before = _spoken.set(_translations(code))
    try:
        yield
    finally:
        _spoken.reset(before)


def ask_visitors(language_of_visitor: Callable[[], str | None]) -> None:
    """Has a thread in which no language was set yet look it up by that function, once; None where nobody visits."""
    _visitors[:] = [language_of_visitor]


def _translations_of_visitor() -> NullTranslations:
    code = _visitors[0]() if _visitors else None
    if code is None:
        return _ENGLISH
    speak(code)
    return _translations(code)


@cache
def _translations(code: str) -> NullTranslations:
    """The catalogue of that language, read once."""
    if code == "en" or code not in LANGUAGES:
        return _ENGLISH
    with files("console").joinpath("locale", code, "LC_MESSAGES", "console.mo").open("rb") as catalogue:
        return GNUTranslations(catalogue)


def _by_preference(accepted: str) -> list[str]:
    """The languages of an Accept-Language header (RFC 9110, 12.5.4) without their regions, the most wanted first."""
    found = []
    for place, part in enumerate(accepted[:1_000].split(",")):
        tag, _sep, quality = part.strip().partition(";")
        weight = quality.strip().removeprefix("q=")
        found.append((-(float(weight) if _is_number(weight) else 1.0), place, tag.partition("-")[0].lower()))
    return [code for *_rank, code in sorted(found)]


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
