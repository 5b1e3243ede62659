"""Hints in a reviewer's free words: which topics they touch, which things they name, wanted or refused.

Nothing here knows whole sentences. Words are found by stems, and things by what the task and the pages name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from console.actors.move import MEMORY_WINDOW
from console.trajectory.data_files import read_data

_LONGEST = 4_000
_CLAUSE = re.compile(r"[.;:!?\n,()]+\s|[.;!?\n]+$|\b(?:but|instead(?! of)|rather(?! than)|and then)\b")
_REFUSING = re.compile(
    r"\b(?:not|no|never|isn|wasn|doesn|didn|don|aren|won|can|cannot|without|avoid|wrong|refus\w+|reject\w+|skip|"
    r"instead of|rather than|other than|except|leave|nothing|none|neither|already|lacks?|unlike)\b"
)
_CUT = re.compile(r"\b(?:instead of|rather than|other than|and not|not|except)\b")
_WORD = re.compile(r"[a-z0-9]+")
_FIGURE = r"\d{1,6}(?:,\d{3})*(?:\.\d{1,2})?"
_AMOUNT = re.compile(
    rf"(?:\$ ?|\b(?:under|below|than|most|limit of|up to|over|above|within|beyond) )({_FIGURE})(?![\w.]*\w)"
    rf"|(?<![\w.])({_FIGURE})(?= ?(?:dollars|usd|bucks|\$))|(?<![\w.])(\d{{1,6}}\.\d\d)(?!\w)"
)


@dataclass(frozen=True, slots=True)
class TopicStems:
    """The stems of each topic: at the beginning of a word, and anywhere."""

    topics: dict[str, tuple[str, ...]]
    anywhere: dict[str, tuple[str, ...]]


_STEMS = read_data(files(__package__) / "hints.yaml", TopicStems)
TOPICS = {
    topic: re.compile("|".join((rf"\b(?:{'|'.join(stems)})", *_STEMS.anywhere.get(topic, ()))))
    for topic, stems in _STEMS.topics.items()
}
"""What finds the words of each topic; a person need only use one of them."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Part of a sentence in lower case; `refused` where it says what not to do."""

    text: str
    refused: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """All that the memory says: as it was written, in lower case, and clause by clause."""

    raw: str = ""
    text: str = ""
    clauses: tuple[Clause, ...] = ()

    def about(self, topic: str) -> bool:
        """Whether any word of the topic occurs."""
        return bool(TOPICS[topic].search(self.text))

    def names(self, thing: str) -> bool:
        """Whether the thing is named, wanted or not."""
        return _occurs(thing, self.text)

    def wants(self, thing: str) -> bool:
        """Whether the thing is named in a clause that does not refuse it."""
        return any(not clause.refused and _occurs(thing, clause.text) for clause in self.clauses)

    def refuses(self, thing: str) -> bool:
        """Whether the thing is named, and only where something is refused."""
        return self.names(thing) and not self.wants(thing)


@lru_cache(maxsize=1024)
def read_advice(memory: tuple[str, ...]) -> Advice:
    """What the last three entries say together; each is read to its first 4,000 characters."""
    raw = "\n".join(entry[:_LONGEST] for entry in memory[-MEMORY_WINDOW:])
    text = raw.lower().replace("’", "'")
    return Advice(raw, text, tuple(_clauses(text)))


def words(text: str) -> list[str]:
    """The words of a text in lower case, letters and digits only."""
    return _WORD.findall(text.lower())


def amount_near(advice: Advice, topic: str) -> float | None:
    """The last amount of money in a clause that speaks of the topic, None where there is none."""
    spoken = [clause.text for clause in advice.clauses if TOPICS[topic].search(clause.text)]
    amounts = [next(filter(None, match.groups())) for text in spoken for match in _AMOUNT.finditer(text)]
    return float(amounts[-1].replace(",", "")) if amounts else None


def last_wanted(advice: Advice, things: Iterable[str]) -> str | None:
    """The one of these things that is wanted; of several the one named last, of equal ones the longest."""
    wanted = [thing for thing in things if advice.wants(thing)]
    return max(wanted, key=lambda thing: (advice.text.rfind(thing.lower()), len(thing)), default=None)


def _clauses(text: str) -> Iterable[Clause]:
    for part in _CLAUSE.split(text + " "):
        if not part or not part.strip():
            continue
        cut = _CUT.search(part)
        if cut and cut.start() > 0 and not _REFUSING.search(part[: cut.start()]):
            yield Clause(part[: cut.start()].strip(), refused=False)
            yield Clause(part[cut.start() :].strip(), refused=True)
        else:
            yield Clause(part.strip(), refused=bool(_REFUSING.search(part)))


def _occurs(thing: str, text: str) -> bool:
    place = thing.lower()
    if not place or place not in text:
        return False
    return re.search(rf"(?<![a-z0-9]){re.escape(place)}(?:e?s)?(?![a-z0-9])", text) is not None
