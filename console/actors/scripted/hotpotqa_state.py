"""The opened pages: what the scripted Actor has searched and looked up in a trial, taken from its steps alone.

It stands alone, as in the other environments: here is what was observed, in the module of the moves what is decided.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from console.actors.scripted.english_text import sentences
from console.trajectory import Step

CALL = re.compile(r"^\s*(?P<name>\w+)\[(?P<argument>.*)\]\s*$", re.DOTALL)
_SIMILAR = re.compile(r"Similar: \[(?P<titles>.*)\]")
_RESULT = re.compile(r"^\(Result (\d+) / (\d+)\) ")


@dataclass(slots=True)
class OpenedPage:
    """A page that a search opened: its sentences seen so far, what was looked up on it, and if that occurs again."""

    searched: str
    first: str = ""
    seen: list[str] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)
    more: bool = False
    similar: list[str] = field(default_factory=list)


def opened_pages(steps: Sequence[Step]) -> list[OpenedPage]:
    """The pages searched so far, in order; what a lookup found stands before what was seen first."""
    pages: list[OpenedPage] = []
    for step in steps:
        call = CALL.match(step.action)
        name = call["name"].lower() if call else ""
        if call and name == "search":
            pages.append(_opened(call["argument"], step.observation))
        elif call and name == "lookup" and pages:
            pages[-1].looked_up.append(call["argument"].lower())
            result = _RESULT.match(step.observation)
            pages[-1].more = bool(result and result[1] != result[2])
            if result:
                pages[-1].seen.insert(0, _RESULT.sub("", step.observation).strip())
    return pages


def _opened(searched: str, observation: str) -> OpenedPage:
    if not observation.startswith("Could not find"):
        found = sentences(observation)
        return OpenedPage(searched, found[0], found)
    similar = _SIMILAR.search(observation)
    titles = re.findall(r"'([^']+)'|\"([^\"]+)\"", similar["titles"]) if similar else []
    return OpenedPage(searched, similar=[one or other for one, other in titles])
