"""A household task in words, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_ARTICLE = r"(?:a |an |the |some |one )?"
_LOOK = re.compile(
    rf"\b(?:look at|examine) {_ARTICLE}(?P<thing>[a-z]+) (?:under|with|by|in|using) {_ARTICLE}(?P<place>[a-z]+)"
)
_TWO = re.compile(
    rf"\b(?:put|find) two (?P<thing>[a-z]+?)(?: and put them)? (?:in/on|in|on) {_ARTICLE}(?P<place>[a-z]+)"
)
_TREAT = re.compile(
    rf"\b(?P<how>[a-z]+) {_ARTICLE}(?P<thing>[a-z]+) and put (?:it|them) (?:in/on|in|on) {_ARTICLE}(?P<place>[a-z]+)"
)
_PUT = re.compile(
    rf"\bput {_ARTICLE}(?:(?P<how>[a-z]+) )?(?P<thing>[a-z]+) (?:in/on|in|on) {_ARTICLE}(?P<place>[a-z]+)"
)
_HOW = {"clean": "clean", "wash": "clean", "rinse": "clean", "hot": "heat", "heat": "heat", "warm": "heat"} | {
    "cook": "heat",
    "cool": "cool",
    "cold": "cool",
    "chill": "cool",
    "chilled": "cool",
    "heated": "heat",
}


@dataclass(frozen=True, slots=True)
class Chore:
    """What thing goes where, how many of it, and what is to be done to it before; `looks` at it under `place`."""

    thing: str
    place: str
    treatment: str = ""
    count: int = 1
    looks: bool = False


@lru_cache(maxsize=1024)
def chore(instruction: str) -> Chore | None:
    """The chore in an instruction, None where it is worded in a way that is not understood."""
    text = instruction.lower()
    if match := _LOOK.search(text):
        return Chore(match["thing"], match["place"], looks=True)
    if match := _TWO.search(text):
        return Chore(match["thing"], match["place"], count=2)
    for pattern in (_TREAT, _PUT):
        if match := pattern.search(text):
            return Chore(match["thing"], match["place"], _HOW.get(match["how"] or "", ""))
    return None
