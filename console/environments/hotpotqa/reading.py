"""Reading: the pages that an agent read before it answered a question, and the pages that contain the answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from console.environments.acts import Act
from console.trajectory.terms import COUNTS, FUNCTION_WORDS, Term, TermKind, lowered, mentions

_LOOKING_UP = frozenset({"lookup", "look_up", "find_in_page"})
_NOT_READ = re.compile(r"\s*(?:could not find|the last page|no more results|no results|invalid)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_QUALIFIED = re.compile(r"(?<=\S)\s*\([^()]{1,40}\)\s*$")
"""The part of a title in brackets, which distinguishes equal names."""
_FIGURES = {word: str(figure) for figure, word in enumerate(COUNTS)}
_ACCENT, _THOUSANDS = re.compile(r"[\u0300-\u036f]"), re.compile(r"(?<=\d),(?=\d{3})")
_INITIALS = re.compile(r"\b(?:[^\W\d_]\.){2,}")
"""An abbreviation with dots, such as F.C."""
_MOST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class Page:
    """A page that the agent read: the step, the title, and the text of the page including lookup results."""

    step: int
    title: str
    text: str


@dataclass(frozen=True)
class Reading:
    """The answer, the pages read, and names in the question that no page or list mentions."""

    answer: str
    pages: tuple[Page, ...]
    unread: tuple[str, ...]
    searches: int

    @cached_property
    def saying(self) -> tuple[Page, ...]:
        """The pages that contain the answer, in any spelling of dates, numbers, accents and dashes."""
        return tuple(page for page in self.pages if is_said(self.answer, page))


def find_reading(acts: Sequence[Act], answer: str, stated: Sequence[Term]) -> Reading:
    """Return the pages that the agent read before the answer; a list of similar titles does not count as a page."""
    pages: list[Page] = []
    listed: list[str] = []
    for act in acts:
        if act.failed or _NOT_READ.match(act.observation):
            listed.append(act.observation[:_MOST_TEXT].replace(act.argument or "\0", " "))
        elif act.name in _LOOKING_UP and pages:
            last = pages[-1]
            pages[-1] = Page(last.step, last.title, f"{last.text}\n{act.observation}"[:_MOST_TEXT])
        elif act.observation.strip():
            pages.append(Page(act.step, act.argument, act.observation[:_MOST_TEXT]))
    read = normalise_words("\n".join(f"{page.title}\n{page.text}" for page in pages))
    titles = normalise_words(" ".join(listed))
    return Reading(
        answer=answer,
        pages=tuple(pages),
        unread=tuple(
            dict.fromkeys(
                term.text.strip('"“”')
                for term in stated
                if term.kind is TermKind.NAME and not is_spoken_of(term, read) and not mentions(term, titles)
            )
        ),
        searches=sum(act.name not in _LOOKING_UP for act in acts),
    )


@lru_cache(maxsize=64)
def normalise_words(text: str) -> str:
    """Return the text's words in lower case, without accents, with numbers as digits, separated by single blanks."""
    bare = lowered(text) if text.isascii() else _ACCENT.sub("", unicodedata.normalize("NFKD", lowered(text)))
    bare = _INITIALS.sub(lambda found: found[0].replace(".", ""), _THOUSANDS.sub("", bare))
    found = (word for word in _WORD.findall(bare) if word not in ("the", "a", "an"))
    return " ".join(_FIGURES.get(word, word) for word in found)


def is_said(answer: str, page: Page) -> bool:
    """Return whether the page contains the answer's words next to each other in any order, also as plurals."""
    wanted, text = normalise_words(_QUALIFIED.sub("", answer)), normalise_words(page.text)
    parts = wanted.split()
    padded = f" {text} "
    if not parts or f" {wanted} " in padded or f" {wanted}s " in padded or f" {wanted.removesuffix('s')} " in padded:
        return bool(parts)
    if not 1 < len(parts) <= 8 or any(f" {part}" not in padded for part in parts):
        return False
    read, want = [_one(word) for word in text.split()], {_one(word) for word in parts}
    starts = (at for at, word in enumerate(read) if word in want)
    # "the Roman and Byzantine Empires" has the Roman Empire.
    return any(want <= set(read[at : at + len(parts) + (2 if "and" in read[at : at + 3] else 1)]) for at in starts)


def _one(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word


def is_spoken_of(term: Term, read: str) -> bool:
    """Return whether `read` contains a significant word of the name, such as the last name."""
    parts = [word for word in normalise_words(re.sub(r"['’]s?\b", "", term.text)).split() if word not in FUNCTION_WORDS]
    told = [word for word in parts if len(word) > 2] or parts
    return not told or any(word.removesuffix("s") in read for word in told)
