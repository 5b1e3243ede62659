"""Hints in free-text feedback: topics, recognised by word stems, and things named as wanted or refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from console.actors.move import MEMORY_WINDOW
from console.trajectory.strict_yaml import read_data

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
    """The stems of each topic: stems that match the beginning of a word, and stems that match anywhere."""

    topics: dict[str, tuple[str, ...]]
    anywhere: dict[str, tuple[str, ...]]


_STEMS = read_data(files(__package__) / "hints.yaml", TopicStems)
TOPICS = {
    topic: re.compile("|".join((rf"\b(?:{'|'.join(stems)})", *_STEMS.anywhere.get(topic, ()))))
    for topic, stems in _STEMS.topics.items()
}
"""The pattern of each topic; one matching word is enough."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence in lower case; `refused` is true if the clause is a prohibition."""

    text: str
    refused: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """The whole text of the memory: the original text, the text in lower case, and the list of clauses."""

    raw: str = ""
    text: str = ""
    clauses: tuple[Clause, ...] = ()

    def about(self, topic: str) -> bool:
        """Return whether any word of the topic occurs."""
        return bool(TOPICS[topic].search(self.text))

    def names(self, thing: str) -> bool:
        """Return whether the text names the thing, as wanted or refused."""
        return _occurs(thing, self.text)

    def wants(self, thing: str) -> bool:
        """Return whether a clause names the thing without refusing it."""
        return any(not clause.refused and _occurs(thing, clause.text) for clause in self.clauses)

    def refuses(self, thing: str) -> bool:
        """Return whether the thing is named only in clauses with a refusal."""
        return self.names(thing) and not self.wants(thing)


@lru_cache(maxsize=1024)
def read_advice(memory: tuple[str, ...]) -> Advice:
    """Parse the last three entries as one text, using up to 4,000 characters of each entry."""
    raw = "\n".join(entry[:_LONGEST] for entry in memory[-MEMORY_WINDOW:])
    text = raw.lower().replace("’", "'")
    return Advice(raw, text, tuple(_clauses(text)))


def split_words(text: str) -> list[str]:
    """List the words of a text in lower case, letters and digits only."""
    return _WORD.findall(text.lower())


def find_amount(advice: Advice, topic: str) -> float | None:
    """Return the last amount of money in a clause about the topic, or None."""
    spoken = [clause.text for clause in advice.clauses if TOPICS[topic].search(clause.text)]
    amounts = [next(filter(None, match.groups())) for text in spoken for match in _AMOUNT.finditer(text)]
    return float(amounts[-1].replace(",", "")) if amounts else None


def find_last_wanted(advice: Advice, things: Iterable[str]) -> str | None:
    """Return the wanted thing that is named last, or the longest of several named at the same position."""
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
